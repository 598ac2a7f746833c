//===- LaneSteps.cpp - how indices go along the lanes -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A computed index that grows by the same step from lane to lane is known from its first lane. Of a quotient the first
// lane has to be a multiple: `t / 16` is one number for 16 keys from a multiple of 16 on, so a page is looked up once.
//===----------------------------------------------------------------------===//
#include "compiler/cpu/Expressions.h"
#include "mlir/IR/Matchers.h"
#include <numeric>

using namespace mlir;
using namespace attn;

bool Expressions::linearAlongLanes(Value index) const {
  auto own = index.getDefiningOp<IndexOp>();
  if (!own)
    return false;
  const Scope *scope = binding(own.getAxisAttr());
  return scope && !scope->indices.count(own.getAxisAttr());
}

std::optional<Expressions::Progress> Expressions::progressOf(Operation &scalar, const ScalarProgress &known) const {
  SmallVector<Progress> operands;
  for (Value operand : scalar.getOperands()) {
    std::optional<Progress> progress = known.lookup(operand);
    if (!progress)
      return std::nullopt;
    operands.push_back(*progress);
  }
  APInt number;
  if (matchPattern(&scalar, m_ConstantInt(&number)))
    return Progress{0, number.getBitWidth() <= 64 ? std::abs(number.getSExtValue()) : 1};
  if (isa<arith::AddIOp, arith::SubIOp>(scalar)) {
    int64_t sign = isa<arith::AddIOp>(scalar) ? 1 : -1;
    return Progress{operands[0].step + sign * operands[1].step, std::gcd(operands[0].multiple, operands[1].multiple)};
  }
  if (llvm::all_of(operands, [](Progress operand) { return operand.step == 0; })) {
    bool isProduct = isa<arith::MulIOp>(scalar);
    return Progress{0, isProduct ? std::max(operands[0].multiple, operands[1].multiple) : 1};
  }
  if (isa<arith::FloorDivSIOp>(scalar) && operands[1].step == 0 && matchPattern(scalar.getOperand(1), m_ConstantInt(&number))) {
    // All lanes lie between two multiples of what divides both the first lane and the divisor.
    int64_t span = std::gcd(operands[0].multiple, number.getSExtValue());
    if (operands[0].step >= 0 && operands[0].step * (lanes - 1) < span)
      return Progress{0, 1};
  }
  return std::nullopt;
}

Expressions::ScalarProgress Expressions::progressOfScalars(MapOp map) const {
  Block &body = map.getBody().front();
  ScalarProgress progress;
  for (auto [scalar, input] : llvm::zip(body.getArguments(), map.getInputs()))
    progress[scalar] = progressAlongLanes(input);
  for (Operation &op : body.without_terminator())
    progress[op.getResult(0)] = progressOf(op, progress);
  return progress;
}

std::optional<Expressions::Progress> Expressions::progressAlongLanes(Value index) const {
  if (!alongLanes(valueType(index).getAxes()))
    return Progress{0, 1};
  if (linearAlongLanes(index)) {
    int64_t multiple = 0;
    for (Value first : binding(index.getDefiningOp<IndexOp>().getAxisAttr())->laneFirst)
      multiple = std::gcd(multiple, FunctionScope::divisorOf(first));
    return Progress{1, multiple};
  }
  if (auto read = index.getDefiningOp<ReadOp>()) {
    bool isSame = llvm::all_of(read.getIndices(), [&](Value index) { return laneStep(index) == 0; });
    return isSame ? std::optional(Progress{0, 1}) : std::nullopt;
  }
  auto map = index.getDefiningOp<MapOp>();
  return map ? progressOfScalars(map).lookup(map.getBody().front().getTerminator()->getOperand(0)) : std::nullopt;
}

std::optional<int64_t> Expressions::laneStep(Value index) const {
  std::optional<Progress> progress = progressAlongLanes(index);
  return progress ? std::optional(progress->step) : std::nullopt;
}

int64_t Expressions::laneRun(Value index) const {
  auto map = index.getDefiningOp<MapOp>();
  if (!map)
    return 1;
  Block &body = map.getBody().front();
  auto quotient = body.getTerminator()->getOperand(0).getDefiningOp<arith::FloorDivSIOp>();
  APInt divisor;
  if (!quotient || !matchPattern(quotient.getRhs(), m_ConstantInt(&divisor)) || divisor.slt(2))
    return 1;
  std::optional<Progress> dividend = progressOfScalars(map).lookup(quotient.getLhs());
  int64_t run = divisor.getSExtValue();
  return dividend && dividend->step == 1 && (run >= lanes || lanes % run == 0) ? run : 1;
}

std::optional<Datum> Expressions::computeFromFirstLane(MapOp op, unsigned slot) {
  ArrayRef<StringAttr> axes = op.getType().getAxes();
  bool divides = !op.getBody().front().getOps<arith::FloorDivSIOp>().empty(); // Other scalars are as cheap in lanes.
  if (!divides || !op.getType().getElementType().isInteger(64) || !alongLanes(axes))
    return std::nullopt;
  std::optional<int64_t> step = laneStep(op);
  if (!step)
    return std::nullopt;
  enter(nullptr);
  for (StringAttr axis : axes)
    if (alongLanes(axis))
      bind(axis, binding(axis)->laneFirst[slot]);
  Datum first = evaluate(op, slot);
  leave();
  if (*step == 0)
    return first;
  Value steps = f.iota(lanes);
  if (*step != 1)
    steps = arith::MulIOp::create(f.builder(), f.loc(), steps, asLanes(f.i64(*step)));
  return Datum{arith::AddIOp::create(f.builder(), f.loc(), asLanes(first.value), steps), first.present};
}
