//===- Inliner.cpp - expressions of a program in a stage --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "compiler/decide/Inliner.h"
#include "compiler/optimize/Expressions.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace attn;

Value Inliner::index(StringAttr axis, Location loc) {
  Value &index = indices[axis];
  if (!index)
    index = indexOf(builder, loc, axis);
  return index;
}

Value Inliner::readStored(Value value, const Stored &place, llvm::function_ref<Value(StringAttr)> at, Type type) {
  SmallVector<Value> places = llvm::map_to_vector(place.dims, at);
  return ReadOp::create(builder, value.getLoc(), type, place.ref, places);
}

SmallVector<Value> Inliner::inlined(ValueRange values) {
  return llvm::map_to_vector(values, [&](Value value) { return inlined(value); });
}

Value Inliner::inlined(Value value) {
  if (mapping.contains(value))
    return mapping.lookup(value);
  auto plain = [&](StringAttr axis) { return index(axis, value.getLoc()); };
  Value result;
  Operation *op = value.getDefiningOp();
  if (auto found = stored.find(value); found != stored.end()) {
    result = readStored(value, found->second, plain, value.getType());
  } else if (auto position = dyn_cast<IndexOp>(op)) {
    result = index(position.getAxisAttr(), op->getLoc());
  } else if (auto take = dyn_cast<TakeOp>(op); take && stored.contains(take.getValue())) {
    AxisList taken = axisNames(take.getAxes());
    SmallVector<Value> at = inlined(take.getIndices());
    const Stored &place = stored.find(take.getValue())->second;
    auto moved = [&](StringAttr axis) {
      auto *found = llvm::find(taken, axis);
      return found == taken.end() ? plain(axis) : at[found - taken.begin()];
    };
    result = readStored(value, place, moved, value.getType());
  } else {
    return cloned(op)->getResult(cast<OpResult>(value).getResultNumber());
  }
  mapping.map(value, result);
  return result;
}

Operation *Inliner::cloned(Operation *op) {
  for (Value operand : op->getOperands())
    if (isa<ValueType>(operand.getType()))
      mapping.map(operand, inlined(operand));
  llvm::SetVector<Value> captured;
  getUsedValuesDefinedAbove(op->getRegions(), captured);
  for (Value value : captured)
    mapping.map(value, inlined(value));
  return builder.clone(*op, mapping);
}
