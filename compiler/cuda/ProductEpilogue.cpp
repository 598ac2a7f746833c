//===- ProductEpilogue.cpp - what follows a product -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "compiler/cuda/ProductEpilogue.h"
#include "compiler/cpu/Accumulation.h"
#include "compiler/cpu/Packing.h"
#include "compiler/cuda/WarpOps.h"

using namespace mlir;
using namespace attn;

int64_t ProductEpilogue::statisticBytes(const ProductPlan &plan, const SumTile &sums) {
  return plan.product.rowOps.size() * sums.groups(plan) * sums.rows * sizeof(float);
}

void ProductEpilogue::emit(int64_t threads) {
  for (auto [number, op] : llvm::enumerate(plan.product.rowOps)) {
    if (!isa<ReduceOp>(op))
      continue;
    reduce(number, threads);
    t.barrier();
  }
  write(threads);
}

//===----------------------------------------------------------------------===//
// Values at a point
//===----------------------------------------------------------------------===//

/// The place of a row's value: one for each run of columns along the lane axis.
Value ProductEpilogue::statisticAt(size_t number, Value row, Value column) {
  Value place = t.add(t.mul(t.div(column, plan.width), sums.rows), row);
  return t.add(t.add(statistics, t.mul(place, sizeof(float))), number * sums.groups(plan) * sums.rows * sizeof(float));
}

/// As Expressions does it anywhere, but for where the partner's sum comes from.
Value ProductEpilogue::turned(RopeOp rope, size_t number, Value row, Value column) {
  OpBuilder &b = f.builder();
  Location loc = f.loc();
  StringAttr pairAxis = rope.getPairAxisAttr();
  Value index = x.indexAlong(plan.product.lane), pairs = f.extent(pairAxis), twice = f.add(pairs, pairs);
  Value turns = FunctionScope::constantOf(twice) == plan.width ? Value() : f.less(index, twice), isFirst, partner, pair;
  auto where = [&](Value condition, Value yes, Value no) -> Value {
    return condition ? arith::SelectOp::create(b, loc, condition, yes, no).getResult() : yes;
  };
  if (rope.getPairs() == Pairs::Half) {
    isFirst = f.less(index, pairs);
    partner = where(isFirst, f.add(index, pairs), f.sub(index, pairs));
    pair = where(isFirst, index, partner);
  } else {
    isFirst = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, f.rem(index, f.i64(2)), f.i64(0));
    partner = arith::XOrIOp::create(b, loc, index, f.i64(1));
    pair = f.div(index, f.i64(2));
  }
  partner = where(turns, partner, index); // Elements that do not turn have none.
  Value own = x.evaluate(rope.getValue()).value;
  x.enter(nullptr);
  x.bind(plan.product.lane, partner);
  give(number, row, t.add(column, t.narrow(f.sub(partner, index))));
  Value other = x.evaluate(rope.getValue()).value;
  x.leave();
  x.enter(nullptr);
  x.bind(pairAxis, pair, turns);
  Value cosine = x.evaluate(rope.getCos()).value, sine = x.evaluate(rope.getSin()).value;
  x.leave();
  Value signedSine = where(isFirst, arith::NegFOp::create(b, loc, sine), sine);
  Value scaled = arith::MulFOp::create(b, loc, own, cosine);
  return where(turns, math::FmaOp::create(b, loc, other, signedSine, scaled), own);
}

void ProductEpilogue::give(size_t operations, Value row, Value column) {
  x.set(ContractOp(plan.product.op).getResult(), 0, {load(row, column), {}});
  for (size_t number = 0; number < operations; ++number) {
    Operation *op = plan.product.rowOps[number];
    auto rope = dyn_cast<RopeOp>(op);
    Value value = rope ? turned(rope, number, row, column)
                       : t.loadShared(f.builder().getF32Type(), statisticAt(number, row, column));
    x.set(op->getResult(0), 0, {value, {}});
  }
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

void ProductEpilogue::reduce(size_t number, int64_t threads) {
  OpBuilder &b = f.builder();
  auto op = cast<ReduceOp>(plan.product.rowOps[number]);
  Accumulation accumulation{f, b.getF32Type()};
  Reduction kind = op.getKind();
  int64_t groups = sums.groups(plan);
  auto join = [&](Value one, Value other) { return accumulation.join(kind, one, other); };
  Value all = t.mul(rows.count(), groups), lane = laneIndex(f);
  f.loop(t.widen(t.warp()), t.widen(all), f.i64(threads / warpLanes), [&](Value line) {
    x.enter(line.getParentBlock()->getParentOp());
    Value row = t.div(t.narrow(line), groups), first = t.mul(t.rem(t.narrow(line), groups), plan.width);
    rows.bind(x, row);
    Value start = accumulation.start(kind);
    Value sum = f.loop(t.widen(lane), f.i64(plan.width), f.i64(warpLanes), {start}, [&](Value element, ValueRange carried) {
      x.enter(element.getParentBlock()->getParentOp());
      Value column = t.add(first, t.narrow(element));
      columns.bind(x, column);
      give(number, row, column);
      Value next = join(carried[0], x.evaluate(op.getValue()).value);
      x.leave();
      return FunctionScope::Values{next};
    })[0];
    sum = joinLanes(f, sum, join);
    if (kind == Reduction::Mean)
      sum = arith::DivFOp::create(b, f.loc(), sum, f.constant(b.getF32Type(), plan.width));
    f.when(arith::CmpIOp::create(b, f.loc(), arith::CmpIPredicate::eq, lane, t.i32(0)),
           [&] { t.storeShared(sum, statisticAt(number, row, first)); });
    x.leave();
  });
}

//===----------------------------------------------------------------------===//
// Writes
//===----------------------------------------------------------------------===//

/// A thread keeps its column from row to row.
void ProductEpilogue::write(int64_t threads) {
  int64_t across = std::min(threads, sums.columns);
  for (int64_t first = 0; first < sums.columns; first += across) {
    Value column = t.add(t.rem(t.thread(), across), first);
    f.when(t.less(column, columns.count()), [&] {
      inScope(x, [&] {
        columns.bind(x, column);
        f.loop(t.widen(t.div(t.thread(), across)), t.widen(rows.count()), f.i64(threads / across), [&](Value line) {
          x.enter(line.getParentBlock()->getParentOp());
          Value row = t.narrow(line);
          rows.bind(x, row);
          if (plan.rows.empty()) // What is given here belongs to this scope.
            x.bind(plan.product.lane, x.indexAlong(plan.product.lane));
          give(plan.product.rowOps.size(), row, column);
          for (WriteOp write : stage.getBody().getOps<WriteOp>())
            x.write(write);
          x.leave();
        });
      });
    });
  }
}
