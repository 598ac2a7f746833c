//===- Layout.cpp - the order of a stored value's axes ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "compiler/decide/Layout.h"
#include "compiler/optimize/Expressions.h"

using namespace mlir;
using namespace attn;

Layout::Layout(ProgramOp program) : block(program.getBody().front()) {
  Signature signature(program);
  for (BlockArgument argument : block.getArguments())
    for (ExtentAttr factor : cast<RefType>(argument.getType()).getFactors())
      if (StringAttr name = factor.getName())
        rank.try_emplace(name, rank.size());
  for (AxisAttr axis : signature.axes)
    rank.try_emplace(axis.getName(), rank.size());
}

AxisList Layout::ordered(ArrayRef<StringAttr> axes) const {
  AxisList sorted(axes);
  llvm::sort(sorted, [&](StringAttr a, StringAttr b) { return rank.lookup(a) < rank.lookup(b); });
  return sorted;
}

/// `axes` with those of `last` moved to the end, in the order of `last`.
AxisList Layout::lastly(ArrayRef<StringAttr> axes, ArrayRef<StringAttr> last) const {
  AxisList result;
  for (StringAttr axis : axes)
    if (!llvm::is_contained(last, axis))
      result.push_back(axis);
  for (StringAttr axis : last)
    if (llvm::is_contained(axes, axis))
      result.push_back(axis);
  return result;
}

AxisList Layout::forFlash(FlashOp flash, Value operand, ArrayRef<StringAttr> axes) const {
  AxisList keyAxes = axisNames(flash.getOver());
  for (auto [query, key, contracted] : llvm::zip(flash.getQueries(), flash.getKeys(), flash.getContracted())) {
    AxisList over = ordered(axisNames(cast<ArrayAttr>(contracted)));
    if (operand == key)
      return lastly(lastly(axes, keyAxes), over);
    if (operand != query)
      continue;
    AxisList queries;
    for (StringAttr axis : axes)
      if (!valueType(key).hasAxis(axis))
        queries.push_back(axis);
    return lastly(lastly(axes, queries), over);
  }
  if (!llvm::is_contained(flash.getValues(), operand))
    return lastly(axes, keyAxes);
  AxisList width;
  for (StringAttr axis : axes)
    if (!valueType(flash.getScore()).hasAxis(axis))
      width.push_back(axis);
  return lastly(lastly(axes, keyAxes), width);
}

AxisList Layout::forContract(ContractOp contract, Value operand, ArrayRef<StringAttr> axes) const {
  // In the order in which the other side stores them, so that both run through memory alike.
  AxisList over;
  Value other = operand == contract.getLhs() ? contract.getRhs() : contract.getLhs();
  AxisList contracted = ordered(axisNames(contract.getOver()));
  if (auto read = other.getDefiningOp<ReadOp>())
    for (Value index : read.getIndices())
      if (auto op = index.getDefiningOp<IndexOp>(); op && llvm::is_contained(contracted, op.getAxisAttr()))
        over.push_back(op.getAxisAttr());
  return lastly(axes, over.size() == contracted.size() ? over : contracted);
}

AxisList Layout::of(Value value) const {
  AxisList axes = ordered(valueType(value).getAxes());
  // Breadth first through what is pointwise: the nearest reader counts.
  SmallVector<Value> work{value};
  llvm::DenseSet<Operation *> seen;
  for (size_t i = 0; i < work.size(); ++i) {
    SmallVector<OpOperand *> uses;
    for (OpOperand &use : work[i].getUses())
      uses.push_back(&use);
    // Uses are listed last first.
    for (OpOperand *use : llvm::reverse(uses)) {
      Operation *op = use->getOwner();
      if (op->getBlock() != &block)
        op = block.findAncestorOpInBlock(*op);
      if (auto flash = dyn_cast<FlashOp>(op))
        return forFlash(flash, use->get(), axes);
      if (auto contract = dyn_cast<ContractOp>(op))
        return forContract(contract, use->get(), axes);
      if (auto rope = dyn_cast<RopeOp>(op))
        return lastly(axes, {use->get() == rope.getValue() ? rope.getOverAttr() : rope.getPairAxisAttr()});
      if (isHeavy(op))
        return lastly(axes, ordered(axisNames(op->getAttrOfType<ArrayAttr>("over"))));
      if (isPointwise(op) && seen.insert(op).second)
        work.push_back(op->getResult(0));
    }
  }
  return axes;
}
