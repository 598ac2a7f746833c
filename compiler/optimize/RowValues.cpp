//===- RowValues.cpp - what a row knows before it meets a key ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "compiler/optimize/RowValues.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"
#include <limits>

using namespace mlir;
using namespace attn;

bool RowValues::hasKey(Value value) const {
  return llvm::any_of(keys, [&](StringAttr axis) { return valueType(value).hasAxis(axis); });
}

Value RowValues::outside(Value value) {
  if (hasKey(value))
    return {};
  auto [entry, isNew] = done.try_emplace(value);
  if (!isNew)
    return entry->second;
  Value result = moved(value);
  done[value] = result;
  return result;
}

Value RowValues::moved(Value value) {
  if (!region.isAncestor(value.getParentRegion()))
    return value;
  Operation *op = value.getDefiningOp();
  if (!op || op->getNumRegions() > 1 || !isMemoryEffectFree(op))
    return {};
  IRMapping mapping;
  for (Value operand : op->getOperands()) {
    Value inner = outside(operand);
    if (!inner)
      return {};
    mapping.map(operand, inner);
  }
  return builder.clone(*op, mapping)->getResult(0);
}

Value RowValues::outside(MapOp map, Value scalar) {
  if (auto found = done.find(scalar); found != done.end())
    return found->second;
  llvm::SetVector<Operation *> slice;
  SmallVector<Value> inputs;
  SmallVector<BlockArgument> used;
  auto visit = [&](auto &self, Value v) -> bool {
    if (auto argument = dyn_cast<BlockArgument>(v)) {
      if (llvm::is_contained(used, argument))
        return true;
      Value input = outside(map.getInputs()[argument.getArgNumber()]);
      if (!input)
        return false;
      used.push_back(argument);
      inputs.push_back(input);
      return true;
    }
    Operation *op = v.getDefiningOp();
    if (slice.contains(op))
      return true;
    for (Value operand : op->getOperands())
      if (!self(self, operand))
        return false;
    slice.insert(op);
    return true;
  };
  if (!visit(visit, scalar))
    return done[scalar] = Value();
  if (isa<BlockArgument>(scalar))
    return done[scalar] = inputs.front();
  return done[scalar] = mapOf(builder, map.getLoc(), inputs, [&](OpBuilder &b, Location, ValueRange arguments) -> Value {
           IRMapping scalars;
           for (auto [argument, now] : llvm::zip(used, arguments))
             scalars.map(argument, now);
           for (Operation *op : slice)
             b.clone(*op, scalars);
           return scalars.lookup(scalar);
         });
}

/// The result of an addition or a subtraction that overflowed where the sign bit of `overflowed` is set; the truth then
/// has the sign of x.
static Value stopped(OpBuilder &b, Location loc, Value result, Value overflowed, Value x) {
  auto number = [&](int64_t value) -> Value { return arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(value)); };
  auto isNegative = [&](Value value) -> Value {
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, value, number(0));
  };
  Value end = arith::SelectOp::create(b, loc, isNegative(x), number(std::numeric_limits<int64_t>::min()),
                                      number(std::numeric_limits<int64_t>::max()));
  return arith::SelectOp::create(b, loc, isNegative(overflowed), end, result);
}

Value attn::stoppedSum(OpBuilder &builder, Location loc, Value x, Value y) {
  return mapOf(builder, loc, {x, y}, [](OpBuilder &b, Location loc, ValueRange scalars) -> Value {
    Value x = scalars[0], y = scalars[1], sum = arith::AddIOp::create(b, loc, x, y);
    Value signs = arith::AndIOp::create(b, loc, arith::XOrIOp::create(b, loc, x, sum),
                                        arith::XOrIOp::create(b, loc, y, sum));
    return stopped(b, loc, sum, signs, x);
  });
}

Value attn::stoppedDifference(OpBuilder &builder, Location loc, Value x, Value y) {
  return mapOf(builder, loc, {x, y}, [](OpBuilder &b, Location loc, ValueRange scalars) -> Value {
    Value x = scalars[0], y = scalars[1], difference = arith::SubIOp::create(b, loc, x, y);
    Value signs = arith::AndIOp::create(b, loc, arith::XOrIOp::create(b, loc, x, y),
                                        arith::XOrIOp::create(b, loc, x, difference));
    return stopped(b, loc, difference, signs, x);
  });
}

bool attn::isSmallValue(Value value) {
  Operation *op = value.getDefiningOp();
  if (auto read = dyn_cast<ReadOp>(op))
    return cast<RefType>(read.getRef().getType()).getElementType().getIntOrFloatBitWidth() <= 32;
  return isa<IndexOp, ExtentOp>(op);
}
