//===- ExactProduct.cpp - matrix products in f32 ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "compiler/cuda/ExactProduct.h"
#include "compiler/cpu/StageLowering.h"

using namespace mlir;
using namespace attn;

/// Depth of a slice, and rows and columns of a thread.
static constexpr int64_t slice = 16, perThread = 4;

SumTile ExactProduct::tileFor(const ProductPlan &plan) {
  int64_t columns = std::max<int64_t>(64, llvm::PowerOf2Ceil(plan.width));
  return {threads * perThread * perThread / columns, columns, /*padding=*/4};
}

int64_t ExactProduct::workBytes(const SumTile &sums) {
  return slice * (sums.rows + 4 + sums.columns + 4) * int64_t(sizeof(float));
}

/// A thread has neighbouring rows, and columns as far apart as there are threads across: its neighbours write
/// neighbouring elements.
Value ExactProduct::firstRow() { return t.mul(t.div(t.thread(), sums.columns / perThread), perThread); }
Value ExactProduct::firstColumn() { return t.rem(t.thread(), sums.columns / perThread); }

void ExactProduct::multiply(TilePoints &rows, TilePoints &columns) {
  const Contraction &product = plan.product;
  auto isDepth = [&](Value value) {
    ReadOp read = readAlong(value, product.depth);
    return read && llvm::is_contained(product.depth, innermostAxis(read));
  };
  Side left{product.left, rows, sums.rows, base, isDepth(product.left)};
  Value behind = t.add(base, slice * left.pitch() * sizeof(float));
  Side right{product.right, columns, sums.columns, behind, isDepth(product.right)};
  Value depth = f.extent(product.depth);
  Values zero(perThread * perThread, f.constant(f.builder().getF32Type(), 0.0));
  Values results = f.loop(f.i64(0), depth, f.i64(slice), zero, [&](Value firstDepth, ValueRange carried) {
    x.enter(firstDepth.getParentBlock()->getParentOp());
    copy(left, firstDepth, depth);
    copy(right, firstDepth, depth);
    x.leave();
    t.barrier();
    Values next = add(left, right, carried);
    t.barrier();
    return next;
  });
  for (auto [i, sum] : llvm::enumerate(results)) {
    Value column = t.add(firstColumn(), i % perThread * (sums.columns / perThread));
    t.storeShared(sum, sumAt(t.add(firstRow(), i / perThread), column));
  }
}

/// The element as f32; 0 behind the end of the depth. Behind the end of its own axes it is any.
Value ExactProduct::read(const Side &side, Value own, Value k, Value depth) {
  const AxisList &axes = plan.product.depth;
  Values counts;
  for (StringAttr axis : axes)
    counts.push_back(f.extent(axis));
  x.enter(nullptr);
  side.points.bind(x, own);
  for (auto [axis, index] : llvm::zip(axes, splitTask(f, f.min(k, f.sub(depth, f.i64(1))), counts)))
    x.bind(axis, index);
  Value element = x.evaluate(side.value).value;
  x.leave();
  Value zero = f.constant(f.builder().getF32Type(), 0.0);
  return arith::SelectOp::create(f.builder(), f.loc(), f.less(k, depth), element, zero);
}

void ExactProduct::copy(const Side &side, Value firstDepth, Value depth) {
  Value thread = t.again(t.thread());
  for (int64_t first = 0; first < side.size * slice; first += threads) {
    Value number = t.add(thread, first);
    int64_t fast = side.depthFirst ? slice : side.size;
    Value inner = t.rem(number, fast), outer = t.div(number, fast);
    Value k = side.depthFirst ? inner : outer, own = side.depthFirst ? outer : inner;
    Value element = read(side, own, f.add(firstDepth, t.widen(k)), depth);
    t.storeShared(element, t.add(side.address, t.mul(t.add(t.mul(k, side.pitch()), own), sizeof(float))));
  }
}

FunctionScope::Values ExactProduct::add(const Side &left, const Side &right, ValueRange sums) {
  Type f32 = f.builder().getF32Type();
  Value row = t.add(left.address, t.mul(firstRow(), sizeof(float)));
  Value column = t.add(right.address, t.mul(firstColumn(), sizeof(float)));
  int64_t step = this->sums.columns / perThread * sizeof(float);
  return f.loop(f.i64(0), f.i64(slice), f.i64(1), sums, [&](Value depth, ValueRange carried) {
    Value k = t.narrow(depth), rowLine = t.add(row, t.mul(k, left.pitch() * sizeof(float)));
    Value columnLine = t.add(column, t.mul(k, right.pitch() * sizeof(float)));
    Value neighbours = t.loadShared(f.vectorOf(perThread, f32), rowLine);
    Values rows, columns, next;
    for (int64_t i = 0; i < perThread; ++i) {
      rows.push_back(vector::ExtractOp::create(f.builder(), f.loc(), neighbours, ArrayRef<int64_t>{i}));
      columns.push_back(t.loadShared(f32, t.add(columnLine, i * step)));
    }
    for (int64_t i = 0; i < perThread * perThread; ++i)
      next.push_back(math::FmaOp::create(f.builder(), f.loc(), rows[i / perThread], columns[i % perThread], carried[i]));
    return next;
  });
}
