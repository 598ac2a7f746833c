//===- Extents.cpp - expressions over axes and dimensions -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/frontend/Extents.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/CheckedArithmetic.h"

using namespace attn::language;

Extent Extent::constant(int64_t value) {
  return Extent(std::make_shared<Node>(Node{Kind::Constant, value, 0, {}, {}}));
}
Extent Extent::axis(unsigned axis) { return Extent(std::make_shared<Node>(Node{Kind::Axis, axis, 0, {}, {}})); }
Extent Extent::dim(unsigned arg, unsigned dim) {
  return Extent(std::make_shared<Node>(Node{Kind::Dim, arg, dim, {}, {}}));
}

/// Nothing when the operation overflows, divides by zero or does not divide.
static std::optional<int64_t> fold(Extent::Kind kind, int64_t a, int64_t b) {
  switch (kind) {
  case Extent::Kind::Add:
    return llvm::checkedAdd(a, b);
  case Extent::Kind::Sub:
    return llvm::checkedSub(a, b);
  case Extent::Kind::Mul:
    return llvm::checkedMul(a, b);
  case Extent::Kind::Div:
    if (b == 0 || b == -1 || a % b != 0)
      return b == -1 ? llvm::checkedSub<int64_t>(0, a) : std::nullopt;
    return a / b;
  case Extent::Kind::Mod:
    if (b <= 0)
      return std::nullopt;
    return ((a % b) + b) % b;
  default:
    return std::nullopt;
  }
}

Extent Extent::binary(Kind kind, Extent a, Extent b) {
  std::optional<int64_t> left = a.getConstant(), right = b.getConstant();
  if (left && right)
    if (std::optional<int64_t> value = fold(kind, *left, *right))
      return constant(*value);
  if (kind == Kind::Mul && (left == 0 || right == 0))
    return constant(0);
  bool additive = kind == Kind::Add || kind == Kind::Sub;
  if (right == (additive ? 0 : 1) && kind != Kind::Mod)
    return a;
  if ((left == 0 && kind == Kind::Add) || (left == 1 && kind == Kind::Mul))
    return b;
  return Extent(std::make_shared<Node>(Node{kind, 0, 0, a.node, b.node}));
}

std::optional<int64_t> Extent::getConstant() const {
  return kind() == Kind::Constant ? std::optional<int64_t>(value()) : std::nullopt;
}

unsigned Extent::countOf(unsigned wanted) const {
  unsigned count = 0;
  visitAxes([&](unsigned axis) { count += axis == wanted; });
  return count;
}

void Extent::visitAxes(llvm::function_ref<void(unsigned)> visit) const {
  if (kind() == Kind::Axis)
    visit(axis());
  if (!isBinary())
    return;
  lhs().visitAxes(visit);
  rhs().visitAxes(visit);
}

Extent Extent::substitute(llvm::function_ref<std::optional<Extent>(unsigned)> with) const {
  if (isBinary())
    return binary(kind(), lhs().substitute(with), rhs().substitute(with));
  if (kind() != Kind::Axis)
    return *this;
  std::optional<Extent> replacement = with(axis());
  return replacement ? *replacement : *this;
}

bool Extent::operator==(const Extent &other) const {
  if (node == other.node)
    return true;
  if (kind() != other.kind() || value() != other.value() || node->dim != other.node->dim)
    return false;
  return !isBinary() || (lhs() == other.lhs() && rhs() == other.rhs());
}

std::string Extent::str(llvm::function_ref<std::string(unsigned)> axisName,
                        llvm::function_ref<std::string(unsigned)> argName, int strength) const {
  switch (kind()) {
  case Kind::Constant:
    return std::to_string(value());
  case Kind::Axis:
    return axisName(axis());
  case Kind::Dim:
    return argName(arg()) + "." + std::to_string(dim());
  default:
    break;
  }
  bool sum = kind() == Kind::Add || kind() == Kind::Sub;
  const char *sign = kind() == Kind::Add   ? " + "
                     : kind() == Kind::Sub ? " - "
                     : kind() == Kind::Mul ? " * "
                     : kind() == Kind::Div ? " / "
                                           : " % ";
  std::string text = lhs().str(axisName, argName, sum ? 0 : 1) + sign + rhs().str(axisName, argName, sum ? 1 : 2);
  return strength > (sum ? 0 : 1) ? "(" + text + ")" : text;
}

llvm::Error attn::language::checkConstants(const Extent &extent) {
  if (!extent.isBinary())
    return llvm::Error::success();
  for (const Extent &side : {extent.lhs(), extent.rhs()})
    if (llvm::Error error = checkConstants(side))
      return error;
  std::optional<int64_t> a = extent.lhs().getConstant(), b = extent.rhs().getConstant();
  if (!a || !b)
    return llvm::Error::success();
  auto refuse = [](const llvm::Twine &why) { return llvm::createStringError(llvm::inconvertibleErrorCode(), why); };
  if (extent.kind() == Extent::Kind::Div && *b != 0)
    return refuse(llvm::Twine(*a) + " is not divisible by " + llvm::Twine(*b));
  if (*b == 0 || extent.kind() == Extent::Kind::Mod)
    return refuse("division by " + llvm::Twine(*b));
  return refuse("the extent does not fit in 64 bits");
}
