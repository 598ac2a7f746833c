//===- FlashFinish.cpp - the end of a tile ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Normalises the outputs of a block, turns them into rows and stores what follows.
//===----------------------------------------------------------------------===//
#include "compiler/cpu/FlashStage.h"
#include "compiler/cpu/VectorMath.h"
#include "dialects/attn/FlashWeights.h"

using namespace mlir;
using namespace attn;

static constexpr double naturalLogOf2 = 0.6931471805599453;
static constexpr double infinity = std::numeric_limits<double>::infinity();

/// Without a lane axis only the first lane means anything.
static Value laneOrScalar(FunctionScope &f, const FlashAxes &axes, Value value) {
  return axes.lane ? value : vector::ExtractOp::create(f.builder(), f.loc(), value, ArrayRef<int64_t>{0}).getResult();
}

void FlashTask::writeRow(WriteOp write, ArrayRef<Value> logSumExp) {
  int64_t slots = axes.lane ? shape.vectors : 1;
  for (int64_t v = 0; v < slots; ++v) {
    if (flash.getLogsumexp())
      expressions.set(flash.getOutputs().back(), v, {laneOrScalar(f, axes, logSumExp[v]), {}});
    expressions.write(write, v);
  }
}

ChangedWeight attn::changeWeight(Expressions &x, FlashOp flash, Value weight, unsigned slot, llvm::function_ref<void()> bind) {
  FunctionScope &f = x.scope();
  auto changeOf = [&](Value weight) {
    x.enter(nullptr);
    bind();
    x.set(weightOf(flash), slot, {weight, {}});
    bool isLanes = isa<VectorType>(weight.getType());
    Datum changed = isLanes ? x.evaluateLanes(changedWeightOf(flash), slot) : x.evaluate(changedWeightOf(flash), slot);
    x.leave();
    return changed;
  };
  Datum changed = changeOf(weight);
  Value ofNaN = changeOf(f.constant(weight.getType(), std::numeric_limits<double>::quiet_NaN())).value;
  Value kept = arith::CmpFOp::create(f.builder(), f.loc(), arith::CmpFPredicate::UNO, ofNaN, ofNaN);
  return {changed.value, changed.present, kept};
}

/// Outputs of a finished block, normalised, as rows: what follows reads and writes along their width.
void FlashTask::turnOutput(unsigned value, Value number, ArrayRef<Value> inverse) {
  OpBuilder &b = f.builder();
  const FlashScratch::Part &turned = scratch.turned[value];
  Value from = at(scratch.output[value], number);
  f.loop(f.i64(0), turned.pitch, f.i64(shape.lanes), [&](Value first) {
    Value rows = f.add(from, f.mul(first, f.i64(shape.queries)));
    for (int64_t v = 0; v < shape.vectors; ++v) {
      Values vectors;
      for (int64_t j = 0; j < shape.lanes; ++j) {
        Value mix = loadFloats(rows, j * shape.queries + v * shape.lanes);
        Value normal = isSoftmax() ? arith::MulFOp::create(b, f.loc(), mix, inverse[v]).getResult() : mix;
        if (flash.getSink()) { // A sink of NaN does not reach a row without keys.
          Value none = arith::CmpFOp::create(b, f.loc(), arith::CmpFPredicate::OEQ, mix, floats(0.0));
          normal = arith::SelectOp::create(b, f.loc(), none, mix, normal);
        }
        vectors.push_back(normal);
      }
      transposeVectors(f, vectors);
      for (int64_t j = 0; j < shape.lanes; ++j)
        storeFloats(vectors[j], f.add(first, at(turned, f.i64(v * shape.lanes + j))));
    }
  });
}

StringAttr attn::widthOf(WriteOp write, const FlashAxes &axes) {
  AxisList place = unionOfAxes(write.getIndices());
  auto width = llvm::find_if(axes.widths, [&](StringAttr axis) { return llvm::is_contained(place, axis); });
  return width == axes.widths.end() ? StringAttr() : *width;
}

void attn::writeAlongWidth(Expressions &x, FlashOp flash, const FlashAxes &axes, WriteOp write, ValueRange rows) {
  FunctionScope &f = x.scope();
  StringAttr width = widthOf(write, axes);
  Value extent = f.extent(width), exists = x.existence(axes.rows);
  // A row that does not exist has no width.
  Value end = exists ? arith::SelectOp::create(f.builder(), f.loc(), exists, extent, f.i64(0)).getResult() : extent;
  int64_t lanes = x.getLanes();
  auto type = f.vectorOf(lanes, f.builder().getF32Type());
  f.loop(f.i64(0), end, f.i64(lanes), [&](Value first) {
    inScope(x, [&] {
      std::optional<int64_t> known = f.constantExtent(width);
      Value mask = known && *known % lanes == 0 ? Value() : maskBelow(f, first, extent, lanes);
      x.bindLanes(width, {first}, {mask});
      for (auto [value, row] : llvm::enumerate(rows))
        if (axes.widths[value] == width)
          x.set(flash.getOutputs()[value], 0, {f.load(type, row, first), {}});
      x.write(write);
    });
  });
}

/// Stores a result that has a value's width, query by query along the width.
void FlashTask::writeOutput(WriteOp write, Value number, Value firstQuery) {
  Value count = axes.lane ? f.min(f.i64(shape.queries), f.sub(expressions.extentAt(axes.lane), firstQuery)) : f.i64(1);
  f.loop(f.i64(0), count, f.i64(1), [&](Value query) {
    expressions.enter(query.getParentBlock()->getParentOp());
    if (axes.lane) {
      expressions.bind(axes.lane, f.add(firstQuery, query));
      expressions.markExisting(axes.lane);
    }
    if (flash.getLogsumexp()) {
      Value lse = f.load(f.builder().getF32Type(), base, f.add(at(scratch.maximum, number), query));
      expressions.set(flash.getOutputs().back(), 0, {lse, {}});
    }
    Values rows;
    for (const FlashScratch::Part &turned : scratch.turned)
      rows.push_back(f.address(base, at(turned, query), f.builder().getF32Type()));
    writeAlongWidth(expressions, flash, axes, write, rows);
    expressions.leave();
  });
}

void FlashTask::finishBlock(Value number, Value firstQuery) {
  OpBuilder &b = f.builder();
  Location loc = f.loc();
  Values inverse, logSumExp;
  for (int64_t v = 0; v < shape.vectors && isSoftmax(); ++v) {
    Value maximum = loadFloats(at(scratch.maximum, number), v * shape.lanes);
    Value sum = loadFloats(at(scratch.sum, number), v * shape.lanes);
    // A row without keys: output 0, log-sum-exp -inf.
    Value empty = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, sum, floats(0.0));
    Value reciprocal = arith::DivFOp::create(b, loc, floats(1.0), sum), nothing = empty;
    if (weightOf(flash)) {
      Value kept = loadFloats(at(scratch.kept, number), v * shape.lanes);
      Value dropped = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, kept, floats(0.0));
      nothing = expressions.either(empty, dropped);
    }
    inverse.push_back(arith::SelectOp::create(b, loc, nothing, floats(0.0), reciprocal));
    if (!flash.getLogsumexp())
      continue;
    Value natural = math::FmaOp::create(b, loc, maximum, floats(naturalLogOf2), emitLog(f, sum));
    logSumExp.push_back(arith::SelectOp::create(b, loc, empty, floats(-infinity), natural));
    storeFloats(logSumExp.back(), at(scratch.maximum, number), v * shape.lanes);
  }
  for (unsigned value = 0; value < scratch.output.size(); ++value)
    turnOutput(value, number, inverse);
  for (WriteOp write : stage.getBody().getOps<WriteOp>()) {
    if (widthOf(write, axes))
      writeOutput(write, number, firstQuery);
    else
      writeRow(write, logSumExp);
  }
}
