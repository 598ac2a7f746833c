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

bool OutputPlanner::joins(Operation *op) const {
  if (op->getBlock() != &block || !(isPointwise(op) || progress.joined.contains(op)))
    return false;
  ArrayRef<StringAttr> axes = valueType(op->getResult(0)).getAxes();
  return llvm::all_of(axes, [&](StringAttr axis) { return valueType(result).hasAxis(axis); }) && sidesAreComputable(op);
}

bool OutputPlanner::canWrite(WriteOp write) const {
  AxisList place = unionOfAxes(write.getIndices());
  return ArrayRef<StringAttr>(place) == valueType(result).getAxes() &&
         (write == root || isNeverRead(write.getRef())) && sidesAreComputable(write);
}

bool OutputPlanner::ends(Operation *op, Walk &walk) const {
  if (progress.written.contains(op) || walk.done.contains(op))
    return true;
  if (auto write = dyn_cast<WriteOp>(op)) {
    if (!canWrite(write))
      return false;
    walk.writes.insert(op);
    return true;
  }
  if (walk.stop && walk.stop.getDefiningOp() == op)
    return true;
  bool all = joins(op) && !op->use_empty() && llvm::all_of(op->getUsers(), [&](Operation *user) { return ends(user, walk); });
  if (all)
    walk.done.insert(op);
  return all;
}

SmallVector<Value> OutputPlanner::candidates() const {
  llvm::SetVector<Operation *> ops;
  SmallVector<Value> work{result}, found;
  while (!work.empty())
    for (Operation *user : work.pop_back_val().getUsers())
      if (!isa<WriteOp>(user) && joins(user) && ops.insert(user))
        work.push_back(user->getResult(0));
  SmallVector<Operation *> ordered = ops.takeVector();
  llvm::sort(ordered, [](Operation *a, Operation *b) { return b->isBeforeInBlock(a); });
  for (Operation *op : ordered) {
    Value value = op->getResult(0);
    // What may be absent is not stored so.
    if (valueType(value).getAxes() == valueType(result).getAxes() && !mayBeAbsent(value))
      found.push_back(value);
  }
  found.push_back(result);
  return found;
}

Output OutputPlanner::plan(Value planned) {
  result = planned;
  Output output{result, {}, {}};
  for (Value stored : candidates()) {
    Walk onTheWay{stored, {}, {}};
    if (stored != result && !llvm::all_of(result.getUsers(), [&](Operation *user) { return ends(user, onTheWay); }))
      continue;
    for (Operation *user : stored.getUsers()) {
      Walk behind{{}, onTheWay.done, onTheWay.writes};
      if (ends(user, behind))
        onTheWay = {stored, {}, behind.writes};
      else
        output.stored = stored;
    }
    for (Operation *write : onTheWay.writes)
      output.writes.push_back(cast<WriteOp>(write));
    break;
  }
  llvm::sort(output.writes, [](WriteOp a, WriteOp b) { return a->isBeforeInBlock(b); });
  return output;
}
