//===- StageParts.h - what all parts of stages share ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef ATTN_SCHEDULES_HALIDE_STAGEPARTS_H
#define ATTN_SCHEDULES_HALIDE_STAGEPARTS_H

#include "schedules/halide/Points.h"

namespace attn {

/// The part of a stage that a pipeline computes.
class StageParts {
public:
  virtual ~StageParts() = default;
  StageParts(const StageParts &) = delete;

  virtual void schedule() = 0;
  Halide::Pipeline pipeline() const { return Halide::Pipeline(outputs); }
  /// The arguments in order: tensors that are read, scalars, and what the part takes besides.
  virtual std::vector<Halide::Argument> arguments() const = 0;
  /// The most that an output's dimension has in a task, by the number of the output.
  virtual Halide::Expr largestExtent(size_t output, int dimension) const = 0;
  /// The most that the part's own numbers are, by name; the least is 0.
  virtual std::map<std::string, Halide::Expr> largestParams() const = 0;
  /// The same to be given values, by programs that run the pipeline in their own process.
  StageInputs &stageInputs() { return inputs; }
  const std::vector<Halide::Func> &results() const { return outputs; }

protected:
  using Expr = Halide::Expr;
  using Func = Halide::Func;

  explicit StageParts(const StagePlan &plan) : plan(plan), inputs(plan) {}

  std::vector<Halide::Argument> inputArguments() const;
  /// Whether a tensor is a result.
  bool isStored(size_t tensor) const;
  /// How many places the axes have together.
  Expr countOf(const std::vector<PlanAxis> &axes) const;
  /// Binds axes to the parts of a row-major number.
  void bindParts(Points &points, const std::vector<PlanAxis> &axes, const Expr &number) const;
  /// Where all that a node reads along an axis lies side by side; undefined where nothing tells.
  Expr liesSideBySide(int64_t node, const std::string &axis) const;

  const StagePlan &plan;
  StageInputs inputs;
  std::vector<Func> outputs;
};

} // namespace attn

#endif // ATTN_SCHEDULES_HALIDE_STAGEPARTS_H
