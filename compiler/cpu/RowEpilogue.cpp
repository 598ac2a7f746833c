//===- RowEpilogue.cpp - what follows a product row by row ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "compiler/cpu/RowEpilogue.h"
#include "compiler/cpu/Accumulation.h"
#include "compiler/cpu/Packing.h"
#include "compiler/cpu/VectorMath.h"

using namespace mlir;
using namespace attn;

using Values = FunctionScope::Values;

RowEpilogue::RowEpilogue(Expressions &x, const Contraction &shape, ArrayRef<WriteOp> writes, Value buffers, Value pitch)
    : x(x), f(x.scope()), shape(shape), writes(writes), buffers(buffers), pitch(pitch), lanes(x.getLanes()) {}

Value RowEpilogue::load(Value row, Value offset) { return f.load(f.vectorOf(lanes, f.builder().getF32Type()), row, offset); }

void RowEpilogue::store(Value vector, Value row, Value offset, Value mask) {
  if (!mask)
    return f.store(vector, row, offset);
  Value address = f.address(row, offset, f.builder().getF32Type());
  LLVM::MaskedStoreOp::create(f.builder(), f.loc(), vector, address, mask, f.builder().getI32IntegerAttr(4));
}

Value RowEpilogue::newRow() {
  return f.address(buffers, f.mul(f.i64(taken++), pitch), f.builder().getF32Type());
}

Values RowEpilogue::overLanes(StringAttr axis, Value extent, ValueRange init,
                              llvm::function_ref<Values(Value, Value, ValueRange)> body) {
  std::optional<int64_t> known = FunctionScope::constantOf(extent);
  return f.loop(f.i64(0), extent, f.i64(lanes), init, [&](Value first, ValueRange carried) {
    Values results;
    inScope(x, [&] {
      Value mask = known && *known % lanes == 0 ? Value() : maskBelow(f, first, extent, lanes);
      x.bindLanes(axis, {first}, {mask});
      if (axis == shape.lane)
        for (auto [value, row] : rows)
          x.set(value, 0, {load(row, first), {}});
      results = body(first, mask, carried);
    });
    return results;
  });
}

void RowEpilogue::overLanes(StringAttr axis, Value extent, llvm::function_ref<void(Value, Value)> body) {
  overLanes(axis, extent, {}, [&](Value first, Value mask, ValueRange) -> Values {
    body(first, mask);
    return {};
  });
}

Value RowEpilogue::rowOf(Value value) {
  for (auto [known, row] : rows)
    if (known == value)
      return row;
  Value row = newRow();
  overLanes(shape.lane, f.extent(shape.lane),
            [&](Value first, Value) { f.store(x.evaluateLanes(value).value, row, first); });
  return row;
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

void RowEpilogue::reduce(ReduceOp op) {
  OpBuilder &b = f.builder();
  Accumulation accumulation{f, f.vectorOf(lanes, b.getF32Type())};
  Value start = accumulation.start(op.getKind()), extent = f.extent(shape.lane);
  Value joined = overLanes(shape.lane, extent, {start}, [&](Value, Value mask, ValueRange carried) -> Values {
    Value next = accumulation.join(op.getKind(), carried[0], x.evaluateLanes(op.getValue()).value);
    return {mask ? arith::SelectOp::create(b, f.loc(), mask, next, carried[0]).getResult() : next};
  })[0];
  // Halves are joined, so that the order is that of no loop and always the same.
  Value result = accumulation.acrossLanes(op.getKind(), joined);
  if (op.getKind() == Reduction::Mean) {
    Value count = arith::SIToFPOp::create(b, f.loc(), b.getF32Type(), f.max(extent, f.i64(1)));
    result = arith::DivFOp::create(b, f.loc(), result, count);
  }
  x.set(op, 0, {result, {}});
}

//===----------------------------------------------------------------------===//
// Rotations
//===----------------------------------------------------------------------===//

/// Every second element of two vectors side by side, and two such vectors as one run.
static Value everySecond(FunctionScope &f, Value low, Value high, int64_t from) {
  SmallVector<int64_t> picked;
  for (int64_t i = 0; i < cast<VectorType>(low.getType()).getNumElements(); ++i)
    picked.push_back(2 * i + from);
  return vector::ShuffleOp::create(f.builder(), f.loc(), low, high, picked);
}

static Value alternating(FunctionScope &f, Value even, Value odd, int64_t half) {
  int64_t lanes = cast<VectorType>(even.getType()).getNumElements();
  SmallVector<int64_t> picked;
  for (int64_t i = 0; i < lanes; ++i)
    picked.push_back((half * lanes + i) / 2 + (i % 2) * lanes);
  return vector::ShuffleOp::create(f.builder(), f.loc(), even, odd, picked);
}

void RowEpilogue::rotatePairs(RopeOp op, Value from, Value to, Value pairs) {
  OpBuilder &b = f.builder();
  bool isHalf = op.getPairs() == Pairs::Half;
  overLanes(op.getPairAxisAttr(), pairs, [&](Value first, Value mask) {
    Value low = isHalf ? first : f.add(first, first);
    Value high = isHalf ? f.add(pairs, first) : f.add(low, f.i64(lanes));
    Value u = load(from, low), w = load(from, high);
    Value one = isHalf ? u : everySecond(f, u, w, 0), other = isHalf ? w : everySecond(f, u, w, 1);
    Value cosine = x.evaluateLanes(op.getCos()).value, sine = x.evaluateLanes(op.getSin()).value;
    auto turned = [&](Value own, Value partner, Value sine) -> Value {
      Value scaled = arith::MulFOp::create(b, f.loc(), own, cosine);
      return math::FmaOp::create(b, f.loc(), partner, sine, scaled);
    };
    Value x1 = turned(one, other, arith::NegFOp::create(b, f.loc(), sine)), x2 = turned(other, one, sine);
    if (isHalf) {
      store(x1, to, low, mask);
      return store(x2, to, high, mask);
    }
    Value end = f.add(pairs, pairs);
    auto below = [&](Value start) { return mask ? maskBelow(f, start, end, lanes) : Value(); };
    store(alternating(f, x1, x2, 0), to, low, below(low));
    store(alternating(f, x1, x2, 1), to, high, below(high));
  });
}

/// Elements that do not turn.
void RowEpilogue::copyRest(RopeOp op, Value from, Value to, Value first) {
  Value extent = f.extent(shape.lane);
  if (FunctionScope::constantOf(first) && FunctionScope::constantOf(first) == FunctionScope::constantOf(extent))
    return;
  f.loop(first, extent, f.i64(lanes), [&](Value e) { f.store(load(from, e), to, e); });
}

void RowEpilogue::rotate(RopeOp op) {
  Value from = rowOf(op.getValue()), to = newRow(), pairs = f.extent(op.getPairAxisAttr());
  rotatePairs(op, from, to, pairs);
  copyRest(op, from, to, f.add(pairs, pairs));
  rows.push_back({op.getResult(), to});
}

void RowEpilogue::emit(Value row) {
  rows = {{shape.op->getResult(0), row}};
  for (Operation *op : shape.rowOps) {
    if (auto rope = dyn_cast<RopeOp>(op))
      rotate(rope);
    else
      reduce(cast<ReduceOp>(op));
  }
  overLanes(shape.lane, f.extent(shape.lane), [&](Value, Value) {
    for (WriteOp write : writes)
      x.write(write);
  });
}
