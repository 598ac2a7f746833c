//===- Builder.cpp - typed nodes from operands ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/frontend/Builder.h"
#include "compiler/frontend/Ast.h"
#include "llvm/ADT/STLExtras.h"

using namespace attn::language;

Node *Builder::make(Op op, ValueKind kind, AxisSet axes, llvm::ArrayRef<Node *> operands, const Place &place) {
  program.nodes.push_back(std::make_unique<Node>());
  Node *node = program.nodes.back().get();
  node->op = op;
  node->kind = kind;
  node->axes = axes;
  node->place = place;
  node->operands.assign(operands.begin(), operands.end());
  return node;
}

static AxisSet unionOf(llvm::ArrayRef<Node *> operands) {
  AxisSet axes;
  for (Node *operand : operands)
    axes |= operand->axes;
  return axes;
}

static bool anyPoison(llvm::ArrayRef<Node *> operands) {
  return llvm::any_of(operands, [](Node *operand) { return operand->isPoison(); });
}

/// Sets what follows from the operands: the folded number and the identity.
Node *Builder::finish(Node *node) {
  node->folded = fold(node);
  bool plain = node->op == Op::Pointwise && node->kind == ValueKind::Int && !node->is(Function::ToInt);
  node->onlyExtents = (node->op == Op::Constant && node->kind == ValueKind::Int) ||
                      (node->op == Op::Extent && !program.axes[node->axis].isRagged()) ||
                      (plain && llvm::all_of(node->operands, [](Node *operand) { return operand->onlyExtents; }));
  int64_t bits = 0;
  static_assert(sizeof(bits) == sizeof(node->real));
  std::memcpy(&bits, &node->real, sizeof(bits));
  std::vector<int64_t> key = {int64_t(node->op),
                              int64_t(node->kind),
                              node->integer,
                              bits,
                              node->axis,
                              node->pairAxis,
                              node->interleaved,
                              int64_t(node->function),
                              int64_t(node->role),
                              int64_t(node->reduction),
                              node->op == Op::Read && program.stored[node->stored].mode == Mode::InOut ? epoch : 0,
                              node->stored};
  for (unsigned axis : node->over.list())
    key.push_back(axis);
  key.push_back(-1);
  key.insert(key.end(), node->taken.begin(), node->taken.end());
  key.push_back(-1);
  key.insert(key.end(), node->renamed.begin(), node->renamed.end());
  for (Node *operand : node->operands)
    key.push_back(operand->identity);
  node->identity = identities.try_emplace(std::move(key), identities.size() + 1).first->second;
  return node;
}

Node *Builder::poison() { return make(Op::Poison, ValueKind::Float, {}, {}, {}); }

Node *Builder::integer(int64_t value, const Place &place) {
  Node *node = make(Op::Constant, ValueKind::Int, {}, {}, place);
  node->integer = value;
  return finish(node);
}

Node *Builder::real(double value, const Place &place) {
  Node *node = make(Op::Constant, ValueKind::Float, {}, {}, place);
  node->real = value;
  return finish(node);
}

Node *Builder::truth(bool value, const Place &place) {
  Node *node = make(Op::Constant, ValueKind::Bool, {}, {}, place);
  node->integer = value;
  return finish(node);
}

Node *Builder::index(unsigned axis, const Place &place) {
  Node *node = make(Op::Index, ValueKind::Int, AxisSet::of(axis) | program.axes[axis].dependsOn, {}, place);
  node->axis = axis;
  return finish(node);
}

Node *Builder::extent(unsigned axis, const Place &place) {
  Node *node = make(Op::Extent, ValueKind::Int, program.axes[axis].dependsOn, {}, place);
  node->axis = axis;
  return finish(node);
}

Node *Builder::read(unsigned stored, llvm::ArrayRef<Node *> indices, const Place &place) {
  if (anyPoison(indices))
    return poison();
  Node *node = make(Op::Read, kindOf(program.stored[stored].dtype), unionOf(indices), indices, place);
  node->stored = stored;
  return finish(node);
}

Node *Builder::take(Node *value, llvm::ArrayRef<unsigned> axes, llvm::ArrayRef<Node *> indices, const Place &place) {
  if (value->isPoison() || anyPoison(indices))
    return poison();
  AxisSet rest = value->axes;
  for (unsigned axis : axes)
    rest = rest - AxisSet::of(axis);
  llvm::SmallVector<Node *> operands{value};
  operands.append(indices.begin(), indices.end());
  Node *node = make(Op::Take, value->kind, rest | unionOf(indices), operands, place);
  node->taken.assign(axes.begin(), axes.end());
  return finish(node);
}

Node *Builder::rename(Node *value, llvm::ArrayRef<unsigned> from, llvm::ArrayRef<unsigned> to, const Place &place) {
  AxisSet axes = value->axes;
  for (unsigned axis : from)
    axes = axes - AxisSet::of(axis);
  for (unsigned axis : to)
    axes |= AxisSet::of(axis);
  Node *node = make(Op::Rename, value->kind, axes, {value}, place);
  node->taken.assign(from.begin(), from.end());
  node->renamed.assign(to.begin(), to.end());
  return finish(node);
}

Node *Builder::where(Node *value, Node *condition, const Place &place) {
  if (anyPoison({value, condition}))
    return poison();
  return finish(make(Op::Where, value->kind, value->axes | condition->axes, {value, condition}, place));
}

Node *Builder::lazy(Op op, Node *left, Node *right, const Place &place) {
  if (anyPoison({left, right}))
    return poison();
  llvm::StringRef what = op == Op::And ? "`and`" : "`or`";
  bool leftOk = isCondition(left, what);
  if (!isCondition(right, what) || !leftOk)
    return poison();
  return finish(make(op, ValueKind::Bool, left->axes | right->axes, {left, right}, place));
}

Node *Builder::select(Node *condition, Node *onTrue, Node *onFalse, const Place &place) {
  if (anyPoison({condition, onTrue, onFalse}) || !isCondition(condition, "`select`, as its first argument,"))
    return poison();
  llvm::SmallVector<Node *, 3> values{onTrue, onFalse};
  bool bothConditions = onTrue->kind == ValueKind::Bool && onFalse->kind == ValueKind::Bool;
  if (!bothConditions && !joinKinds(values, place))
    return poison();
  AxisSet axes = condition->axes | unionOf(values);
  return finish(make(Op::Select, values[0]->kind, axes, {condition, values[0], values[1]}, place));
}

Node *Builder::contract(Node *left, Node *right, AxisSet over, ContractRole role, const Place &place) {
  Node *node = make(Op::Contract, ValueKind::Float, (left->axes | right->axes) - over, {left, right}, place);
  node->over = over;
  node->role = role;
  return finish(node);
}

Node *Builder::reduce(Reduction reduction, Node *value, AxisSet over, const Place &place) {
  Node *node = make(Op::Reduce, ValueKind::Float, value->axes - over, {value}, place);
  node->over = over;
  node->reduction = reduction;
  return finish(node);
}

Node *Builder::normalise(Op op, Node *value, Node *sink, AxisSet over, const Place &place) {
  Node *node = make(op, ValueKind::Float, op == Op::Softmax ? value->axes : value->axes - over, {value}, place);
  if (sink)
    node->operands.push_back(sink);
  node->over = over;
  return finish(node);
}

Node *Builder::rope(Node *value, Node *cosine, Node *sine, unsigned axis, unsigned pairAxis, bool interleaved,
                    const Place &place) {
  if (anyPoison({value, cosine, sine}))
    return poison();
  AxisSet axes = (value->axes | cosine->axes | sine->axes) - AxisSet::of(pairAxis);
  Node *node = make(Op::Rope, ValueKind::Float, axes, {value, cosine, sine}, place);
  node->axis = axis;
  node->pairAxis = pairAxis;
  node->interleaved = interleaved;
  return finish(node);
}

//===----------------------------------------------------------------------===//
// Operators and functions
//===----------------------------------------------------------------------===//

static bool isComparison(Function function) { return function >= Function::Less && function <= Function::NotEqual; }

static bool isBitwise(Function function) { return function >= Function::BitAnd && function <= Function::ShiftRight; }

/// Exponentials and the like: floats whatever comes in.
static bool isTranscendental(Function function) { return function >= Function::Exp && function <= Function::Cos; }

Node *Builder::pointwise(Function function, llvm::ArrayRef<Node *> given, const Place &place) {
  if (anyPoison(given))
    return poison();
  llvm::SmallVector<Node *, 3> operands(given);
  auto node = [&](ValueKind kind) {
    Node *made = make(Op::Pointwise, kind, unionOf(operands), operands, place);
    made->function = function;
    return finish(made);
  };
  if (function == Function::Not)
    return isCondition(operands[0], "`not`") ? node(ValueKind::Bool) : poison();
  if (isComparison(function))
    return comparison(function, operands[0], operands[1], place);
  if (function == Function::Div)
    return divide(operands[0], operands[1], place);
  if (!llvm::all_of(operands, [&](Node *operand) { return isNumber(operand); }))
    return poison();
  if (isBitwise(function) || function == Function::Random) {
    llvm::StringRef what = function == Function::Random ? "`random`" : "an operator on bits";
    bool allIntegers = llvm::all_of(operands, [&](Node *operand) { return isInteger(operand, what); });
    return !allIntegers ? poison() : node(function == Function::Random ? ValueKind::Float : ValueKind::Int);
  }
  if (function == Function::ToInt)
    return operands[0]->kind == ValueKind::Int ? operands[0] : node(ValueKind::Int);
  if (isTranscendental(function) || function == Function::Floor || function == Function::Round) {
    operands[0] = toFloat(operands[0], place);
    return operands[0]->isPoison() ? poison() : node(ValueKind::Float);
  }
  return joinKinds(operands, place) ? node(operands[0]->kind) : poison();
}

Node *Builder::comparison(Function function, Node *left, Node *right, const Place &place) {
  bool equality = function == Function::Equal || function == Function::NotEqual;
  llvm::SmallVector<Node *, 3> operands{left, right};
  bool bothConditions = left->kind == ValueKind::Bool && right->kind == ValueKind::Bool;
  if (!(equality && bothConditions) && !joinKinds(operands, place))
    return poison();
  Node *node = make(Op::Pointwise, ValueKind::Bool, unionOf(operands), operands, place);
  node->function = function;
  return finish(node);
}

Node *Builder::divide(Node *left, Node *right, const Place &place) {
  llvm::SmallVector<Node *, 3> operands{left, right};
  if (!joinKinds(operands, place))
    return poison();
  bool integers = operands[0]->kind == ValueKind::Int;
  Node *node = make(Op::Pointwise, operands[0]->kind, unionOf(operands), operands, place);
  node->function = integers ? Function::IntDiv : Function::Div;
  bool literal = integers && left->op == Op::Constant && right->op == Op::Constant;
  if (literal && right->integer != 0 && left->integer % right->integer != 0)
    literalQuotients.push_back(node);
  return finish(node);
}

bool Builder::joinKinds(llvm::SmallVectorImpl<Node *> &operands, const Place &place) {
  if (!llvm::all_of(operands, [&](Node *operand) { return isNumber(operand); }))
    return false;
  if (llvm::none_of(operands, [](Node *operand) { return operand->kind == ValueKind::Float; }))
    return true;
  for (Node *&operand : operands)
    operand = toFloat(operand, place);
  return !anyPoison(operands);
}

Node *Builder::toFloat(Node *value, const Place &place) {
  if (value->isPoison() || !isNumber(value) || value->kind == ValueKind::Float)
    return value->isPoison() || value->kind != ValueKind::Bool ? value : poison();
  return isExact(value) ? intToFloat(value) : poison();
}

Node *Builder::intToFloat(Node *value) {
  if (value->op == Op::Constant)
    return real(static_cast<double>(value->integer), value->place);
  return finish(make(Op::ToFloat, ValueKind::Float, value->axes, {value}, value->place));
}

//===----------------------------------------------------------------------===//
// Kinds
//===----------------------------------------------------------------------===//

bool Builder::isNumber(Node *value) {
  if (value->isPoison() || value->kind != ValueKind::Bool)
    return !value->isPoison();
  diagnostics.error(value->place,
                    "a condition is not a number; write `select(condition, x, y)`, or put it behind `where`");
  return false;
}

bool Builder::isCondition(Node *value, llvm::StringRef what) {
  if (value->isPoison() || value->kind == ValueKind::Bool)
    return !value->isPoison();
  diagnostics.error(value->place, what + " takes a condition, and this is a number; compare it, as in `x != 0`");
  return false;
}

bool Builder::isInteger(Node *value, llvm::StringRef what) {
  if (value->isPoison() || value->kind == ValueKind::Int)
    return !value->isPoison();
  if (value->kind == ValueKind::Float)
    diagnostics.error(value->place, what + " takes integers, and this is a float; write `int(...)` around it");
  else
    diagnostics.error(value->place, what + " takes integers, and this is a condition; write `select(condition, 1, 0)`");
  return false;
}

bool Builder::isExact(Node *value) {
  llvm::SmallVector<Node *> open{value};
  bool exact = true;
  while (!open.empty()) {
    Node *node = open.pop_back_val();
    if (!exactlyRequired.insert(node).second)
      continue;
    if (node->is(Function::IntDiv))
      exact &= isExactQuotient(node);
    else if (node->is(Function::Add) || node->is(Function::Sub) || node->is(Function::Mul) ||
             node->is(Function::Negate))
      open.append(node->operands.begin(), node->operands.end());
  }
  return exact;
}

/// A quotient of extents must divide, which is checked per call when the text does not decide it.
bool Builder::isExactQuotient(Node *quotient) {
  Node *left = quotient->operands[0], *right = quotient->operands[1];
  bool decided = left->folded && right->folded;
  if (right->folded == 1 || (decided && *right->folded != 0 && *left->folded % *right->folded == 0))
    return true;
  std::string text = ast::textOf(quotient->place.text).str();
  if (!decided && left->onlyExtents && right->onlyExtents) {
    Node *rest = pointwise(Function::Mod, {left, right}, quotient->place);
    Node *divides = pointwise(Function::Equal, {rest, integer(0, quotient->place)}, quotient->place);
    program.requirements.push_back({divides, "`" + text + "` must divide"});
    return true;
  }
  llvm::erase(literalQuotients, quotient);
  std::string advice = "make one side a float, as in `x / 8.0`";
  if (right->op == Op::Constant)
    advice = ("write `" + ast::textOf(left->place.text) + " / " + llvm::Twine(right->integer) + ".0`").str();
  diagnostics.error(quotient->place,
                    "`" + text + "` is a quotient of integers and floors, but a float is wanted here; " + advice);
  return false;
}

void Builder::warnOfLiteralQuotients() {
  for (Node *quotient : literalQuotients)
    diagnostics.warning(quotient->place, "`" + ast::textOf(quotient->place.text) +
                                             "` is a quotient of integers and gives " +
                                             llvm::Twine(quotient->folded.value_or(0)) + "; write `" +
                                             ast::textOf(quotient->operands[0]->place.text) + ".0 / " +
                                             ast::textOf(quotient->operands[1]->place.text) + "` for a fraction");
  literalQuotients.clear();
}
