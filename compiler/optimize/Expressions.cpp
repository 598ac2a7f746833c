//===- Expressions.cpp - reading and building values ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "compiler/optimize/Expressions.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace attn;

bool attn::isPointwise(Operation *op) { return isa_and_nonnull<MapOp, SelectOp, WhereOp, AndOp, OrOp>(op); }

bool attn::isHeavy(Operation *op) {
  return isa_and_nonnull<ContractOp, ReduceOp, SoftmaxOp, LogSumExpOp, RopeOp, FlashOp>(op);
}

//===----------------------------------------------------------------------===//
// Building
//===----------------------------------------------------------------------===//

Value attn::indexOf(OpBuilder &builder, Location loc, StringAttr axis) {
  AxisAttr declared = Signature(Signature::around(builder.getInsertionBlock()->getParentOp())).findAxis(axis);
  SmallVector<StringAttr> axes{axis};
  if (declared)
    llvm::append_range(axes, declared.getDependsOn());
  return IndexOp::create(builder, loc, ValueType::get(axes, builder.getI64Type()), axis);
}

Value attn::extentOf(OpBuilder &builder, Location loc, StringAttr axis) {
  AxisAttr declared = Signature(Signature::around(builder.getInsertionBlock()->getParentOp())).findAxis(axis);
  ArrayRef<StringAttr> axes = declared ? declared.getDependsOn() : ArrayRef<StringAttr>();
  return ExtentOp::create(builder, loc, ValueType::get(axes, builder.getI64Type()), axis);
}

Value attn::constantOf(OpBuilder &builder, Location loc, TypedAttr value) {
  return ConstantOp::create(builder, loc, ValueType::get({}, value.getType()), value);
}

Value attn::mapOf(OpBuilder &builder, Location loc, ValueRange inputs, ScalarBody body) {
  Block *block = new Block;
  for (Value input : inputs)
    block->addArgument(valueType(input).getElementType(), loc);
  OpBuilder inside(builder.getContext());
  inside.setInsertionPointToEnd(block);
  Value scalar = body(inside, loc, block->getArguments());
  YieldOp::create(inside, loc, scalar);
  auto map = MapOp::create(builder, loc, ValueType::get(unionOfAxes(inputs), scalar.getType()), inputs);
  map.getBody().push_back(block);
  return map;
}

Value attn::notOf(OpBuilder &builder, Location loc, Value condition) {
  return mapOf(builder, loc, condition, [](OpBuilder &b, Location loc, ValueRange scalars) -> Value {
    Value truth = arith::ConstantOp::create(b, loc, b.getBoolAttr(true));
    return arith::XOrIOp::create(b, loc, scalars[0], truth);
  });
}

template <typename Op>
static Value conditionOf(OpBuilder &builder, Location loc, Value lhs, Value rhs) {
  Value both[] = {lhs, rhs};
  return Op::create(builder, loc, ValueType::get(unionOfAxes(both), builder.getI1Type()), lhs, rhs);
}

Value attn::andOf(OpBuilder &builder, Location loc, Value lhs, Value rhs) {
  if (!lhs || !rhs)
    return lhs ? lhs : rhs;
  return lhs == rhs ? lhs : conditionOf<AndOp>(builder, loc, lhs, rhs);
}

Value attn::orOf(OpBuilder &builder, Location loc, Value lhs, Value rhs) {
  return conditionOf<OrOp>(builder, loc, lhs, rhs);
}

Value attn::whereOf(OpBuilder &builder, Location loc, Value value, Value condition) {
  if (!condition)
    return value;
  Value both[] = {value, condition};
  Type type = ValueType::get(unionOfAxes(both), valueType(value).getElementType());
  return WhereOp::create(builder, loc, type, value, condition);
}

Value attn::clonePointwise(OpBuilder &builder, Operation *op, ValueRange operands) {
  IRMapping mapping;
  mapping.map(op->getOperands(), operands);
  Operation *clone = builder.clone(*op, mapping);
  Type element = valueType(op->getResult(0)).getElementType();
  clone->getResult(0).setType(ValueType::get(unionOfAxes(operands), element));
  return clone->getResult(0);
}

//===----------------------------------------------------------------------===//
// Absence
//===----------------------------------------------------------------------===//

bool attn::mayBeAbsent(Value value) {
  Operation *op = value.getDefiningOp();
  if (isa_and_nonnull<WhereOp>(op))
    return true;
  return isPointwise(op) && llvm::any_of(op->getOperands(), mayBeAbsent);
}

namespace {
/// The rules of `attn.map`, `attn.select`, `attn.and` and `attn.or` for absence, read backwards.
class PresenceSplitter {
public:
  explicit PresenceSplitter(OpBuilder &builder) : builder(builder) {}

  Presence split(Value value) {
    Operation *op = value.getDefiningOp();
    if (!mayBeAbsent(value))
      return {value, {}};
    if (auto found = done.find(value); found != done.end())
      return found->second;
    Presence result = splitOp(op);
    done[value] = result;
    return result;
  }

private:
  Presence splitOp(Operation *op) {
    Location loc = op->getLoc();
    SmallVector<Presence> parts = llvm::map_to_vector(op->getOperands(), [&](Value v) { return split(v); });
    if (isa<WhereOp>(op)) {
      Value condition = andOf(builder, loc, parts[1].condition, parts[1].value);
      return {parts[0].value, andOf(builder, loc, parts[0].condition, condition)};
    }
    SmallVector<Value> bare = llvm::map_to_vector(parts, [](const Presence &part) { return part.value; });
    Value value = clonePointwise(builder, op, bare);
    if (isa<SelectOp>(op)) {
      Value when = implied(loc, parts[0].value, parts[1].condition);
      Value otherwise = implied(loc, negated(loc, parts[0].value, parts[2].condition), parts[2].condition);
      return {value, andOf(builder, loc, parts[0].condition, andOf(builder, loc, when, otherwise))};
    }
    if (isa<AndOp, OrOp>(op)) {
      bool asksWhenTrue = isa<AndOp>(op);
      Value asked = asksWhenTrue ? parts[0].value : negated(loc, parts[0].value, parts[1].condition);
      return {value, andOf(builder, loc, parts[0].condition, implied(loc, asked, parts[1].condition))};
    }
    Value condition;
    for (const Presence &part : parts)
      condition = andOf(builder, loc, condition, part.condition);
    return {value, condition};
  }

  /// not condition, where `needed` is not null.
  Value negated(Location loc, Value condition, Value needed) {
    return needed ? notOf(builder, loc, condition) : Value();
  }

  /// Where `asked` holds, `condition` holds; null when there is no condition.
  Value implied(Location loc, Value asked, Value condition) {
    return condition ? orOf(builder, loc, notOf(builder, loc, asked), condition) : Value();
  }

  OpBuilder &builder;
  llvm::DenseMap<Value, Presence> done;
};
} // namespace

Presence attn::splitPresence(OpBuilder &builder, Value value) { return PresenceSplitter(builder).split(value); }

bool attn::impliesConjunct(Value condition, Value wanted) {
  if (!condition)
    return false;
  if (condition == wanted)
    return true;
  auto both = condition.getDefiningOp<AndOp>();
  return both && (impliesConjunct(both.getLhs(), wanted) || impliesConjunct(both.getRhs(), wanted));
}

//===----------------------------------------------------------------------===//
// Small questions
//===----------------------------------------------------------------------===//

arith::CmpIPredicate attn::swapped(arith::CmpIPredicate predicate) {
  using P = arith::CmpIPredicate;
  switch (predicate) {
  case P::slt:
    return P::sgt;
  case P::sle:
    return P::sge;
  case P::sgt:
    return P::slt;
  case P::sge:
    return P::sle;
  default:
    return predicate;
  }
}

std::optional<double> attn::floatConstant(Value value) {
  FloatAttr number;
  if (auto constant = value.getDefiningOp<ConstantOp>())
    number = dyn_cast<FloatAttr>(constant.getValue());
  else if (auto map = value.getDefiningOp<MapOp>())
    matchPattern(cast<YieldOp>(map.getBody().front().getTerminator()).getOperand(0), m_Constant(&number));
  return number ? std::optional<double>(number.getValueAsDouble()) : std::nullopt;
}

llvm::StringMap<int64_t> attn::knownExtents(const Signature &signature) {
  llvm::StringMap<int64_t> known;
  auto lookup = [&](StringRef name) -> std::optional<int64_t> {
    auto found = known.find(name);
    return found == known.end() ? std::nullopt : std::optional(found->second);
  };
  for (AxisAttr axis : signature.axes) {
    if (axis.isRagged())
      continue;
    // An error means that the extent is known only at run time, or is refused there.
    if (llvm::Expected<int64_t> value = axis.getExtent().evaluate(lookup))
      known[axis.getName().getValue()] = *value;
    else
      llvm::consumeError(value.takeError());
  }
  return known;
}

bool attn::sameAxes(ArrayRef<StringAttr> a, ArrayRef<StringAttr> b) {
  return a.size() == b.size() && llvm::all_of(a, [&](StringAttr axis) { return llvm::is_contained(b, axis); });
}

void attn::eraseDead(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&op))
      op.erase();
}
