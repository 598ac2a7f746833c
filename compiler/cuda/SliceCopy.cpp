//===- SliceCopy.cpp - slices of a product's side to shared memory *- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "compiler/cuda/SliceCopy.h"
#include "compiler/cpu/Packing.h"
#include "compiler/cpu/StageLowering.h"
#include "compiler/cuda/TileCopy.h"

using namespace mlir;
using namespace attn;

static constexpr int64_t elementBytes = chunkBytes / chunkElements;

SliceCopy::SliceCopy(ThreadScope &t, Expressions &x, SliceSource given, SharedTile tile, int64_t threads)
    : t(t), f(t.scope()), source(std::move(given)), tile(tile), threads(threads),
      innerExtent(f.extent(source.depth.back())) {
  auto read = source.value.getDefiningOp<ReadOp>();
  if (!read || read.getRef().getType().getElementType() != source.element || !findSteps(read))
    return;
  std::optional<size_t> run = factorAlong(f, read, source.run);
  if (!run)
    return;
  aligned = isAlignedAlong(f, f.access(read.getRef()), *run);
  forChunks(t, tile, threads, t.thread(), t.i32(0), [&](Value row, int64_t plus, Value chunk, Value) {
    Value first = t.mul(chunk, chunkElements);
    if (source.isAlongDepth()) {
      Value bytes = t.widen(t.mul(chunk, chunkBytes));
      origins.push_back(f.add(addressOf(x, t.add(row, plus)), bytes));
    } else if (!plus) {
      origins.push_back(addressOf(x, first));
      runBytes = bytesLeft(t.widen(source.points.count()), chunk);
    }
  });
}

/// The steps along the depth, when its axes are indices of their own; false when they are not.
bool SliceCopy::findSteps(ReadOp read) {
  for (StringAttr axis : source.depth) {
    std::optional<size_t> factor = factorAlong(f, read, axis);
    if (!factor)
      return false;
    steps.push_back(f.access(read.getRef()).strides[*factor]);
  }
  return true;
}

/// The address of a point's element at the beginning of the depth.
Value SliceCopy::addressOf(Expressions &x, Value point) {
  x.enter(nullptr);
  source.points.bind(x, point);
  for (StringAttr axis : source.depth)
    x.bind(axis, f.i64(0));
  Value address = x.locate(source.value.getDefiningOp<ReadOp>()).value;
  x.leave();
  return address;
}

void SliceCopy::copy(Expressions &x, Value base, const DepthPosition &at) {
  if (!aligned)
    return computeAll(x, base, at);
  f.when(
      aligned, [&] { copyStored(base, at); }, [&] { inScope(x, [&] { computeAll(x, base, at); }); });
}

FunctionScope::Values SliceCopy::outerIndices(const DepthPosition &at) {
  Values counts;
  for (StringAttr axis : ArrayRef(source.depth).drop_back())
    counts.push_back(f.extent(axis));
  return at.outer ? splitTask(f, at.outer, counts) : Values();
}

/// How much of a chunk lies in front of the end, where so many elements (i64) of its row do: 0 to 16 bytes (i32).
Value SliceCopy::bytesLeft(Value elements, Value chunk) {
  Value left = f.sub(elements, t.widen(t.mul(chunk, chunkElements)));
  return t.mul(t.narrow(t.clamp(left, 0, chunkElements)), elementBytes);
}

//===----------------------------------------------------------------------===//
// Stored elements
//===----------------------------------------------------------------------===//

void SliceCopy::copyStored(Value base, const DepthPosition &at) {
  Value elements = f.mul(at.inner, steps.back());
  for (auto [index, step] : llvm::zip(outerIndices(at), steps))
    elements = f.add(elements, f.mul(index, step));
  auto bytes = [&](Value elements) { return f.mul(elements, f.i64(elementBytes)); };
  Value offset = bytes(elements), left = f.sub(innerExtent, at.inner);
  std::optional<int64_t> known = FunctionScope::constantOf(innerExtent);
  size_t pass = 0;
  forChunks(t, tile, threads, t.again(t.thread()), base, [&](Value row, int64_t plus, Value chunk, Value to) {
    if (source.isAlongDepth()) {
      bool isWhole = known && *known % tile.width == 0;
      return t.copyPart(to, f.add(origins[pass++], offset), isWhole ? Value() : bytesLeft(left, chunk));
    }
    Value line = t.widen(row), size = runBytes;
    Value from = f.add(f.add(origins[0], offset), bytes(f.mul(line, steps.back())));
    from = f.add(from, bytes(f.mul(f.i64(plus), steps.back())));
    if (!known || *known % tile.rows)
      size = arith::SelectOp::create(f.builder(), f.loc(), f.less(f.add(line, f.i64(plus)), left), size, t.i32(0));
    t.copyPart(to, from, size);
  });
}

//===----------------------------------------------------------------------===//
// Computed elements
//===----------------------------------------------------------------------===//

/// As f32; 0 behind the end of the depth.
Value SliceCopy::elementAt(Expressions &x, Value point, Value inner, const Values &outer) {
  OpBuilder &b = f.builder();
  x.enter(nullptr);
  source.points.bind(x, point);
  for (auto [axis, index] : llvm::zip(source.depth, outer))
    x.bind(axis, index);
  x.bind(source.depth.back(), f.min(inner, f.sub(innerExtent, f.i64(1))));
  Value element = x.evaluate(source.value).value;
  x.leave();
  return arith::SelectOp::create(b, f.loc(), f.less(inner, innerExtent), element, f.constant(b.getF32Type(), 0.0));
}

void SliceCopy::computeAll(Expressions &x, Value base, const DepthPosition &at) {
  Values outer = outerIndices(at);
  f.loop(f.i64(0), f.i64(tile.rows * tile.chunks()), f.i64(threads), [&](Value first) {
    Operation *loop = first.getParentBlock()->getParentOp();
    forChunk(t, tile, threads, t.add(t.again(t.thread()), t.narrow(first)), base, [&](Value row, Value chunk, Value to) {
      x.enter(loop);
      storeChunk(t, tile, to, /*isRare=*/bool(aligned), [&](Value element) {
        Values both;
        for (int64_t e = 0; e < 2; ++e) {
          Value along = t.add(t.mul(chunk, chunkElements), t.narrow(f.add(element, f.i64(e))));
          Value point = source.isAlongDepth() ? row : along, deep = source.isAlongDepth() ? along : row;
          both.push_back(elementAt(x, point, f.add(at.inner, t.widen(deep)), outer));
        }
        return t.pack(source.element, both[0], both[1]);
      });
      x.leave();
    });
  });
}
