//===- AttnFused.cpp - the fused op's verifier ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "dialects/attn/FlashWeights.h"

using namespace mlir;
using namespace attn;

Value FlashOp::getScore() { return cast<YieldOp>(getBody().front().getTerminator()).getOperand(0); }

Value FlashOp::getMask() {
  auto yield = cast<YieldOp>(getBody().front().getTerminator());
  return yield.getNumOperands() >= 2 && valueType(yield.getOperand(1)).isCondition() ? yield.getOperand(1) : Value();
}

Value attn::weightOf(FlashOp flash) {
  Block &body = flash.getBody().front();
  return body.getNumArguments() > flash.getQueries().size() ? Value(body.getArguments().back()) : Value();
}

Value attn::changedWeightOf(FlashOp flash) {
  return weightOf(flash) ? flash.getBody().front().getTerminator()->getOperands().back() : Value();
}

static LogicalResult verifyTerms(FlashOp op) {
  size_t terms = op.getQueries().size();
  if (op.getKeys().size() != terms || op.getContracted().size() != terms || terms == 0) // flash_c1
    return op.emitOpError("each score term has a query, a key and contracted axes");
  for (auto [query, key, contracted] : llvm::zip(op.getQueries(), op.getKeys(), op.getContracted()))
    for (StringAttr axis : axisNames(cast<ArrayAttr>(contracted)))
      if (!valueType(query).hasAxis(axis) || !valueType(key).hasAxis(axis)) // flash_c1
        return op.emitOpError("contracted axis ") << axis.getValue() << " is missing on one side";
  if (op.getBody().front().getNumArguments() - terms > 1) // flash_c2
    return op.emitOpError("the region takes one value per score term, and a weight at most");
  return success();
}

static LogicalResult verifyYield(FlashOp op) {
  auto yield = dyn_cast<YieldOp>(op.getBody().front().getTerminator());
  unsigned most = 2 + bool(weightOf(op));
  if (!yield || yield.getNumOperands() < most - 1 || yield.getNumOperands() > most) // flash_c2
    return op.emitOpError("the region yields a score, at most one condition, and a weight if it takes one");
  auto score = dyn_cast<ValueType>(yield.getOperand(0).getType());
  if (!score || !score.isFloat()) // flash_c2
    return op.emitOpError("the score is a float value");
  if (yield.getNumOperands() == most) {
    auto mask = dyn_cast<ValueType>(yield.getOperand(1).getType());
    if (!mask || !mask.isCondition()) // flash_c2
      return op.emitOpError("the mask is a condition");
  }
  return success();
}

static LogicalResult verifyWeight(FlashOp op) {
  Value weight = weightOf(op);
  if (!weight)
    return success();
  if (op.getNormalizer() != Normalizer::Softmax) // flash_c6
    return op.emitOpError("only weights of a softmax are changed");
  Type type = op.getScore().getType();
  bool fits = weight.getType() == type && changedWeightOf(op).getType() == type;
  return fits ? success() : op.emitOpError("a weight has the type of the score, changed or not"); // flash_c6
}

static LogicalResult verifyBounds(FlashOp op, ArrayRef<StringAttr> over) {
  SmallVector<Value> rows(op.getLower());
  llvm::append_range(rows, op.getUpper());
  for (Value bound : rows)
    if (!valueType(bound).isInteger()) // flash_c3
      return op.emitOpError("a bound is an i64 value");
  if (!op.getLower().empty() && !op.getUpper().empty() && op.getLower().size() != op.getUpper().size()) // flash_c5
    return op.emitOpError("a range of keys has a lower and an upper bound");
  if (op.getNumRanges() > FlashOp::mostRanges) // flash_c5
    return op.emitOpError("has more than ") << FlashOp::mostRanges << " ranges of keys";
  if (op.getSink())
    rows.push_back(op.getSink());
  for (Value value : rows)
    for (StringAttr axis : over)
      if (valueType(value).hasAxis(axis)) // flash_c3
        return op.emitOpError("bounds and sink lack the key axis ") << axis.getValue();
  return success();
}

static LogicalResult verifyResults(FlashOp op, ArrayRef<StringAttr> over) {
  size_t expected = op.getValues().size() + (op.getLogsumexp() ? 1 : 0);
  if (op.getNumResults() != expected)
    return op.emitOpError("has ") << op.getNumResults() << " results, expected " << expected;
  ValueType score = valueType(op.getScore());
  for (auto [value, output] : llvm::zip(op.getValues(), op.getOutputs())) {
    SmallVector<StringAttr> axes(score.getAxes());
    llvm::append_range(axes, valueType(value).getAxes());
    if (valueType(output) != ValueType::get(axes, score.getElementType()).without(over)) // flash_c4
      return op.emitOpError("a mix has the axes of score and value without the key axes");
  }
  if (op.getLogsumexp() && valueType(op.getOutputs().back()) != score.without(over)) // flash_c4
    return op.emitOpError("the log-sum-exp has the score's axes without the key axes");
  return success();
}

LogicalResult FlashOp::verify() {
  AxisList over = axisNames(getOver());
  if (failed(verifyTerms(*this)) || failed(verifyYield(*this)) || failed(verifyWeight(*this)) ||
      failed(verifyBounds(*this, over)))
    return failure();
  return verifyResults(*this, over);
}
