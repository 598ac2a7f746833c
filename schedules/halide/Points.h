//===- Points.h - a plan's expressions at points ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Evaluates a plan's nodes where its axes are bound to Halide expressions. It knows no stages and no schedules.
//===----------------------------------------------------------------------===//
#ifndef ATTN_SCHEDULES_HALIDE_POINTS_H
#define ATTN_SCHEDULES_HALIDE_POINTS_H

#include "schedules/KernelPlan.h"
#include <Halide.h>
#include <functional>
#include <map>

namespace attn {

/// Axes of queries, keys and widths are at most this long, so that places along them are i32 with room for sums.
constexpr int64_t largestExtent = int64_t(1) << 27;

/// What a task is given: a buffer per tensor, a number per scalar.
struct StageInputs {
  explicit StageInputs(const StagePlan &plan);
  std::vector<Halide::ImageParam> tensors;
  std::vector<Halide::Param<int64_t>> scalars;
  std::vector<int64_t> known; ///< what a scalar is when that is known; else -1

  /// A scalar that is an extent, as Halide counts.
  Halide::Expr extent(int64_t scalar) const {
    return known[scalar] < 0 ? Halide::cast<int32_t>(scalars[scalar]) : Halide::Expr(int32_t(known[scalar]));
  }
};

/// A value, and where it is present (undefined: always).
struct Point {
  Halide::Expr value, present;
};

class Points {
public:
  Points(const StagePlan &plan, const StageInputs &inputs) : plan(plan), inputs(inputs) {}

  /// Binds an axis to an index (i32), within its extent.
  void bind(const std::string &axis, Halide::Expr index) { axes[axis] = std::move(index); }
  /// What an axis is bound to.
  const Halide::Expr &bound(const std::string &axis) const { return axes.at(axis); }
  /// Gives the nodes of an operation with a number: a term, a mix, the log-sum-exp, or what follows from where axes are bound.
  using Given = std::function<Halide::Expr(const Points &)>;
  void give(const std::string &op, int64_t number, Given value) { given[{op, number}] = std::move(value); }
  void give(const std::string &op, int64_t number, Halide::Expr value) {
    give(op, number, [value](const Points &) { return value; });
  }

  Point at(int64_t node);
  /// A float, 0 where it is absent.
  Halide::Expr orZero(int64_t node);
  /// A condition that holds where it is present.
  Halide::Expr holds(int64_t node);
  /// An integer as i32: right where it lies below `largestExtent` in size, and beyond that where it is larger.
  Halide::Expr bound(int64_t node);
  /// The place of an element: indices of the tensor's dimensions, the innermost first. `present` is where they lie within.
  /// `inputs` are those of a read.
  std::vector<Halide::Expr> place(const std::vector<int64_t> &inputs, Halide::Expr &present);

private:
  Point compute(const PlanNode &node);
  Point read(const PlanNode &node);
  Point logic(const PlanNode &node);
  Point rotation(const PlanNode &node);
  Halide::Expr scalar(const PlanNode &node) const;
  bool isShortSum(int64_t number, int &terms, int &others) const;
  Halide::Expr shortSum(int64_t number);
  Halide::Expr saturated(int64_t number);

  const StagePlan &plan;
  const StageInputs &inputs;
  std::map<std::string, Halide::Expr> axes;
  std::map<std::pair<std::string, int64_t>, Given> given;
  std::map<int64_t, Point> known;
};

} // namespace attn

#endif // ATTN_SCHEDULES_HALIDE_POINTS_H
