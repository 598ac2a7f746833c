//===- Outputs.cpp - what a stage stores ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "compiler/decide/Outputs.h"
#include "compiler/optimize/Expressions.h"

using namespace mlir;
using namespace attn;

/// What the operation reads beside the result (and what follows from it) can be there before the stage.
bool OutputPlanner::sidesAreComputable(Operation *op) const {
  return llvm::all_of(valuesReadBy(op), [&](Value value) { return dependences.isComputable(value, result); });
}

bool OutputPlanner::overSameAxes(Operation *op) const {
  return op->getBlock() == &block && isPointwise(op) &&
         valueType(op->getResult(0)).getAxes() == valueType(result).getAxes();
}

bool OutputPlanner::canWrite(WriteOp write) const {
  AxisList place = unionOfAxes(write.getIndices());
  return ArrayRef<StringAttr>(place) == valueType(result).getAxes() &&
         (write == root || isNeverRead(write.getRef())) && sidesAreComputable(write);
}

bool OutputPlanner::endsInWrites(Operation *op, SmallVectorImpl<WriteOp> &writes) const {
  if (progress.written.contains(op))
    return true;
  if (auto write = dyn_cast<WriteOp>(op)) {
    if (!canWrite(write))
      return false;
    if (!llvm::is_contained(writes, write))
      writes.push_back(write);
    return true;
  }
  return overSameAxes(op) && sidesAreComputable(op) && !op->use_empty() &&
         llvm::all_of(op->getUsers(), [&](Operation *user) { return endsInWrites(user, writes); });
}

bool OutputPlanner::canFollow(Operation *op, Value from) const {
  // What may be absent is not stored so.
  bool absent = isa<WhereOp>(op) || llvm::any_of(op->getOperands(), [&](Value operand) {
                  return operand != from && mayBeAbsent(operand);
                });
  return overSameAxes(op) && !absent && sidesAreComputable(op);
}

Output OutputPlanner::plan(Value planned) {
  result = planned;
  Output output{result, {}, {}};
  for (Value current = result;;) {
    llvm::SetVector<Operation *> others;
    for (Operation *user : current.getUsers()) {
      SmallVector<WriteOp> writes(output.writes);
      if (endsInWrites(user, writes))
        output.writes = writes;
      else
        others.insert(user);
    }
    if (others.empty())
      break;
    if (others.size() > 1 || !canFollow(others.front(), current)) {
      output.stored = current;
      break;
    }
    current = others.front()->getResult(0);
  }
  llvm::sort(output.writes, [](WriteOp a, WriteOp b) { return a->isBeforeInBlock(b); });
  return output;
}
