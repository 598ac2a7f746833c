//===- TilePoints.cpp - the points along a side of a tile -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "compiler/cuda/TilePoints.h"
#include "compiler/cpu/Packing.h"
#include "compiler/cpu/StageLowering.h"
#include "compiler/cuda/WarpOps.h"

using namespace mlir;
using namespace attn;

TilePoints::TilePoints(ThreadScope &t, AxisList axes, Values counts, Value all, bool isRagged, Value first, int64_t size,
                       Value table)
    : t(t), f(t.scope()), axes(std::move(axes)), counts(std::move(counts)), isRagged(isRagged), first(first), size(size),
      table(table), tileCount(t.narrow(f.min(f.sub(all, first), f.i64(size)))) {}

/// Where the index along an axis lies of the point with this number (i32).
Value TilePoints::placeOf(Value number, size_t axis) {
  return t.add(t.add(table, t.mul(number, sizeof(int64_t))), axis * size * sizeof(int64_t));
}

void TilePoints::fillTable(Expressions &x, int64_t threads) {
  if (!hasTable())
    return;
  if (isRagged) // By one warp.
    return f.when(t.less(t.thread(), t.i32(warpLanes)), [&] { inScope(x, [&] { fillRuns(x); }); });
  f.loop(t.widen(t.thread()), t.widen(tileCount), f.i64(threads), [&](Value number) {
    for (auto [i, index] : llvm::enumerate(splitTask(f, f.add(first, number), counts)))
      t.storeShared(index, placeOf(t.narrow(number), i));
  });
}

/// Each lane has one run of 32 at a time, and writes those of its points that the tile has.
void TilePoints::fillRuns(Expressions &x) {
  Value runs = f.extent(axes.front()), end = f.add(first, t.widen(tileCount)), lane = t.widen(t.lane());
  auto isLeft = [&](ValueRange carried) -> Value {
    return arith::AndIOp::create(f.builder(), f.loc(), f.less(carried[0], runs), f.less(carried[1], end));
  };
  // Carried: the first lane's run, and how many points lie before it.
  t.repeat({f.i64(0), f.i64(0)}, isLeft, [&](ValueRange carried) -> Values {
    Value run = f.add(carried[0], lane);
    x.enter(f.builder().getInsertionBlock()->getParentOp());
    x.bind(axes.front(), f.min(run, f.sub(runs, f.i64(1))));
    Value own = arith::SelectOp::create(f.builder(), f.loc(), f.less(run, runs), x.extentAt(axes.back()), f.i64(0));
    x.leave();
    Value behind = f.add(carried[1], prefixSum(f, own)), start = f.sub(behind, own);
    f.loop(f.max(start, first), f.min(behind, end), f.i64(1), [&](Value point) {
      Value number = t.narrow(f.sub(point, first));
      t.storeShared(run, placeOf(number, 0));
      t.storeShared(f.sub(point, start), placeOf(number, 1));
    });
    return {f.add(carried[0], f.i64(warpLanes)), fromLane(f, behind, t.i32(warpLanes - 1))};
  });
}

void TilePoints::bind(Expressions &x, Value number) {
  number = t.smaller(number, t.add(tileCount, -1));
  Value point = f.add(first, t.widen(number)), index = point;
  for (auto [i, axis] : llvm::enumerate(axes)) {
    if (hasTable())
      index = t.loadShared(f.builder().getI64Type(), placeOf(number, i));
    x.bind(axis, index);
    x.markExisting(axis);
  }
  if (isRagged)
    x.setStart(axes.back(), f.sub(point, index));
}
