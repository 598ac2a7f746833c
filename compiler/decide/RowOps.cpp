//===- RowOps.cpp - what follows a product along its rows -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "compiler/decide/RowOps.h"
#include "compiler/optimize/Expressions.h"

using namespace mlir;
using namespace attn;

/// One task finishes a whole row: with a wider one there would be too few tasks where there are few rows.
static constexpr int64_t widestRow = 512;

static AxisList ownAxes(Value side, Value other) {
  AxisList own;
  for (StringAttr axis : valueType(side).getAxes())
    if (!valueType(other).hasAxis(axis))
      own.push_back(axis);
  return own;
}

StringRef attn::whyNoLanes(Value side, Value other, const Signature &signature) {
  if (!valueType(side).getElementType().isF32() || !valueType(other).getElementType().isF32())
    return "it does not compute in f32";
  if (ownAxes(side, other).empty())
    return "no side has an axis of its own, as a product of matrices has";
  // Rows may be passed over where they do not exist; nothing else may.
  auto isRagged = [&](StringAttr axis) { return signature.findAxis(axis).isRagged(); };
  return llvm::any_of(valueType(side).getAxes(), isRagged) ? "its columns are ragged" : "";
}

StringAttr attn::rowAxis(Operation *op) {
  if (auto rope = dyn_cast<RopeOp>(op))
    return rope.getOverAttr();
  auto reduce = dyn_cast<ReduceOp>(op);
  AxisList over = reduce ? axisNames(reduce.getOver()) : AxisList();
  return over.size() == 1 ? over.front() : StringAttr();
}

/// Whether whole rows along the axis, which the contraction's columns have, are finished by one task.
static bool canBeWhole(Operation *op, StringAttr axis, ContractOp contract, const Signature &signature, bool isDevice) {
  bool isLhs = valueType(contract.getLhs()).hasAxis(axis), isRhs = valueType(contract.getRhs()).hasAxis(axis);
  Value lane = isLhs ? contract.getLhs() : contract.getRhs();
  Value row = isLhs ? contract.getRhs() : contract.getLhs();
  if (isLhs == isRhs || !whyNoLanes(lane, row, signature).empty())
    return false;
  llvm::StringMap<int64_t> known = knownExtents(signature);
  auto extent = known.find(axis.getValue());
  if (extent != known.end() && extent->second <= (isDevice ? widestDeviceRow : widestRow))
    return true;
  return !isDevice && (isa<RopeOp>(op) || ownAxes(lane, row).size() > 1);
}

RowOps attn::findRowOps(ContractOp contract, const Signature &signature, bool isDevice) {
  RowOps found;
  ValueType type = contract.getType();
  llvm::DenseSet<Value> following{contract.getResult()};
  auto follows = [&](Value value) { return following.contains(value); };
  auto isF32 = [](Value value) { return valueType(value).getElementType().isF32() && !mayBeAbsent(value); };
  auto isRow = [&](Value value) { return valueType(value).getAxes() == type.getAxes() && isF32(value); };
  for (Operation *op = contract->getNextNode(); op; op = op->getNextNode()) {
    if (op->getNumResults() != 1 || llvm::none_of(op->getOperands(), follows))
      continue;
    StringAttr axis = rowAxis(op);
    bool isPlain = isPointwise(op);
    if (axis && (!found.axis || axis == found.axis) && follows(op->getOperand(0)) && isRow(op->getOperand(0)) &&
        llvm::none_of(op->getOperands().drop_front(), follows) && canBeWhole(op, axis, contract, signature, isDevice)) {
      auto rope = dyn_cast<RopeOp>(op);
      isPlain = !rope || (isRow(rope) && isF32(rope.getCos()) && isF32(rope.getSin()));
      if (isPlain) {
        found.axis = axis;
        found.ops.insert(op);
      }
    }
    if (isPlain)
      following.insert(op->getResult(0));
  }
  return found;
}

ContractOp attn::hostOf(Operation *op, const Signature &signature, bool isDevice) {
  if (!isa<RopeOp, ReduceOp>(op))
    return {};
  SmallVector<Value> work{op->getOperand(0)};
  llvm::DenseSet<Value> seen;
  while (!work.empty()) {
    Value value = work.pop_back_val();
    Operation *from = value.getDefiningOp();
    if (!from || !seen.insert(value).second)
      continue;
    if (auto contract = dyn_cast<ContractOp>(from)) {
      if (findRowOps(contract, signature, isDevice).ops.contains(op))
        return contract;
    } else if (isPointwise(from) || isa<RopeOp, ReduceOp>(from)) {
      llvm::append_range(work, from->getOperands());
    }
  }
  return {};
}
