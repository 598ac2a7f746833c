//===- Extents.h - what the axes measure ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Integer expressions over axes and argument dimensions, and the solver that finds, before
// anything runs, how each axis's extent follows from the arguments. No MLIR, no syntax.
//===----------------------------------------------------------------------===//
#ifndef ATTN_COMPILER_FRONTEND_EXTENTS_H
#define ATTN_COMPILER_FRONTEND_EXTENTS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace attn::language {

/// An immutable expression. `/` must divide exactly; `%` is never negative.
class Extent {
public:
  enum class Kind { Constant, Axis, Dim, Add, Sub, Mul, Div, Mod };

  static Extent constant(int64_t value);
  static Extent axis(unsigned axis);
  static Extent dim(unsigned arg, unsigned dim);
  /// `a kind b`, with the obvious simplifications; constants fold where that is exact.
  static Extent binary(Kind kind, Extent a, Extent b);

  Kind kind() const { return node->kind; }
  int64_t value() const { return node->value; }
  unsigned axis() const { return node->value; }
  unsigned arg() const { return node->value; }
  unsigned dim() const { return node->dim; }
  Extent lhs() const { return Extent(node->lhs); }
  Extent rhs() const { return Extent(node->rhs); }
  bool isBinary() const { return node->lhs != nullptr; }
  bool isAxis(unsigned axis) const { return kind() == Kind::Axis && this->axis() == axis; }

  std::optional<int64_t> getConstant() const;
  unsigned countOf(unsigned axis) const;
  void visitAxes(llvm::function_ref<void(unsigned)> visit) const;
  /// Replaces axes; an axis for which `with` gives nothing stays.
  Extent substitute(llvm::function_ref<std::optional<Extent>(unsigned)> with) const;
  bool operator==(const Extent &other) const;

  /// As the language writes it; `axisName` and `argName` spell the leaves.
  std::string str(llvm::function_ref<std::string(unsigned)> axisName,
                  llvm::function_ref<std::string(unsigned)> argName, int strength = 0) const;

private:
  struct Node {
    Kind kind;
    int64_t value = 0;
    unsigned dim = 0;
    std::shared_ptr<const Node> lhs, rhs;
  };
  explicit Extent(std::shared_ptr<const Node> node) : node(std::move(node)) {}
  std::shared_ptr<const Node> node;
};

/// The value of a constant division that is not exact, or an overflow: why it is refused.
llvm::Error checkConstants(const Extent &extent);

/// The expression for `axis` that makes `expr` equal to `value`, if `axis` is the only thing
/// unknown in it and stands there linearly.
std::optional<Extent> solveFor(unsigned axis, const Extent &expr, const Extent &value);

/// `axis = extent`, as a definition or as a check.
struct AxisFact {
  unsigned axis;
  Extent extent;
};

/// What is known of the extents: equalities and the dimensions of the arguments.
struct ExtentProblem {
  unsigned axes = 0;
  std::vector<bool> ragged;
  std::vector<AxisFact> facts;
  /// Of each argument and dimension, the factors.
  std::vector<std::vector<std::vector<Extent>>> args;
};

struct ExtentSolution {
  /// One definition per axis that has one, in an order in which they can be computed.
  std::vector<AxisFact> definitions;
  /// The facts that defined nothing: to be checked.
  std::vector<AxisFact> checks;
  std::vector<unsigned> unsolved;
};

ExtentSolution solveExtents(const ExtentProblem &problem);

} // namespace attn::language

#endif // ATTN_COMPILER_FRONTEND_EXTENTS_H
