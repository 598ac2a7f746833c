//===- SolveExtents.cpp - how each extent is found --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Facts come first, so that what the text fixes is a constant; then dimensions that are one
// axis alone, then products. Each round uses what the last one found.
//===----------------------------------------------------------------------===//
#include "compiler/frontend/Extents.h"
#include "llvm/ADT/STLExtras.h"

using namespace attn::language;

/// Degree of `expr` in `axis`: 0, 1, or nothing when it is neither.
static std::optional<unsigned> degreeIn(unsigned axis, const Extent &expr) {
  if (!expr.isBinary())
    return expr.isAxis(axis) ? 1 : 0;
  std::optional<unsigned> left = degreeIn(axis, expr.lhs()), right = degreeIn(axis, expr.rhs());
  if (!left || !right)
    return std::nullopt;
  switch (expr.kind()) {
  case Extent::Kind::Add:
  case Extent::Kind::Sub:
    return std::max(*left, *right);
  case Extent::Kind::Mul:
    return *left + *right <= 1 ? std::optional<unsigned>(*left + *right) : std::nullopt;
  default:
    return *left + *right == 0 ? std::optional<unsigned>(0) : std::nullopt;
  }
}

/// The axis stands in several places: value = f0 + axis * (f1 - f0).
static std::optional<Extent> solveLinear(unsigned axis, const Extent &expr, const Extent &value) {
  if (degreeIn(axis, expr) != 1u)
    return std::nullopt;
  auto at = [&](int64_t number) {
    return expr.substitute([&](unsigned other) -> std::optional<Extent> {
      return other == axis ? std::optional<Extent>(Extent::constant(number)) : std::nullopt;
    });
  };
  Extent f0 = at(0), slope = Extent::binary(Extent::Kind::Sub, at(1), f0);
  if (slope.getConstant() == 0)
    return std::nullopt;
  return Extent::binary(Extent::Kind::Div, Extent::binary(Extent::Kind::Sub, value, f0), slope);
}

std::optional<Extent> attn::language::solveFor(unsigned axis, const Extent &expr, const Extent &value) {
  using Kind = Extent::Kind;
  if (expr.isAxis(axis))
    return value;
  unsigned count = expr.countOf(axis);
  if (count == 0)
    return std::nullopt;
  if (count > 1)
    return solveLinear(axis, expr, value);
  bool onLeft = expr.lhs().countOf(axis) == 1;
  Extent side = onLeft ? expr.lhs() : expr.rhs(), other = onLeft ? expr.rhs() : expr.lhs();
  switch (expr.kind()) {
  case Kind::Add:
    return solveFor(axis, side, Extent::binary(Kind::Sub, value, other));
  case Kind::Sub:
    return solveFor(axis, side,
                    onLeft ? Extent::binary(Kind::Add, value, other) : Extent::binary(Kind::Sub, other, value));
  case Kind::Mul:
    if (other.getConstant() == 0)
      return std::nullopt;
    return solveFor(axis, side, Extent::binary(Kind::Div, value, other));
  case Kind::Div:
    return solveFor(axis, side,
                    onLeft ? Extent::binary(Kind::Mul, value, other) : Extent::binary(Kind::Div, other, value));
  default:
    return std::nullopt;
  }
}

namespace {
class Solver {
public:
  explicit Solver(const ExtentProblem &problem)
      : problem(problem), known(problem.axes, false), used(problem.facts.size(), false) {}

  ExtentSolution run() {
    do
      while (useFact())
        ;
    while (useDimension(/*alone=*/true) || useDimension(/*alone=*/false));
    for (auto [fact, isUsed] : llvm::zip(problem.facts, used))
      if (!isUsed)
        solution.checks.push_back(fact);
    for (unsigned axis = 0; axis < problem.axes; ++axis)
      if (!known[axis] && !problem.ragged[axis])
        solution.unsolved.push_back(axis);
    return std::move(solution);
  }

private:
  bool define(unsigned axis, Extent extent) {
    known[axis] = true;
    solution.definitions.push_back({axis, extent});
    return true;
  }

  /// The only axis of `expr` that is not known, if there is exactly one.
  std::optional<unsigned> onlyUnknown(const Extent &expr) const {
    std::optional<unsigned> found;
    bool several = false;
    expr.visitAxes([&](unsigned axis) {
      if (known[axis])
        return;
      several |= found && *found != axis;
      found = axis;
    });
    return several ? std::nullopt : found;
  }
  bool isKnown(const Extent &expr) const {
    bool all = true;
    expr.visitAxes([&](unsigned axis) { all &= known[axis]; });
    return all;
  }
  bool mayBeSolved(std::optional<unsigned> axis) const { return axis && !problem.ragged[*axis]; }

  bool useFact() {
    for (auto [i, fact] : llvm::enumerate(problem.facts)) {
      if (used[i])
        continue;
      if (!known[fact.axis] && isKnown(fact.extent)) {
        used[i] = true;
        return define(fact.axis, fact.extent);
      }
      std::optional<unsigned> unknown = onlyUnknown(fact.extent);
      if (!known[fact.axis] || !mayBeSolved(unknown))
        continue;
      if (std::optional<Extent> found = solveFor(*unknown, fact.extent, Extent::axis(fact.axis))) {
        used[i] = true;
        return define(*unknown, *found);
      }
    }
    return false;
  }

  bool useDimension(bool alone) {
    for (auto [arg, dims] : llvm::enumerate(problem.args))
      for (auto [dim, factors] : llvm::enumerate(dims))
        if (alone ? useAlone(arg, dim, factors) : useProduct(arg, dim, factors))
          return true;
    return false;
  }

  bool useAlone(unsigned arg, unsigned dim, llvm::ArrayRef<Extent> factors) {
    if (factors.size() != 1 || factors[0].kind() != Extent::Kind::Axis)
      return false;
    unsigned axis = factors[0].axis();
    return !known[axis] && !problem.ragged[axis] && define(axis, Extent::dim(arg, dim));
  }

  bool useProduct(unsigned arg, unsigned dim, llvm::ArrayRef<Extent> factors) {
    std::optional<unsigned> position;
    Extent rest = Extent::constant(1);
    for (auto [i, factor] : llvm::enumerate(factors)) {
      if (isKnown(factor)) {
        rest = Extent::binary(Extent::Kind::Mul, rest, factor);
        continue;
      }
      if (position)
        return false;
      position = i;
    }
    if (!position || rest.getConstant() == 0)
      return false;
    std::optional<unsigned> unknown = onlyUnknown(factors[*position]);
    if (!mayBeSolved(unknown))
      return false;
    Extent value = Extent::binary(Extent::Kind::Div, Extent::dim(arg, dim), rest);
    std::optional<Extent> found = solveFor(*unknown, factors[*position], value);
    return found && define(*unknown, *found);
  }

  const ExtentProblem &problem;
  std::vector<bool> known, used;
  ExtentSolution solution;
};
} // namespace

ExtentSolution attn::language::solveExtents(const ExtentProblem &problem) { return Solver(problem).run(); }
