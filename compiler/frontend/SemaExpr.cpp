//===- SemaExpr.cpp - names, operators, subscripts --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/frontend/Sema.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include <limits>

using namespace attn::language;
using namespace attn::language::ast;
using llvm::StringRef;

Place Sema::placeOf(llvm::SMRange range) const {
  Place place(range);
  if (frame) {
    place.use = outermostUse;
    place.inlined = frame->def->name.text.str();
  }
  return place;
}

Node *Sema::check(const Expr *expr) {
  switch (expr->kind) {
  case Expr::Kind::Number:
    return checkNumber(llvm::cast<NumberExpr>(expr));
  case Expr::Kind::Literal: {
    StringRef text = llvm::cast<LiteralExpr>(expr)->text;
    if (text == "inf")
      return build.real(std::numeric_limits<double>::infinity(), placeOf(expr->range));
    return build.truth(text == "true", placeOf(expr->range));
  }
  case Expr::Kind::Axis:
    return checkAxis(llvm::cast<AxisExpr>(expr));
  case Expr::Kind::Name:
    return checkName(llvm::cast<NameExpr>(expr));
  case Expr::Kind::Paren:
    return check(llvm::cast<ParenExpr>(expr)->inner);
  case Expr::Kind::Unary:
    return checkUnary(llvm::cast<UnaryExpr>(expr));
  case Expr::Kind::Binary:
    return checkBinary(llvm::cast<BinaryExpr>(expr));
  case Expr::Kind::Compare:
    return checkChain(llvm::cast<CompareExpr>(expr));
  case Expr::Kind::Place:
    return checkPlace(llvm::cast<PlaceExpr>(expr));
  case Expr::Kind::ByName:
    return checkByName(llvm::cast<ByNameExpr>(expr));
  case Expr::Kind::Call:
    return checkCall(llvm::cast<CallExpr>(expr));
  }
  llvm_unreachable("every kind of expression is above");
}

Node *Sema::checkNumber(const NumberExpr *number) {
  Place place = placeOf(number->range);
  return number->isInteger ? build.integer(number->integer, place) : build.real(number->real, place);
}

Node *Sema::checkAxis(const AxisExpr *axis) {
  std::optional<unsigned> number = findAxis({axis->name});
  return number ? build.extent(*number, placeOf(axis->range)) : build.poison();
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

Node *Sema::checkName(const NameExpr *name) {
  if (frame && frame->params.contains(name->name))
    return checkParam(name->name);
  if (misnamed.contains(name->name))
    return build.poison();
  if (std::optional<unsigned> axis = lookUpIndex(name->name))
    return build.index(*axis, placeOf(name->range));
  auto binding = names.find(name->name);
  if (binding == names.end())
    return unknownName(name);
  if (binding->second.value)
    return binding->second.value;
  unsigned stored = *binding->second.stored;
  if (program->stored[stored].mode != Mode::Out)
    return readBare(stored, placeOf(name->range));
  error(placeOf(name->range), "the result `" + name->name + "` is read before it is assigned");
  return build.poison();
}

/// A parameter is the caller's expression, checked in the caller's scope.
Node *Sema::checkParam(StringRef name) {
  const Frame *here = frame;
  if (Node *typed = here->typed.lookup(name))
    return typed;
  frame = here->caller;
  Node *value = check(here->params.lookup(name));
  frame = here;
  return here->typed[name] = value;
}

Node *Sema::unknownName(const NameExpr *name) {
  NearestWord nearest(name->name);
  for (auto &[known, binding] : names)
    nearest.offer(known);
  for (const Axis &axis : program->axes)
    nearest.offer(axis.index);
  if (frame)
    for (const auto &param : frame->params)
      nearest.offer(param.first());
  std::string hint = nearest.question();
  if (hint.empty() && (findBuiltin(name->name) || defs.contains(name->name)))
    hint = ("; the function wants its arguments, `" + name->name + "(...)`").str();
  error(placeOf(name->range), "nothing is called `" + name->name + "` here" + hint);
  return build.poison();
}

Node *Sema::readBare(unsigned stored, const Place &place) {
  const Stored &tensor = program->stored[stored];
  llvm::SmallVector<Node *> indices;
  AxisSet seen;
  for (auto [i, factor] : llvm::enumerate(tensor.factors())) {
    if (factor.kind() != Extent::Kind::Axis) {
      error(place,
            "`" + tensor.name + "` can't be used bare: its dimension `" + program->describe(factor) +
                "` has no name; read it by place, as in `" + placeExample(stored) + "`",
            {{tensor.range, "declared here"}});
      return build.poison();
    }
    if (seen.has(factor.axis())) {
      error(place,
            "`" + tensor.name + "` can't be used bare: it has the axis " + program->axes[factor.axis()].name +
                " twice; read it by place, with an index of its own for each",
            {{tensor.range, "declared here"}});
      return build.poison();
    }
    seen |= AxisSet::of(factor.axis());
    indices.push_back(build.index(factor.axis(), place));
  }
  return build.read(stored, indices, place);
}

/// `x[b, s, 0]`: the index of each axis, 0 where a dimension has no name.
std::string Sema::placeExample(unsigned stored) const {
  const Stored &tensor = program->stored[stored];
  std::string text = tensor.name + "[";
  llvm::ListSeparator comma;
  for (const Extent &factor : tensor.factors())
    text += (StringRef(comma) + (factor.kind() == Extent::Kind::Axis ? program->axes[factor.axis()].index : "0")).str();
  return text + "]";
}

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

Node *Sema::checkUnary(const UnaryExpr *unary) {
  Node *operand = check(unary->operand);
  Place place = placeOf(unary->range);
  if (operand->op == Op::Constant && unary->op == "-" && operand->kind == ValueKind::Float)
    return build.real(-operand->real, place);
  if (operand->op == Op::Constant && unary->op == "-" && operand->kind == ValueKind::Int)
    return build.integer(-operand->integer, place);
  return build.pointwise(unary->op == "-" ? Function::Negate : Function::Not, {operand}, place);
}

Node *Sema::checkBinary(const BinaryExpr *binary) {
  Node *left = check(binary->left), *right = check(binary->right);
  Place place = placeOf(binary->range);
  StringRef op = binary->op.text;
  if (op == "and" || op == "or")
    return build.lazy(op == "and" ? Op::And : Op::Or, left, right, place);
  Function function = llvm::StringSwitch<Function>(op)
                          .Case("+", Function::Add)
                          .Case("-", Function::Sub)
                          .Case("*", Function::Mul)
                          .Case("/", Function::Div)
                          .Case("%", Function::Mod)
                          .Case("&", Function::BitAnd)
                          .Case("|", Function::BitOr)
                          .Case("^", Function::BitXor)
                          .Case("<<", Function::ShiftLeft)
                          .Default(Function::ShiftRight);
  return build.pointwise(function, {left, right}, place);
}

/// `a < b < c` is `a < b and b < c`.
Node *Sema::checkChain(const CompareExpr *chain) {
  llvm::SmallVector<Node *> operands;
  for (const Expr *operand : chain->operands)
    operands.push_back(check(operand));
  Node *all = nullptr;
  for (auto [i, op] : llvm::enumerate(chain->ops)) {
    Function function = llvm::StringSwitch<Function>(op.text)
                            .Case("<", Function::Less)
                            .Case("<=", Function::LessEqual)
                            .Case(">", Function::Greater)
                            .Case(">=", Function::GreaterEqual)
                            .Case("==", Function::Equal)
                            .Default(Function::NotEqual);
    Place place = placeOf({chain->operands[i]->range.Start, chain->operands[i + 1]->range.End});
    Node *one = build.pointwise(function, {operands[i], operands[i + 1]}, place);
    all = all ? build.lazy(Op::And, all, one, placeOf(chain->range)) : one;
  }
  return all;
}

//===----------------------------------------------------------------------===//
// Subscripts
//===----------------------------------------------------------------------===//

/// Follows parameters of defs to the name that the caller wrote.
static const Expr *callersExpr(const Expr *expr, const llvm::StringMap<const Expr *> *params) {
  auto *name = llvm::dyn_cast<NameExpr>(expr);
  if (!name || !params)
    return nullptr;
  auto found = params->find(name->name);
  return found == params->end() ? nullptr : stripped(found->second);
}

Node *Sema::checkPlace(const PlaceExpr *place) {
  llvm::SmallVector<Node *> indices;
  for (const Expr *index : place->indices)
    indices.push_back(check(index));
  const Expr *base = stripped(place->base);
  for (const Frame *at = frame; at; at = at->caller) {
    const Expr *outer = callersExpr(base, &at->params);
    if (!outer)
      break;
    base = outer;
  }
  auto *name = llvm::dyn_cast<NameExpr>(base);
  auto binding = name ? names.find(name->name) : names.end();
  if (name && binding == names.end() && !lookUpIndex(name->name))
    return unknownName(name);
  Place where = placeOf(place->range);
  if (binding != names.end() && binding->second.stored) {
    Node *value = binding->second.value;
    if (!value && program->stored[*binding->second.stored].mode == Mode::Out) {
      error(where, "the result `" + name->name + "` is read before it is assigned");
      return build.poison();
    }
    return value ? takeByPlace(*binding->second.stored, value, indices, where)
                 : readByPlace(*binding->second.stored, indices, where);
  }
  Node *value = check(place->base);
  if (value->isPoison())
    return value;
  std::string example = value->axes.empty() ? "" : ", as in `[" + program->axes[value->axes.list()[0]].name + ": i]`";
  error(where, "a computed value has no order of axes (it has " + program->describe(value->axes) +
                   "), so it can't be read by place; read it by name" + example);
  return build.poison();
}

bool Sema::checkIndices(llvm::ArrayRef<Node *> indices) {
  bool ok = true;
  for (Node *index : indices)
    ok &= build.isInteger(index, "an index");
  return ok;
}

Node *Sema::readByPlace(unsigned stored, llvm::ArrayRef<Node *> indices, const Place &place) {
  const Stored &tensor = program->stored[stored];
  size_t wanted = tensor.factors().size();
  if (wanted != indices.size()) {
    std::string form = wanted == 0 ? "it is a scalar, used without brackets"
                                   : "write one for each, as in `" + placeExample(stored) + "`";
    error(place,
          "`" + tensor.name + "` has " + llvm::Twine(wanted) + " places and this is " + llvm::Twine(indices.size()) +
              (indices.size() == 1 ? " index; " : " indices; ") + form,
          {{tensor.range, "declared here"}});
    return build.poison();
  }
  return checkIndices(indices) ? build.read(stored, indices, place) : build.poison();
}

/// A declared tensor that was assigned: its declaration still gives the order.
Node *Sema::takeByPlace(unsigned stored, Node *value, llvm::ArrayRef<Node *> indices, const Place &place) {
  const Stored &tensor = program->stored[stored];
  AxisSet declared;
  llvm::SmallVector<unsigned> axes;
  for (const Extent &factor : tensor.factors())
    if (factor.kind() == Extent::Kind::Axis) {
      declared |= AxisSet::of(factor.axis());
      axes.push_back(factor.axis());
    }
  if (value->isPoison())
    return value;
  if (declared != value->axes || axes.size() != tensor.factors().size()) {
    error(place, "`" + tensor.name + "` was assigned a value with " + program->describe(value->axes) +
                     ", so its declared order is gone; read it by name, as in `[A: i]`");
    return build.poison();
  }
  if (axes.size() != indices.size() || !checkIndices(indices))
    return axes.size() == indices.size() ? build.poison() : readByPlace(stored, indices, place);
  return build.take(value, axes, indices, place);
}

Node *Sema::checkByName(const ByNameExpr *byName) {
  Node *value = check(byName->base);
  llvm::SmallVector<unsigned> axes;
  llvm::SmallVector<Node *> indices;
  bool ok = !value->isPoison();
  AxisSet taken;
  for (auto [axis, expr] : llvm::zip(byName->axes, byName->indices)) {
    std::optional<unsigned> number = findAxis(axis);
    indices.push_back(check(expr));
    ok &= number && build.isInteger(indices.back(), "an index");
    if (!number || value->isPoison())
      continue;
    if (!value->axes.has(*number) || taken.has(*number)) {
      error(placeOf(axis.range()),
            taken.has(*number) ? "the axis " + axis.text + " is read twice"
                               : "this value has no axis " + axis.text + "; it has " + program->describe(value->axes));
      ok = false;
    }
    axes.push_back(*number);
    taken |= AxisSet::of(*number);
  }
  Place place = placeOf(byName->range);
  if (!ok || !checkNoDependence(value->axes - taken, taken, place))
    return build.poison();
  return build.take(value, axes, indices, place);
}

bool Sema::checkNoDependence(AxisSet rest, AxisSet gone, const Place &place) {
  for (unsigned axis : rest.list()) {
    AxisSet lost = program->axes[axis].dependsOn & gone;
    if (lost.empty())
      continue;
    error(place, program->axes[axis].name + " stays, and its extent depends on the index of " +
                     program->describe(lost) + ", which goes; reduce " + program->axes[axis].name + " first");
    return false;
  }
  return true;
}
