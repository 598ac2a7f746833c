//===- Expressions.cpp - scopes, maps, conditions ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "compiler/cpu/Expressions.h"
#include "compiler/cpu/VectorMath.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace attn;

Expressions::Expressions(FunctionScope &f, int64_t lanes) : f(f), lanes(lanes) { scopes.emplace_back(); }

//===----------------------------------------------------------------------===//
// Scopes
//===----------------------------------------------------------------------===//

void Expressions::enter(Operation *regionOp) { scopes.emplace_back().regionOp = regionOp; }
void Expressions::leave() { scopes.pop_back(); }

void Expressions::bind(StringAttr axis, Value index, Value valid) {
  scopes.back().indices[axis] = index;
  if (valid)
    scopes.back().valid[axis] = valid;
}

void Expressions::bindLanes(StringAttr axis, ArrayRef<Value> first, ArrayRef<Value> mask) {
  scopes.back().lane = axis;
  scopes.back().laneFirst.assign(first.begin(), first.end());
  scopes.back().laneMasks.assign(mask.begin(), mask.end());
}

void Expressions::set(Value value, unsigned slot, Datum datum) { scopes.back().known[{value, slot}] = datum; }

const Expressions::Scope *Expressions::binding(StringAttr axis) const {
  for (const Scope &scope : llvm::reverse(scopes))
    if (scope.binds(axis))
      return &scope;
  return nullptr;
}

bool Expressions::alongLanes(StringAttr axis) const {
  const Scope *scope = binding(axis);
  if (!scope)
    return false;
  auto index = scope->indices.find(axis);
  return index == scope->indices.end() || isa<VectorType>(index->second.getType());
}

bool Expressions::alongLanes(ArrayRef<StringAttr> axes) const {
  return llvm::any_of(axes, [&](StringAttr axis) { return alongLanes(axis); });
}

size_t Expressions::homeOf(ArrayRef<StringAttr> axes) const {
  for (size_t i = scopes.size(); i-- > 1;)
    if (llvm::any_of(axes, [&](StringAttr axis) { return scopes[i].binds(axis); }))
      return i;
  return 0;
}

void Expressions::at(size_t home, llvm::function_ref<void()> build) {
  SmallVector<Scope, 8> inner(std::make_move_iterator(scopes.begin() + home + 1), std::make_move_iterator(scopes.end()));
  scopes.truncate(home + 1);
  OpBuilder::InsertionGuard guard(f.builder());
  auto outermost = llvm::find_if(inner, [](const Scope &scope) { return scope.regionOp; });
  if (outermost != inner.end())
    f.builder().setInsertionPoint(outermost->regionOp);
  build();
  std::move(inner.begin(), inner.end(), std::back_inserter(scopes));
}

Value Expressions::laneMask(unsigned slot) const {
  for (const Scope &scope : llvm::reverse(scopes))
    if (scope.lane)
      return slot < scope.laneMasks.size() ? scope.laneMasks[slot] : Value();
  return {};
}

Datum Expressions::evaluate(Value value, unsigned slot) {
  ArrayRef<StringAttr> axes = valueType(value).getAxes();
  unsigned key = alongLanes(axes) ? slot : 0;
  for (Scope &scope : llvm::reverse(scopes)) { // Given values stand where they were set.
    auto found = scope.known.find({value, key});
    if (found != scope.known.end())
      return found->second;
    if (&scope == &scopes[homeOf(axes)])
      break;
  }
  size_t home = homeOf(axes);
  Datum datum;
  at(home, [&] {
    Location outer = f.loc();
    f.setLoc(value.getLoc());
    datum = compute(value, slot);
    f.setLoc(outer);
  });
  scopes[home].known[{value, key}] = datum;
  return datum;
}

Datum Expressions::evaluateLanes(Value value, unsigned slot) {
  Datum datum = evaluate(value, slot);
  return {asLanes(datum.value), datum.present ? asLanes(datum.present) : Value()};
}

Datum Expressions::fault(Operation *op, const Twine &message) {
  if (!hasFailed)
    op->emitError("the CPU back end cannot compute this yet: ") << message;
  hasFailed = true;
  Type element = valueType(op->getResult(0)).getElementType();
  TypedAttr nothing = f.builder().getZeroAttr(element);
  return {arith::ConstantOp::create(f.builder(), f.loc(), nothing), {}};
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

Datum Expressions::compute(Value value, unsigned slot) {
  Operation *op = value.getDefiningOp();
  return llvm::TypeSwitch<Operation *, Datum>(op)
      .Case([&](IndexOp op) -> Datum {
        Value index = indexAlong(op.getAxisAttr(), slot);
        return index ? Datum{index, {}} : fault(op, "the index of axis " + op.getAxis() + " here");
      })
      .Case([&](ExtentOp op) -> Datum { return {extentAt(op.getAxisAttr(), slot), {}}; })
      .Case([&](ConstantOp op) -> Datum {
        return {arith::ConstantOp::create(f.builder(), f.loc(), cast<TypedAttr>(op.getValue())), {}};
      })
      .Case([&](ReadOp op) { return computeRead(op, slot); })
      .Case([&](TakeOp op) { return computeTake(op, slot); })
      .Case([&](MapOp op) { return computeMap(op, slot); })
      .Case([&](SelectOp op) { return computeSelect(op, slot); })
      .Case<AndOp, OrOp>([&](Operation *op) { return computeCondition(op, slot); })
      .Case([&](WhereOp op) -> Datum {
        Datum value = evaluate(op.getValue(), slot), condition = evaluate(op.getCondition(), slot);
        return {value.value, both(value.present, both(condition.value, condition.present))};
      })
      .Case([&](ContractOp op) { return computeReduction(op, axisNames(op.getOver()), slot); })
      .Case([&](ReduceOp op) { return computeReduction(op, axisNames(op.getOver()), slot); })
      .Case([&](LogSumExpOp op) { return computeLogSumExp(op, slot); })
      .Case([&](SoftmaxOp op) { return computeSoftmax(op, slot); })
      .Case([&](RopeOp op) { return computeRope(op, slot); })
      .Default([&](Operation *op) { return fault(op, op->getName().getStringRef()); });
}

Value Expressions::indexAlong(StringAttr axis, unsigned slot) {
  const Scope *scope = binding(axis);
  if (!scope)
    return {};
  auto index = scope->indices.find(axis);
  if (index != scope->indices.end())
    return index->second;
  Value first = f.splat(scope->laneFirst[slot], lanes);
  return arith::AddIOp::create(f.builder(), f.loc(), first, f.iota(lanes));
}

/// The value at another point; outside of an axis there is nothing.
Datum Expressions::computeTake(TakeOp op, unsigned slot) {
  AxisList axes = axisNames(op.getAxes());
  SmallVector<std::pair<Value, Value>> moved; // Index, and where it is one.
  Value present;
  for (auto [axis, index] : llvm::zip(axes, op.getIndices())) {
    Datum at = evaluate(index, slot);
    Value sides[] = {at.value, extentAt(axis, slot)};
    unify(sides);
    Value within = arith::CmpIOp::create(f.builder(), f.loc(), arith::CmpIPredicate::ult, sides[0], sides[1]);
    moved.push_back({at.value, both(within, at.present)});
    present = both(present, moved.back().second);
  }
  enter(nullptr);
  for (auto [axis, to] : llvm::zip(axes, moved))
    bind(axis, to.first, to.second);
  Datum taken = evaluate(op.getValue(), slot);
  leave();
  return {taken.value, both(present, taken.present)};
}

/// Brings all to lanes when one of them is.
void Expressions::unify(MutableArrayRef<Value> values) {
  if (llvm::none_of(values, [](Value value) { return isa<VectorType>(value.getType()); }))
    return;
  for (Value &value : values)
    value = asLanes(value);
}

Value Expressions::asLanes(Value value) { return f.splat(value, lanes); }

Value Expressions::number(Type like, double value) { return f.constant(like, value); }

Value Expressions::computeScalar(Operation &op, IRMapping &scalars) {
  SmallVector<Value> operands;
  for (Value operand : op.getOperands())
    operands.push_back(scalars.lookup(operand));
  bool divides = isa<arith::DivFOp>(op) && isa<VectorType>(operands[0].getType()) && operands[1].getType().isF32();
  if (divides)
    return emitQuotient(f, operands[0], operands[1]);
  unify(operands);
  Type element = operands.empty() ? Type() : getElementTypeOrSelf(operands[0].getType());
  bool isF32 = element && element.isF32(), isF64 = element && element.isF64();
  if (isF64 && isa<math::ExpOp>(op))
    return emitExpDouble(f, operands[0]);
  if (isF64 && isa<math::LogOp>(op))
    return emitLogDouble(f, operands[0]);
  if (isF32 && isa<math::ExpOp>(op))
    return emitExp(f, operands[0]);
  if (isF32 && isa<math::TanhOp>(op))
    return emitTanh(f, operands[0]);
  if (isF32 && isa<math::LogOp>(op))
    return emitLog(f, operands[0]);
  if (isF32 && isa<math::SinOp>(op))
    return emitSine(f, operands[0]);
  if (isF32 && isa<math::CosOp>(op))
    return emitCosine(f, operands[0]);
  // Machines with lanes of 64 bytes convert integers of 64 bits at once.
  if (isa<arith::SIToFPOp>(op) && isa<VectorType>(operands[0].getType()) && lanes < 16)
    return emitIntegerToFloat(f, operands[0], op.getResult(0).getType());
  if (auto philox = dyn_cast<PhiloxOp>(op))
    return emitPhilox(f, operands[0], operands[1], philox.getType());
  Operation *copy = op.clone();
  copy->setLoc(f.loc());
  copy->setOperands(operands);
  if (!operands.empty() && isa<VectorType>(operands.front().getType()))
    copy->getResult(0).setType(f.vectorOf(lanes, copy->getResult(0).getType()));
  f.builder().insert(copy);
  return copy->getResult(0);
}

Datum Expressions::computeMap(MapOp op, unsigned slot) {
  if (std::optional<Datum> index = computeFromFirstLane(op, slot))
    return *index;
  IRMapping scalars;
  Value present;
  for (auto [input, scalar] : llvm::zip(op.getInputs(), op.getBody().front().getArguments())) {
    Datum datum = evaluate(input, slot);
    scalars.map(scalar, datum.value);
    present = both(present, datum.present);
  }
  for (Operation &scalar : op.getBody().front().without_terminator())
    scalars.map(scalar.getResult(0), computeScalar(scalar, scalars));
  Operation *yield = op.getBody().front().getTerminator();
  return {scalars.lookup(yield->getOperand(0)), present};
}

Datum Expressions::computeSelect(SelectOp op, unsigned slot) {
  Datum condition = evaluate(op.getCondition(), slot);
  Datum yes = evaluate(op.getOnTrue(), slot), no = evaluate(op.getOnFalse(), slot);
  Value values[] = {condition.value, yes.value, no.value};
  unify(values);
  Value value = arith::SelectOp::create(f.builder(), f.loc(), values[0], values[1], values[2]);
  return {value, both(condition.present, choose(condition.value, yes.present, no.present))};
}

/// `and`: the right side counts only where the left one holds; `or`: where it does not.
Datum Expressions::computeCondition(Operation *op, unsigned slot) {
  Datum left = evaluate(op->getOperand(0), slot), right = evaluate(op->getOperand(1), slot);
  bool isAnd = isa<AndOp>(op);
  Value decided = isAnd ? negate(left.value) : left.value;
  Value present = both(left.present, right.present ? either(decided, right.present) : Value());
  Value value = isAnd ? both(left.value, right.value) : either(left.value, right.value);
  return {value, present};
}

//===----------------------------------------------------------------------===//
// Presence
//===----------------------------------------------------------------------===//

Value Expressions::both(Value x, Value y) {
  if (!x || !y)
    return x ? x : y;
  Value sides[] = {x, y};
  unify(sides);
  return arith::AndIOp::create(f.builder(), f.loc(), sides[0], sides[1]);
}

Value Expressions::either(Value x, Value y) {
  if (!x || !y)
    return {};
  Value sides[] = {x, y};
  unify(sides);
  return arith::OrIOp::create(f.builder(), f.loc(), sides[0], sides[1]);
}

Value Expressions::negate(Value x) {
  TypedAttr all = f.builder().getBoolAttr(true);
  if (auto vector = dyn_cast<VectorType>(x.getType()))
    all = DenseElementsAttr::get(vector, Attribute(all));
  return arith::XOrIOp::create(f.builder(), f.loc(), x, arith::ConstantOp::create(f.builder(), f.loc(), all));
}

Value Expressions::choose(Value condition, Value x, Value y) {
  if (!x && !y)
    return {};
  if (!x)
    return either(condition, y);
  if (!y)
    return either(negate(condition), x);
  Value values[] = {condition, x, y};
  unify(values);
  return arith::SelectOp::create(f.builder(), f.loc(), values[0], values[1], values[2]);
}
