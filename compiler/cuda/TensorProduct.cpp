//===- TensorProduct.cpp - matrix products on tensor cores ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "compiler/cuda/TensorProduct.h"
#include "compiler/cuda/FlashTiling.h"

using namespace mlir;
using namespace attn;

//===----------------------------------------------------------------------===//
// Sides and tiles
//===----------------------------------------------------------------------===//

/// The axis that a side's elements lie along: the last of the depth, or of the columns, where chunks of it stay in one row.
static StringAttr runOf(Value value, const ProductPlan &plan, bool isRight, const Signature &signature) {
  StringAttr lane = plan.columns.back(), deep = plan.product.depth.back();
  ReadOp read = isRight ? readAlong(value, plan.columns) : ReadOp();
  if (!read || innermostAxis(read) != lane)
    return deep;
  std::optional<int64_t> extent = constantExtent(signature, lane);
  return plan.columns.size() == 1 || (extent && *extent % chunkElements == 0) ? lane : deep;
}

std::optional<TensorSides> TensorSides::find(const ProductPlan &plan, const Signature &signature, std::string &why) {
  FailureOr<Type> element = commonElement(plan.product.right, plan.product.left, signature.precise);
  if (failed(element)) {
    bool isHalf = succeeded(commonElement(plan.product.right, plan.product.left, /*isPrecise=*/false));
    why = isHalf ? "one side would be rounded, and the attention is precise" : "neither side is stored as f16 or bf16";
    return std::nullopt;
  }
  return TensorSides{*element, runOf(plan.product.left, plan, false, signature),
                     runOf(plan.product.right, plan, true, signature)};
}

TensorTiling TensorTiling::of(const ProductPlan &plan, bool isFew) {
  int64_t width = llvm::PowerOf2Ceil(plan.width);
  auto tile = [](int64_t rows, int64_t columns) { return SumTile{rows, columns, /*padding=*/8}; };
  if (isFew)
    return {tile(fewRows, std::max<int64_t>(64, width)), 1, 4};
  return width > 128 ? TensorTiling{tile(64, 256), 1, 4} : TensorTiling{tile(128, 128), 2, 2};
}

//===----------------------------------------------------------------------===//
// The walk along the depth
//===----------------------------------------------------------------------===//

DepthPosition TensorProduct::after(const DepthPosition &at) {
  OpBuilder &b = f.builder();
  Value next = f.add(at.inner, f.i64(TensorTiling::slice));
  if (!hasOuter())
    return {{}, next};
  Value isWithin = f.less(next, innerDepth());
  return {arith::SelectOp::create(b, f.loc(), isWithin, at.outer, f.add(at.outer, f.i64(1))),
          arith::SelectOp::create(b, f.loc(), isWithin, next, f.i64(0))};
}

/// Behind the last slice there is none, but the group of copies is there.
void TensorProduct::copySlice(SliceCopy &left, SliceCopy &right, Value stage, const DepthPosition &at) {
  Value exists = hasOuter() ? f.less(at.outer, outerDepth()) : f.less(at.inner, innerDepth());
  f.when(exists, [&] {
    x.enter(f.builder().getInsertionBlock()->getParentOp());
    left.copy(x, stage, at);
    right.copy(x, t.add(stage, tiling.left().bytes()), at);
    x.leave();
  });
  t.commitCopies();
}

/// The stage that lies so many further on, around the ring.
Value TensorProduct::stageAfter(Value stage, int64_t count) {
  OpBuilder &b = f.builder();
  int64_t ring = tiling.workBytes();
  Value next = t.add(stage, count * tiling.stageBytes()), end = t.add(base, ring);
  Value isBehind = arith::CmpIOp::create(b, f.loc(), arith::CmpIPredicate::sge, next, end);
  return arith::SelectOp::create(b, f.loc(), isBehind, t.add(next, -ring), next);
}

void TensorProduct::multiply(TilePoints &rows, TilePoints &columns) {
  const Contraction &product = plan.product;
  SliceCopy left(t, x, {product.left, sides.element, rows, product.depth, sides.leftRun}, tiling.left(), threads);
  SliceSource rightSource{product.right, sides.element, columns, product.depth, sides.rightRun};
  SliceCopy right(t, x, rightSource, tiling.right(rightSource.isAlongDepth()), threads);
  bool isAlongDepth = rightSource.isAlongDepth();
  FragmentReader leftReader(t, tiling.left(), Fragment::Left, warpRow());
  FragmentReader rightReader(t, tiling.right(isAlongDepth),
                             isAlongDepth ? Fragment::RightByColumns : Fragment::RightByRows,
                             isAlongDepth ? warpColumn() : Value(),
                             isAlongDepth ? Value() : t.div(warpColumn(), chunkElements));
  int64_t ahead = tiling.stages() - 1;
  // Carried: a stage, and the position of the slice that is copied next.
  auto pack = [](Value stage, const DepthPosition &at) {
    Values carried{stage, at.inner};
    if (at.outer)
      carried.push_back(at.outer);
    return carried;
  };
  auto position = [&](ValueRange carried) { return DepthPosition{hasOuter() ? carried[2] : Value(), carried[1]}; };
  Values carried = pack(base, {hasOuter() ? f.i64(0) : Value(), f.i64(0)});
  size_t places = carried.size();
  Values first = f.loop(f.i64(0), f.i64(ahead), f.i64(1), carried, [&](Value number, ValueRange carried) {
    x.enter(number.getParentBlock()->getParentOp());
    copySlice(left, right, carried[0], position(carried));
    x.leave();
    return pack(t.add(carried[0], tiling.stageBytes()), after(position(carried)));
  });
  carried = pack(base, position(first));
  carried.append(tiling.warpRows() * tiling.warpColumns() / 32, f.constant(f.builder().getF32Type(), 0.0));
  Value slices = f.mul(outerDepth(), f.ceilDiv(innerDepth(), f.i64(TensorTiling::slice)));
  Values end = f.loop(f.i64(0), slices, f.i64(1), carried, [&](Value number, ValueRange carried) {
    Value stage = carried[0];
    DepthPosition toCopy = position(carried);
    t.waitForCopies(ahead - 1);
    t.barrier(); // The slice is there, and everyone has done with the one before.
    x.enter(number.getParentBlock()->getParentOp());
    copySlice(left, right, stageAfter(stage, ahead), toCopy);
    x.leave();
    Values results = pack(stageAfter(stage, 1), after(toCopy));
    llvm::append_range(results, add(leftReader, rightReader, stage, carried.drop_front(places)));
    return results;
  });
  t.waitForCopies(0);
  t.barrier();
  store(ValueRange(end).drop_front(places));
}

//===----------------------------------------------------------------------===//
// Fragments
//===----------------------------------------------------------------------===//

/// The warp's sums are [warpRows / 16][warpColumns / 8][4].
FunctionScope::Values TensorProduct::add(FragmentReader &left, FragmentReader &right, Value stage, ValueRange carried) {
  Values sums(carried);
  bool isAlongDepth = sides.rightRun == plan.product.depth.back();
  left.moveTo(stage);
  right.moveTo(t.add(stage, tiling.left().bytes()));
  int64_t across = tiling.warpColumns() / 8;
  for (int64_t k = 0; k < TensorTiling::slice; k += 16) {
    SmallVector<Values> rows;
    for (int64_t row = 0; row < tiling.warpRows(); row += 16)
      rows.push_back(left.load(row, k));
    for (int64_t column = 0; column < across; column += 2) {
      Values both = isAlongDepth ? right.load(column * 8, k) : right.load(k, column * 8);
      for (auto [i, row] : llvm::enumerate(rows))
        for (int64_t half = 0; half < 2; ++half)
          t.multiply(sides.element, MutableArrayRef(sums).slice((i * across + column + half) * 4, 4), row,
                     ArrayRef(both).slice(2 * half, 2));
    }
  }
  return sums;
}

/// A thread has pairs of neighbouring columns.
void TensorProduct::store(ValueRange results) {
  OpBuilder &b = f.builder();
  Type two = f.vectorOf(2, b.getF32Type());
  Value row = t.add(warpRow(), t.div(t.lane(), 4)), column = t.add(warpColumn(), t.mul(t.rem(t.lane(), 4), 2));
  Value first = sumAt(row, column);
  int64_t across = tiling.warpColumns() / 8;
  for (int64_t i = 0; i < int64_t(results.size()); i += 2) {
    int64_t down = i / 4 / across * 16 + i % 4 / 2 * 8, right = i / 4 % across * 8;
    Value pair = vector::FromElementsOp::create(b, f.loc(), two, ValueRange{results[i], results[i + 1]});
    t.storeShared(pair, t.add(first, (down * sums.pitch() + right) * int64_t(sizeof(float))));
  }
}
