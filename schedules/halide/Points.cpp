//===- Points.cpp - a plan's expressions at points ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "schedules/halide/Points.h"

#include "schedules/halide/Scalars.h"

using namespace attn;
using namespace Halide;

StageInputs::StageInputs(const StagePlan &plan) {
  for (size_t i = 0; i < plan.tensors.size(); ++i) {
    const PlanTensor &tensor = plan.tensors[i];
    tensors.emplace_back(memoryType(tensor.element), int(tensor.factors.size()), "t" + std::to_string(i) + "_" + tensor.name);
    if (!tensor.factors.empty()) // Any strides.
      tensors.back().dim(0).set_stride(Expr());
  }
  for (size_t i = 0; i < plan.scalars.size(); ++i) {
    scalars.emplace_back("n" + std::to_string(i));
    known.push_back(plan.scalars[i].known < largestExtent ? plan.scalars[i].known : -1);
  }
}

// Presence: undefined is "always".
static Expr both(const Expr &x, const Expr &y) { return !x.defined() ? y : !y.defined() ? x : x && y; }
static Expr either(const Expr &x, const Expr &y) { return x.defined() && y.defined() ? x || y : Expr(); }

static Expr constant(const PlanNode &node) {
  switch (node.kind) {
  case PlanKind::F32:
    return Expr(float(node.value));
  case PlanKind::F64:
    return Expr(node.value);
  case PlanKind::I64:
    return Internal::make_const(Int(64), node.integer);
  case PlanKind::Bool:
    return Internal::make_bool(node.integer != 0);
  }
  return Expr();
}

Point Points::at(int64_t node) {
  auto found = known.find(node);
  if (found == known.end())
    found = known.emplace(node, compute(plan.nodes[node])).first;
  return found->second;
}

Expr Points::orZero(int64_t node) {
  Point point = at(node);
  return point.present.defined() ? select(point.present, point.value, 0.0f) : point.value;
}

Expr Points::holds(int64_t node) {
  Point point = at(node);
  return both(point.value, point.present);
}

Expr Points::scalar(const PlanNode &node) const {
  Expr bits = inputs.scalars[node.number];
  const PlanScalar &scalar = plan.scalars[node.number];
  if (inputs.known[node.number] >= 0)
    return Internal::make_const(Int(64), inputs.known[node.number]);
  if (scalar.number != PlanNumber::Argument)
    return bits;
  switch (scalar.element) {
  case PlanElement::F32:
    return reinterpret<float>(Halide::cast<uint32_t>(bits));
  case PlanElement::I64:
    return bits;
  default:
    return widen(Halide::cast(memoryType(scalar.element), bits), scalar.element, plan.part == PlanPart::Device);
  }
}

Point Points::compute(const PlanNode &node) {
  if (node.op == "index")
    return {Halide::cast<int64_t>(axes.at(node.axis)), Expr()};
  if (node.op == "scalar")
    return {scalar(node), Expr()};
  if (node.op == "constant")
    return {constant(node), Expr()};
  if (node.op == "read")
    return read(node);
  auto gave = given.find({node.op, node.number});
  if (gave != given.end())
    return {gave->second(*this), Expr()};
  if (node.op == "where" || node.op == "lazy_select" || node.op == "and" || node.op == "or")
    return logic(node);
  if (node.op == "rope")
    return rotation(node);
  std::vector<Expr> operands;
  Expr present;
  for (int64_t input : node.inputs) {
    Point point = at(input);
    operands.push_back(point.value);
    present = both(present, point.present);
  }
  return {scalarOp(node.op, node.kind, operands), present};
}

Point Points::logic(const PlanNode &node) {
  Point a = at(node.inputs[0]), b = at(node.inputs[1]);
  if (node.op == "where")
    return {a.value, both(a.present, both(b.value, b.present))};
  if (node.op == "lazy_select") {
    Point c = at(node.inputs[2]);
    Expr chosen;
    if (b.present.defined() || c.present.defined()) {
      Expr yes = b.present.defined() ? b.present : Internal::const_true();
      Expr no = c.present.defined() ? c.present : Internal::const_true();
      chosen = select(a.value, yes, no);
    }
    return {select(a.value, b.value, c.value), both(a.present, chosen)};
  }
  // The right side counts only where the left one does not decide.
  bool isAnd = node.op == "and";
  Expr decided = isAnd ? !a.value : a.value;
  Expr present = both(a.present, b.present.defined() ? either(decided, b.present) : Expr());
  return {isAnd ? a.value && b.value : a.value || b.value, present};
}

std::vector<Expr> Points::place(const std::vector<int64_t> &inputs, Expr &present) {
  size_t rank = inputs.size() / 2;
  std::vector<Expr> place;
  for (size_t d = 0; d < rank; ++d) {
    const PlanNode &index = plan.nodes[inputs[d]];
    int64_t limit = inputs[rank + d];
    if (limit < 0 && index.op == "index") { // Stays affine.
      place.push_back(axes.at(index.axis));
      continue;
    }
    Point at = this->at(inputs[d]);
    present = both(present, at.present);
    Expr position = at.value;
    if (limit >= 0) {
      Expr end = this->at(limit).value;
      present = both(present, position >= 0 && position < end);
      position = max(min(position, end - 1), Halide::cast<int64_t>(0));
    }
    place.push_back(Halide::cast<int32_t>(position));
  }
  std::reverse(place.begin(), place.end()); // Halide counts from the innermost dimension.
  return place;
}

Point Points::read(const PlanNode &node) {
  const PlanTensor &tensor = plan.tensors[node.number];
  Expr present, stored = inputs.tensors[node.number](place(node.inputs, present));
  return {widen(stored, tensor.element, plan.part == PlanPart::Device), present};
}

/// x1 cos - x2 sin and x2 cos + x1 sin, each element with its partner; those behind the pairs stay (rope_c1 to rope_c3).
Point Points::rotation(const PlanNode &node) {
  Expr e = axes.at(node.axis), pairs = inputs.extent(node.number);
  bool isHalf = node.integer == 0;
  Expr isFirst = isHalf ? e < pairs : e % 2 == 0, turns = e < 2 * pairs;
  Expr partner = isHalf ? select(isFirst, e + pairs, e - pairs) : select(isFirst, e + 1, e - 1);
  Expr pair = isHalf ? select(isFirst, e, e - pairs) : e / 2;
  auto elsewhere = [&](const std::string &axis, const Expr &index, int64_t input) {
    Points points(*this);
    points.known.clear();
    points.bind(axis, index);
    return points.at(input);
  };
  Point own = at(node.inputs[0]), other = elsewhere(node.axis, select(turns, partner, e), node.inputs[0]);
  // Elements that do not turn have no angle.
  const std::string &pairAxis = plan.scalars[node.number].axis;
  Expr angle = max(min(pair, pairs - 1), 0);
  Point cosine = elsewhere(pairAxis, angle, node.inputs[1]), sine = elsewhere(pairAxis, angle, node.inputs[2]);
  Expr signedSine = select(isFirst, -sine.value, sine.value);
  Expr turned = other.value * signedSine + own.value * cosine.value;
  Expr hasAngle = both(cosine.present, sine.present);
  Expr present = both(both(own.present, other.present), hasAngle.defined() ? !turns || hasAngle : hasAngle);
  return {select(turns, turned, own.value), present};
}

/// Whether the node is a sum that i32 can hold: at most four indices, extents and small constants, one of which may be
/// anything else, since that is saturated far beyond what the others reach.
bool Points::isShortSum(int64_t number, int &terms, int &others) const {
  const PlanNode &node = plan.nodes[number];
  if (node.op == "addi" || node.op == "subi")
    return isShortSum(node.inputs[0], terms, others) && isShortSum(node.inputs[1], terms, others);
  bool isSmall = node.op == "index" || (node.op == "constant" && std::abs(node.integer) < largestExtent) ||
                 (node.op == "scalar" && plan.scalars[node.number].number != PlanNumber::Argument);
  others += !isSmall;
  return ++terms <= 4 && others <= 1;
}

Expr Points::bound(int64_t number) {
  int terms = 0, others = 0;
  if (isShortSum(number, terms, others))
    return shortSum(number);
  return saturated(number);
}

Expr Points::shortSum(int64_t number) {
  const PlanNode &node = plan.nodes[number];
  if (node.op == "addi")
    return shortSum(node.inputs[0]) + shortSum(node.inputs[1]);
  if (node.op == "subi")
    return shortSum(node.inputs[0]) - shortSum(node.inputs[1]);
  if (node.op == "index")
    return axes.at(node.axis);
  if (node.op == "scalar" && plan.scalars[node.number].number != PlanNumber::Argument)
    return inputs.extent(node.number);
  return saturated(number);
}

Expr Points::saturated(int64_t number) {
  Expr limit = Internal::make_const(Int(64), int64_t(1) << 30);
  return Halide::cast<int32_t>(max(min(at(number).value, limit), -limit));
}
