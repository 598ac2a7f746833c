//===- FuseSupport.cpp - what an attention is made of -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "compiler/optimize/FuseSupport.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"
#include <cmath>

using namespace mlir;
using namespace attn;

static bool hasAny(Value value, ArrayRef<StringAttr> axes) {
  return llvm::any_of(axes, [&](StringAttr axis) { return valueType(value).hasAxis(axis); });
}

static std::optional<ScoreTerm> asTerm(ContractOp contract, ArrayRef<StringAttr> keyAxes) {
  auto hasAll = [&](Value side) {
    return llvm::all_of(keyAxes, [&](StringAttr axis) { return valueType(side).hasAxis(axis); });
  };
  Value lhs = contract.getLhs(), rhs = contract.getRhs();
  if (hasAll(rhs) && !hasAny(lhs, keyAxes))
    return ScoreTerm{contract, lhs, rhs};
  if (hasAll(lhs) && !hasAny(rhs, keyAxes))
    return ScoreTerm{contract, rhs, lhs};
  return std::nullopt;
}

SmallVector<ScoreTerm> attn::findTerms(Value score, ArrayRef<StringAttr> keyAxes) {
  SmallVector<ScoreTerm> terms;
  llvm::DenseSet<Value> seen;
  auto visit = [&](auto &self, Value value) -> void {
    if (!hasAny(value, keyAxes) || !seen.insert(value).second)
      return;
    Operation *op = value.getDefiningOp();
    if (auto contract = dyn_cast_or_null<ContractOp>(op)) {
      if (std::optional<ScoreTerm> term = asTerm(contract, keyAxes))
        terms.push_back(*term);
    } else if (isPointwise(op)) {
      for (Value operand : op->getOperands())
        self(self, operand);
    }
  };
  visit(visit, score);
  return terms;
}

Presence attn::splitScore(OpBuilder &builder, Value score) {
  Presence split = splitPresence(builder, score);
  while (auto select = split.value.getDefiningOp<SelectOp>()) {
    Location loc = select.getLoc();
    if (floatConstant(select.getOnFalse()) == -INFINITY)
      split = {select.getOnTrue(), andOf(builder, loc, split.condition, select.getCondition())};
    else if (floatConstant(select.getOnTrue()) == -INFINITY)
      split = {select.getOnFalse(),
               andOf(builder, loc, split.condition, notOf(builder, loc, select.getCondition()))};
    else
      break;
  }
  // The condition may speak of axes that the bare score lacks; the score has all axes of its row.
  SmallVector<Value> inputs{split.value};
  for (StringAttr axis : valueType(score).getAxes())
    if (!valueType(split.value).hasAxis(axis))
      inputs.push_back(indexOf(builder, score.getLoc(), axis));
  if (inputs.size() > 1)
    split.value = mapOf(builder, score.getLoc(), inputs,
                        [](OpBuilder &, Location, ValueRange scalars) -> Value { return scalars[0]; });
  return split;
}

namespace {
/// Clones the pointwise operations over the key axes into the region; all else is read from outside.
class RegionBuilder {
public:
  RegionBuilder(OpBuilder &builder, ArrayRef<StringAttr> keyAxes) : builder(builder), keyAxes(keyAxes) {}

  void argument(Value term, Value blockArgument) { mapping.map(term, blockArgument); }

  Value cloned(Value value) {
    if (mapping.contains(value))
      return mapping.lookup(value);
    Operation *op = value.getDefiningOp();
    if (!isPointwise(op) || !hasAny(value, keyAxes))
      return value;
    for (Value operand : op->getOperands())
      mapping.map(operand, cloned(operand));
    Value clone = builder.clone(*op, mapping)->getResult(0);
    mapping.map(value, clone);
    return clone;
  }

private:
  OpBuilder &builder;
  ArrayRef<StringAttr> keyAxes;
  IRMapping mapping;
};
} // namespace

FlashOp attn::buildFlash(OpBuilder &builder, Location loc, const FlashPlan &plan) {
  AxisList keyAxes = axisNames(plan.over);
  SmallVector<ScoreTerm> terms = findTerms(plan.score, keyAxes);
  SmallVector<Value> queries, keys;
  SmallVector<Attribute> contracted;
  for (ScoreTerm term : terms) {
    queries.push_back(term.query);
    keys.push_back(term.key);
    contracted.push_back(term.contract.getOver());
  }
  ValueType score = valueType(plan.score);
  SmallVector<Type> results;
  for (Value value : plan.values) {
    SmallVector<StringAttr> axes(score.getAxes());
    llvm::append_range(axes, valueType(value).getAxes());
    results.push_back(ValueType::get(axes, score.getElementType()).without(keyAxes));
  }
  if (plan.logsumexp)
    results.push_back(score.without(keyAxes));
  auto flash = FlashOp::create(builder, loc, results, queries, keys, plan.values, plan.sink, ValueRange(), ValueRange(),
                               builder.getArrayAttr(contracted), plan.over, plan.normalizer, plan.logsumexp);
  Block &body = flash.getBody().emplaceBlock();
  OpBuilder inside = OpBuilder::atBlockEnd(&body);
  RegionBuilder region(inside, keyAxes);
  for (ScoreTerm term : terms)
    region.argument(term.contract, body.addArgument(term.contract.getType(), term.contract.getLoc()));
  SmallVector<Value> yielded{region.cloned(plan.score)};
  if (plan.mask)
    yielded.push_back(region.cloned(plan.mask));
  if (plan.changed) {
    region.argument(plan.weights, body.addArgument(plan.weights.getType(), plan.weights.getLoc()));
    yielded.push_back(region.cloned(plan.changed));
  }
  YieldOp::create(inside, loc, yielded);
  return flash;
}

bool attn::moveReadersBehind(Value from, Operation *anchor) {
  SmallVector<Operation *> work(from.getUsers());
  llvm::SetVector<Operation *> moved;
  while (!work.empty()) {
    Operation *op = work.pop_back_val();
    if (op->getBlock() != anchor->getBlock())
      return false;
    if (!op->isBeforeInBlock(anchor) || !moved.insert(op))
      continue;
    auto write = dyn_cast<WriteOp>(op);
    // A result that the program reads back must be written where it stands.
    bool movable = write ? llvm::all_of(write.getRef().getUsers(), [](Operation *user) { return isa<WriteOp>(user); })
                         : isMemoryEffectFree(op);
    if (!movable)
      return false;
    for (Value result : op->getResults())
      llvm::append_range(work, result.getUsers());
  }
  SmallVector<Operation *> ordered = moved.takeVector();
  llvm::sort(ordered, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  for (Operation *op : llvm::reverse(ordered))
    op->moveAfter(anchor);
  return true;
}
