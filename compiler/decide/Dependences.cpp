//===- Dependences.cpp - what must come first -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "compiler/decide/Dependences.h"
#include "compiler/optimize/Expressions.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace attn;

SmallVector<Value> attn::valuesReadBy(Operation *op) {
  SmallVector<Value> values;
  for (Value operand : op->getOperands())
    if (isa<ValueType>(operand.getType()))
      values.push_back(operand);
  llvm::SetVector<Value> captured;
  getUsedValuesDefinedAbove(op->getRegions(), captured);
  llvm::append_range(values, captured);
  return values;
}

bool attn::isNeverRead(Value ref) {
  return llvm::all_of(ref.getUsers(), [](Operation *user) { return isa<WriteOp>(user); });
}

void Dependences::collectLeaves(Value value, Value inStage, Values &leaves) const {
  if (value == inStage || progress.stored.contains(value))
    return;
  Operation *op = value.getDefiningOp();
  if (isHeavy(op) && !progress.joined.contains(op)) {
    leaves.insert(value);
  } else if (auto take = dyn_cast<TakeOp>(op)) {
    if (!progress.stored.contains(take.getValue()))
      leaves.insert(take.getValue());
    for (Value index : take.getIndices())
      collectLeaves(index, inStage, leaves);
  } else {
    for (Value operand : valuesReadBy(op))
      collectLeaves(operand, inStage, leaves);
  }
}

Dependences::Values Dependences::leavesOf(Operation *op, Value inStage) const {
  Values leaves;
  for (Value value : valuesReadBy(op))
    collectLeaves(value, inStage, leaves);
  return leaves;
}

/// Every write in front of it has been emitted. (One behind it has not: what it needs was copied then.)
bool Dependences::seesItsTime(ReadOp read) const {
  return llvm::all_of(read.getRef().getUsers(), [&](Operation *user) {
    return !isa<WriteOp>(user) || !user->isBeforeInBlock(read) || progress.written.contains(user);
  });
}

bool Dependences::isComputable(Value value, Value inStage) const {
  // What is at hand is so element by element: an operation that needs more of it must wait for the stage.
  llvm::DenseSet<Value> seen[2];
  SmallVector<std::pair<Value, bool>> work{{value, true}};
  while (!work.empty()) {
    auto [current, inPlace] = work.pop_back_val();
    bool atHand = inPlace && current == inStage;
    if (atHand || progress.stored.contains(current) || !seen[inPlace].insert(current).second)
      continue;
    Operation *op = current.getDefiningOp();
    if (progress.running.contains(op))
      return false;
    if (auto read = dyn_cast<ReadOp>(op); read && !seesItsTime(read))
      return false;
    for (Value operand : valuesReadBy(op))
      work.push_back({operand, inPlace && (isPointwise(op) || progress.joined.contains(op))});
  }
  return true;
}

bool Dependences::isNeededBehind(ReadOp read, WriteOp write) const {
  bool samePlace = llvm::equal(read.getIndices(), write.getIndices());
  // Values that are computed element by element from what is read, and those that are not.
  llvm::DenseSet<Value> seen[2];
  SmallVector<std::pair<Value, bool>> work{{read, true}};
  while (!work.empty()) {
    auto [value, inPlace] = work.pop_back_val();
    if (progress.stored.contains(value) || !seen[inPlace].insert(value).second)
      continue;
    for (Operation *user : value.getUsers()) {
      Operation *op = block.findAncestorOpInBlock(*user);
      if (op == write) {
        bool asValue = llvm::is_contained(write.getIndices(), value) ? false : inPlace;
        if (!samePlace || !asValue)
          return true;
      } else if (isa<WriteOp>(op)) {
        if (!progress.written.contains(op))
          return true;
      } else {
        for (Value result : op->getResults())
          work.push_back({result, inPlace && isPointwise(op)});
      }
    }
  }
  return false;
}
