//===- SemaRope.cpp - rotations ---------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The three forms of `rope`, all brought to cosines and sines along an axis of pairs.
//===----------------------------------------------------------------------===//
#include "compiler/frontend/Sema.h"
#include <cmath>

using namespace attn::language;
using namespace attn::language::ast;
using llvm::StringRef;

Node *Sema::checkRope(const CallExpr *call) {
  Place place = placeOf(call->range);
  Node *value = build.toFloat(check(call->args[0]), place);
  std::optional<AxisSet> over = checkOver(call);
  std::optional<bool> interleaved = arePairsInterleaved(call);
  if (value->isPoison() || !over || !interleaved || !checkHasAxes(value, *over, "the value", place))
    return build.poison();
  if (over->size() != 1) {
    error(place, "`rope` turns pairs along one axis; name one after `over:`");
    return build.poison();
  }
  unsigned axis = over->list()[0];
  bool byPosition = call->find("at") || call->find("base");
  std::optional<Rotation> rotation = byPosition ? rotationByPosition(call, axis) : rotationByAngle(call, value, axis);
  if (!rotation)
    return build.poison();
  if (rotation->cosine->axes.has(axis) || rotation->sine->axes.has(axis)) {
    error(place, "the angle has the axis " + program->axes[axis].name +
                     ", along which `rope` turns; pairs need an axis of their own");
    return build.poison();
  }
  return build.rope(value, rotation->cosine, rotation->sine, axis, rotation->pairAxis, *interleaved, place);
}

std::optional<bool> Sema::arePairsInterleaved(const CallExpr *call) {
  const Option *pairs = call->find("pairs");
  if (!pairs)
    return false;
  auto *name = llvm::dyn_cast<NameExpr>(pairs->value);
  if (name && (name->name == "half" || name->name == "interleaved"))
    return name->name == "interleaved";
  error(placeOf(pairs->range), "`pairs:` is `half` or `interleaved`");
  return std::nullopt;
}

std::optional<Sema::Rotation> Sema::rotationByAngle(const CallExpr *call, Node *value, unsigned axis) {
  Place place = placeOf(call->range);
  const Option *angle = call->find("angle"), *cosine = call->find("cos"), *sine = call->find("sin");
  if ((angle != nullptr) == (cosine || sine) || (cosine != nullptr) != (sine != nullptr) || call->find("dims")) {
    error(place, "`rope` takes `at:` and `base:` (and `dims:`), or `angle:`, or `cos:` and `sin:`");
    return std::nullopt;
  }
  Rotation rotation;
  if (angle) {
    Node *turn = withinATurn(build.toFloat(check(angle->value), placeOf(angle->range)), placeOf(angle->range));
    rotation.cosine = build.pointwise(Function::Cos, {turn}, placeOf(angle->range));
    rotation.sine = build.pointwise(Function::Sin, {turn}, placeOf(angle->range));
  } else {
    rotation.cosine = build.toFloat(check(cosine->value), placeOf(cosine->range));
    rotation.sine = build.toFloat(check(sine->value), placeOf(sine->range));
  }
  if (rotation.cosine->isPoison() || rotation.sine->isPoison())
    return std::nullopt;
  AxisSet own = (rotation.cosine->axes | rotation.sine->axes) - value->axes;
  if (own.size() != 1 || !rotation.cosine->axes.contains(own) || !rotation.sine->axes.contains(own)) {
    error(place, "the angle needs one axis of its own, the pairs, and adds " + program->describe(own) +
                     " to the value's " + program->describe(value->axes));
    return std::nullopt;
  }
  rotation.pairAxis = own.list()[0];
  Node *pairs =
      build.pointwise(Function::Mul, {build.integer(2, place), build.extent(rotation.pairAxis, place)}, place);
  Node *fits = build.pointwise(Function::LessEqual, {pairs, build.extent(axis, place)}, place);
  const std::string &pairName = program->axes[rotation.pairAxis].name, &name = program->axes[axis].name;
  if (fits->folded == 0) {
    error(place, llvm::Twine(*pairs->folded / 2) + " pairs along " + pairName + " do not fit in " + name +
                     ", which is " + llvm::Twine(*program->axes[axis].constant));
    return std::nullopt;
  }
  if (!fits->folded)
    program->requirements.push_back({fits, "2 * " + pairName + " <= " + name + ", so that the pairs fit"});
  return rotation;
}

/// The number of elements that turn, as an extent.
std::optional<Extent> Sema::rotatedWidth(const CallExpr *call, unsigned axis) {
  const Option *dims = call->find("dims");
  if (!dims)
    return Extent::axis(axis);
  std::optional<Extent> width = extentOf(dims->value, "`dims:`");
  if (!width)
    return std::nullopt;
  std::optional<int64_t> number = program->expand(*width).getConstant(), limit = program->axes[axis].constant;
  if (number && (*number < 0 || *number % 2 != 0 || (limit && *number > *limit))) {
    error(placeOf(dims->range),
          "`dims:` is even and at most " + program->axes[axis].name + ", and this is " + llvm::Twine(*number));
    return std::nullopt;
  }
  return width;
}

std::optional<Sema::Rotation> Sema::rotationByPosition(const CallExpr *call, unsigned axis) {
  Place place = placeOf(call->range);
  const Option *at = call->find("at"), *base = call->find("base");
  if (!at || !base || call->find("angle") || call->find("cos") || call->find("sin")) {
    error(place, "`rope` takes `at:` and `base:` (and `dims:`), or `angle:`, or `cos:` and `sin:`");
    return std::nullopt;
  }
  Node *position = check(at->value), *baseValue = build.toFloat(check(base->value), placeOf(base->range));
  std::optional<Extent> width = rotatedWidth(call, axis);
  if (position->isPoison() || baseValue->isPoison() || !width || !build.isNumber(position))
    return std::nullopt;
  if (!baseValue->axes.empty()) {
    error(baseValue->place, "`base:` is one number, and this has " + program->describe(baseValue->axes));
    return std::nullopt;
  }
  std::optional<int64_t> half = program->axes[axis].constant;
  if (!call->find("dims") && half && *half % 2 != 0) {
    error(place, program->axes[axis].name + " is " + llvm::Twine(*half) +
                     ", which has no whole number of pairs; say how many turn with `dims:`");
    return std::nullopt;
  }
  Rotation rotation;
  rotation.pairAxis = pairAxisFor(axis, *width, call->range);
  Node *twice =
      build.pointwise(Function::Mul, {build.integer(2, place), build.extent(rotation.pairAxis, place)}, place);
  Node *turn = withinATurn(rotationAngle(position, baseValue, twice, rotation.pairAxis, place), place);
  rotation.cosine = build.pointwise(Function::Cos, {turn}, place);
  rotation.sine = build.pointwise(Function::Sin, {turn}, place);
  return rotation;
}

/// The same angle within half a turn of 0, and computed in f64: what f32 keeps of it does not depend on the position.
Node *Sema::withinATurn(Node *angle, const Place &place) {
  constexpr double turn = 6.283185307179586;
  Node *turns = build.pointwise(Function::Mul, {angle, build.real(1 / turn, place)}, place);
  Node *whole = build.pointwise(Function::Round, {turns}, place);
  Node *rest = build.pointwise(Function::Mul, {whole, build.real(turn, place)}, place);
  Node *reduced = build.pointwise(Function::Sub, {angle, rest}, place);
  reduced->wide = !reduced->isPoison();
  return reduced;
}

/// position * base ^ (-2 i / width), with the power as exp(i * (-2 log base / width)).
Node *Sema::rotationAngle(Node *position, Node *base, Node *width, unsigned pairAxis, const Place &place) {
  if (position->kind == ValueKind::Int)
    position = build.intToFloat(position);
  Node *perPair = nullptr;
  if (base->op == Op::Constant && width->folded) {
    perPair = build.real(-2 * std::log(base->real) / *width->folded, place);
  } else {
    // The logarithm of a number is taken here; that of an argument is one of f32.
    Node *rate = base->op == Op::Constant ? build.real(-2 * std::log(base->real), place)
                                          : build.pointwise(Function::Mul,
                                                            {build.real(-2, place),
                                                             build.pointwise(Function::Log, {base}, place)},
                                                            place);
    perPair = build.pointwise(Function::Div, {rate, width}, place);
  }
  Node *exponent = build.pointwise(Function::Mul, {build.index(pairAxis, place), perPair}, place);
  Node *frequency = build.pointwise(Function::Exp, {exponent}, place);
  return build.pointwise(Function::Mul, {position, frequency}, place);
}

/// The internal axis of pairs for this width; one for all rotations of one width.
unsigned Sema::pairAxisFor(unsigned axis, const Extent &width, llvm::SMRange where) {
  Extent pairs = program->expand(Extent::binary(Extent::Kind::Div, width, Extent::constant(2)));
  for (auto [i, known] : llvm::enumerate(program->axes))
    if (known.isInternal && *known.extent == pairs)
      return i;
  Axis made;
  unsigned count = llvm::count_if(program->axes, [](const Axis &known) { return known.isInternal; });
  made.name = program->axes[axis].name + "_pairs" + (count ? std::to_string(count + 1) : "");
  made.firstMention = where;
  made.isInternal = true;
  made.extent = pairs;
  made.constant = pairs.getConstant();
  program->axisOrder.push_back(program->axes.size());
  program->axes.push_back(std::move(made));
  return program->axes.size() - 1;
}
