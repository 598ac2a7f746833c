//===- QueryTask.cpp - what a warp does for one query -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "compiler/cuda/QueryTask.h"
#include "compiler/cpu/VectorMath.h"
#include "dialects/attn/FlashWeights.h"

using namespace mlir;
using namespace attn;

static constexpr double infinity = std::numeric_limits<double>::infinity();

QueryTask::QueryTask(FunctionScope &f, StageOp stage, FlashOp flash, const FlashAxes &axes)
    : f(f), b(f.builder()), x(f, /*lanes=*/1), stage(stage), flash(flash), axes(axes),
      lane(arith::ExtUIOp::create(b, f.loc(), b.getI64Type(), laneIndex(f))) {}

/// Batch, then rows as Partials counts them.
static AxisList queryAxes(const FlashAxes &axes) {
  AxisList all = axes.batch;
  if (axes.lane)
    all.push_back(axes.lane);
  llvm::append_range(all, axes.rows);
  return all;
}

Value QueryTask::count(FunctionScope &f, const FlashAxes &axes) { return f.extent(queryAxes(axes)); }

LogicalResult QueryTask::forQuery(Value query, Filter takes, llvm::function_ref<void()> body) {
  AxisList bound = queryAxes(axes);
  Values counts;
  for (StringAttr axis : bound)
    counts.push_back(f.extent(axis));
  Values indices = splitTask(f, query, counts);
  auto bind = [&](Operation *region, bool exist) {
    x.enter(region);
    for (auto [axis, index] : llvm::zip(bound, indices)) {
      x.bind(axis, index);
      if (exist)
        x.markExisting(axis);
    }
  };
  bind(nullptr, false);
  Value exists = x.both(x.existence(bound), takes(x));
  x.leave();
  auto emitHere = [&](Operation *region) {
    bind(region, true);
    body();
    x.leave();
  };
  whereExists(f, exists, emitHere);
  return failure(x.failed());
}

void QueryTask::forPasses(llvm::function_ref<void(Value)> body) {
  Value width = f.i64(1);
  for (StringAttr axis : axes.widths)
    width = f.max(width, f.extent(axis));
  f.loop(f.i64(0), width, f.i64(passWidth), [&](Value firstElement) {
    x.enter(firstElement.getParentBlock()->getParentOp());
    body(firstElement);
    x.leave();
  });
}

Value QueryTask::equals(Value value, double to) {
  return arith::CmpFOp::create(b, f.loc(), arith::CmpFPredicate::OEQ, value, number(to));
}

Value QueryTask::sumOfLanes(Value value) {
  return joinLanes(f, value, [&](Value y, Value z) -> Value { return arith::AddFOp::create(b, f.loc(), y, z); });
}

Value QueryTask::greatestOfLanes(Value value) {
  return joinLanes(f, value, [&](Value y, Value z) { return emitMax(f, y, z); });
}

Value QueryTask::isFirstLane() {
  return arith::CmpIOp::create(b, f.loc(), arith::CmpIPredicate::eq, lane, f.i64(0));
}

Value QueryTask::shiftFor(Value maximum) { return select(equals(maximum, -infinity), number(0.0), maximum); }

Value QueryTask::powerOf(Value score, Value shift) {
  return emitExp2(f, arith::SubFOp::create(b, f.loc(), score, shift));
}

void QueryTask::finish(Value firstElement, ValueRange state) {
  Values outputs(state.drop_front(Partials::Statistics));
  Value logSumExp;
  if (isSoftmax()) {
    Value sum = sumOfLanes(state[Partials::Sum]);
    // A row without keys: output 0, log-sum-exp -inf.
    Value empty = equals(sum, 0.0);
    Value nothing = empty;
    if (weightOf(flash)) // Nor where every weight was dropped: 0 times the inverse of infinity would be NaN.
      nothing = x.either(empty, equals(greatestOfLanes(state[Partials::Kept]), 0.0));
    Value inverse = select(nothing, number(0.0), arith::DivFOp::create(b, f.loc(), number(1.0), sum));
    for (Value &output : outputs) {
      Value normal = mul(output, inverse);
      // A sink of NaN does not reach a row without keys.
      output = flash.getSink() ? select(equals(output, 0.0), output, normal) : normal;
    }
    Value natural = math::FmaOp::create(b, f.loc(), state[Partials::Maximum], number(1.0 / log2OfE), emitLog(f, sum));
    logSumExp = select(empty, number(-infinity), natural);
  }
  writeResults(firstElement, outputs, logSumExp);
}

void QueryTask::writeResults(Value firstElement, ArrayRef<Value> outputs, Value logSumExp) {
  auto write = [&](Value condition, WriteOp op, StringAttr width, int64_t i) {
    f.when(condition, [&] {
      x.enter(b.getInsertionBlock()->getParentOp());
      if (flash.getLogsumexp())
        x.set(flash.getOutputs().back(), 0, {logSumExp, {}});
      for (auto [v, axis] : llvm::enumerate(axes.widths))
        if (width && axis == width)
          x.set(flash.getOutputs()[v], 0, {outputs[v * perLane + i], {}});
      if (width)
        x.bind(width, elementOf(firstElement, i));
      x.write(op);
      x.leave();
    });
  };
  for (WriteOp op : stage.getBody().getOps<WriteOp>()) {
    StringAttr width = widthOf(op, axes);
    if (!width) // Once per row.
      write(arith::CmpIOp::create(b, f.loc(), arith::CmpIPredicate::eq, f.add(lane, firstElement), f.i64(0)), op, width, 0);
    for (int64_t i = 0; width && i < perLane; ++i)
      write(f.less(elementOf(firstElement, i), f.extent(width)), op, width, i);
  }
}
