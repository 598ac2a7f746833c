//===- FlashWrite.cpp - the end of a tile -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Normalises the outputs and stores what follows, row by row.
//===----------------------------------------------------------------------===//
#include "compiler/cpu/Packing.h"
#include "compiler/cuda/FlashKernel.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <limits>

using namespace mlir;
using namespace attn;

static constexpr double naturalLogOf2 = 0.6931471805599453;
static constexpr double infinity = std::numeric_limits<double>::infinity();

/// Stores the thread's columns of a row, or, where a result has no width, the row's own value by its first thread.
void FlashKernel::writeRow(Expressions &x, unsigned number, WriteOp write, const State &state, Value logSumExp) {
  StringAttr width = widthOf(write, axes);
  auto give = [&] {
    if (flash.getLogsumexp())
      x.set(flash.getOutputs().back(), 0, {logSumExp, {}});
  };
  if (!width) {
    Value isFirst = arith::CmpIOp::create(f.builder(), f.loc(), arith::CmpIPredicate::eq, lastElement, t.i32(0));
    return f.when(isFirst, [&] {
      inScope(x, [&] {
        give();
        x.write(write);
      });
    });
  }
  const FlashOperand *first = llvm::find_if(operands.values, [&](const FlashOperand &value) { return value.width == width; });
  Value lane = outputLane(*first);
  for (int64_t column = 0; column < tiling.own(*first) && tiling.outputPlace(*first, column) < first->extent; column += 8) {
    for (int64_t i = 0; i < 2; ++i) {
      Value index = t.add(lane, tiling.outputPlace(*first, column) + i);
      auto emit = [&] {
        inScope(x, [&] {
          x.bind(width, t.widen(index));
          give();
          for (auto [value, operand] : llvm::enumerate(operands.values)) {
            int64_t perRowTile = tiling.own(operand) / 8 * 4;
            if (operand.width == width)
              x.set(flash.getOutputs()[value], 0,
                        {state.outputs[value][number / 2 * perRowTile + column / 2 + number % 2 * 2 + i], {}});
          }
          x.write(write);
        });
      };
      f.when(t.less(index, t.i32(first->extent)), emit);
    }
  }
}

/// Leaves the rows' sums to be merged. Neighbouring columns are stored together.
void FlashKernel::store(Expressions &x, const State &state) {
  OpBuilder &b = f.builder();
  x.enter(nullptr);
  auto [entry, indices, firstRow] = placeAgain(x);
  const Partials &partials = chunk->partials;
  Type f32 = b.getF32Type(), two = f.vectorOf(2, f32);
  Value thread = t.again(t.thread()), zero = f.constant(f32, 0.0);
  Value isFirst = arith::CmpIOp::create(b, f.loc(), arith::CmpIPredicate::eq, lastElement, t.i32(0));
  for (const Row &row : rows)
    hasFailed |= row.x.failed();
  for (unsigned number = 0; number < rows.size(); ++number) {
    auto plus = [&](Value x, Value y) -> Value { return arith::AddFOp::create(b, f.loc(), x, y); };
    Value sum = isSoftmax() ? t.reduce(state.sums[number], 1 | 2, plus) : zero;
    Value kept = state.kept.empty() ? zero : hasKept(state, number);
    Value row = rowNumber(firstRow, number, thread);
    f.when(f.less(row, rowCount(x)), [&] {
      Value part = partials.place(f, f.add(f.mul(entry, partials.queries(f)), row), chunk->number);
      f.when(isFirst, [&] {
        f.store(isSoftmax() ? state.maxima[number] : zero, part, f.i64(Partials::Maximum));
        f.store(sum, part, f.i64(Partials::Sum));
        f.store(kept, part, f.i64(Partials::Kept));
      });
      for (auto [value, operand] : llvm::enumerate(operands.values)) {
        Value lane = outputLane(operand);
        for (int64_t column = 0; column < tiling.own(operand) && tiling.outputPlace(operand, column) < operand.extent; column += 8) {
          int64_t place = tiling.outputPlace(operand, column);
          auto emit = [&] {
            int64_t first = number / 2 * tiling.own(operand) / 2 + column / 2 + number % 2 * 2;
            ArrayRef<Value> pair = ArrayRef(state.outputs[value]).slice(first, 2);
            Value both = vector::FromElementsOp::create(b, f.loc(), two, pair);
            Value offset = f.add(partials.offset(f, value), t.widen(t.add(lane, place)));
            LLVM::StoreOp::create(b, f.loc(), both, f.address(part, offset, f32), 2 * sizeof(float));
          };
          if (place + 16 * (tiling.parts - 1) + 3 * FlashTiling::laneOutputs(operand) + 2 <= operand.extent)
            emit();
          else
            f.when(t.less(t.add(lane, place), t.i32(operand.extent)), emit);
        }
      }
    });
  }
  x.leave();
}

/// Rows are found anew, from a thread number that is read anew: kept through the loop they would take registers.
void FlashKernel::finish(Expressions &x, State state) {
  OpBuilder &b = f.builder();
  x.enter(nullptr);
  auto [entry, indices, firstRow] = placeAgain(x);
  Location loc = f.loc();
  Type f32 = b.getF32Type();
  Value zero = f.constant(f32, 0.0), thread = t.again(t.thread());
  for (const Row &row : rows)
    hasFailed |= row.x.failed();
  for (unsigned number = 0; number < rows.size(); ++number) {
    Value logSumExp;
    if (isSoftmax()) {
      Value sum = t.reduce(state.sums[number], 1 | 2, [&](Value x, Value y) -> Value { return arith::AddFOp::create(b, loc, x, y); });
      // A row without keys: output 0, log-sum-exp -inf.
      Value empty = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, sum, zero);
      Value reciprocal = arith::DivFOp::create(b, loc, f.constant(f32, 1.0), sum);
      Value nothing = empty;
      if (!state.kept.empty()) { // Nor where every weight was dropped: 0 times the inverse of infinity would be NaN.
        Value isDropped = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, hasKept(state, number), zero);
        nothing = x.either(empty, isDropped);
      }
      Value inverse = arith::SelectOp::create(b, loc, nothing, zero, reciprocal);
      for (auto [value, output] : llvm::enumerate(state.outputs)) {
        unsigned perRowTile = tiling.own(operands.values[value]) / 8 * 4;
        for (auto [i, element] : llvm::enumerate(output)) {
          if (i / perRowTile * 2 + i % 4 / 2 != number)
            continue;
          Value normal = arith::MulFOp::create(b, loc, element, inverse);
          if (flash.getSink()) { // A sink of NaN does not reach a row without keys.
            Value none = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, element, zero);
            normal = arith::SelectOp::create(b, loc, none, element, normal);
          }
          element = normal;
        }
      }
      if (flash.getLogsumexp()) {
        Value natural = math::FmaOp::create(b, loc, state.maxima[number], f.constant(f32, naturalLogOf2),
                                            math::LogOp::create(b, loc, sum));
        logSumExp = arith::SelectOp::create(b, loc, empty, f.constant(f32, -infinity), natural);
      }
    }
    x.enter(nullptr);
    Value row = rowNumber(firstRow, number, thread);
    bindRow(x, f.min(row, f.sub(rowCount(x), f.i64(1))));
    f.when(x.both(f.less(row, rowCount(x)), x.existence(axes.rows)), [&] {
      inScope(x, [&] {
        for (WriteOp write : stage.getBody().getOps<WriteOp>())
          writeRow(x, number, write, state, logSumExp);
      });
    });
    x.leave();
  }
  x.leave();
}
