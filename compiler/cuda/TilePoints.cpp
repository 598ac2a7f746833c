//===- TilePoints.cpp - the points along a side of a tile -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "compiler/cuda/TilePoints.h"
#include "compiler/cpu/StageLowering.h"

using namespace mlir;
using namespace attn;

TilePoints::TilePoints(ThreadScope &t, AxisList axes, Values counts, Value first, int64_t size, Value table)
    : t(t), f(t.scope()), axes(std::move(axes)), counts(std::move(counts)), first(first), size(size), table(table) {
  Value all = f.i64(1);
  for (Value count : this->counts)
    all = f.mul(all, count);
  tileCount = t.narrow(f.min(f.sub(all, first), f.i64(size)));
}

void TilePoints::fillTable(int64_t threads) {
  if (!hasTable())
    return;
  f.loop(t.widen(t.thread()), t.widen(tileCount), f.i64(threads), [&](Value number) {
    Value place = t.add(table, t.mul(t.narrow(number), sizeof(int64_t)));
    for (auto [i, index] : llvm::enumerate(splitTask(f, f.add(first, number), counts)))
      t.storeShared(index, t.add(place, i * size * sizeof(int64_t)));
  });
}

void TilePoints::bind(Expressions &x, Value number) {
  number = t.smaller(number, t.add(tileCount, -1));
  Value place = hasTable() ? t.add(table, t.mul(number, sizeof(int64_t))) : Value();
  for (auto [i, axis] : llvm::enumerate(axes)) {
    x.bind(axis, place ? t.loadShared(f.builder().getI64Type(), t.add(place, i * size * sizeof(int64_t)))
                       : f.add(first, t.widen(number)));
    x.markExisting(axis);
  }
}
