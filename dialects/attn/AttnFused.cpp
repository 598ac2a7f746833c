//===- AttnFused.cpp - the fused op's verifier ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "dialects/attn/Attn.h"

using namespace mlir;
using namespace attn;

Value FlashOp::getScore() { return cast<YieldOp>(getBody().front().getTerminator()).getOperand(0); }

Value FlashOp::getMask() {
  auto yield = cast<YieldOp>(getBody().front().getTerminator());
  return yield.getNumOperands() == 2 ? yield.getOperand(1) : Value();
}

static LogicalResult verifyTerms(FlashOp op) {
  size_t terms = op.getQueries().size();
  if (op.getKeys().size() != terms || op.getContracted().size() != terms || terms == 0) // flash_c1
    return op.emitOpError("each score term has a query, a key and contracted axes");
  for (auto [query, key, contracted] : llvm::zip(op.getQueries(), op.getKeys(), op.getContracted()))
    for (StringAttr axis : axisNames(cast<ArrayAttr>(contracted)))
      if (!valueType(query).hasAxis(axis) || !valueType(key).hasAxis(axis)) // flash_c1
        return op.emitOpError("contracted axis ") << axis.getValue() << " is missing on one side";
  if (op.getBody().front().getNumArguments() != terms) // flash_c2
    return op.emitOpError("the region takes one value per score term");
  return success();
}

static LogicalResult verifyYield(FlashOp op) {
  auto yield = dyn_cast<YieldOp>(op.getBody().front().getTerminator());
  if (!yield || yield.getNumOperands() < 1 || yield.getNumOperands() > 2) // flash_c2
    return op.emitOpError("the region yields a score and at most one condition");
  auto score = dyn_cast<ValueType>(yield.getOperand(0).getType());
  if (!score || !score.isFloat()) // flash_c2
    return op.emitOpError("the score is a float value");
  if (op.getMask()) {
    auto mask = dyn_cast<ValueType>(op.getMask().getType());
    if (!mask || !mask.isCondition()) // flash_c2
      return op.emitOpError("the mask is a condition");
  }
  return success();
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
  if (failed(verifyTerms(*this)) || failed(verifyYield(*this)) || failed(verifyBounds(*this, over)))
    return failure();
  return verifyResults(*this, over);
}
