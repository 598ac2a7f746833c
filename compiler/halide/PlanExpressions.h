//===- PlanExpressions.h - values as nodes of a plan ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Translates the values of a stage, and the places that they are read from, into nodes. Each value becomes one node.
//===----------------------------------------------------------------------===//
#ifndef ATTN_COMPILER_HALIDE_PLANEXPRESSIONS_H
#define ATTN_COMPILER_HALIDE_PLANEXPRESSIONS_H

#include "compiler/cpu/Frame.h"
#include "schedules/KernelPlan.h"
#include "llvm/ADT/DenseMap.h"

namespace attn {

/// An error that says what a plan cannot say.
llvm::Error cannotSay(const llvm::Twine &what);
/// Whether plans say how what is written is rounded: a float to one, or to 8 bits.
llvm::Error checkStored(WriteOp write);

class PlanExpressions {
public:
  /// `layout` is that of the stage's kernel; tasks fix the indices of the axes that `plan.tasks` names.
  PlanExpressions(StagePlan &plan, const FrameLayout &layout) : plan(plan), layout(layout) {}

  /// The node of a value; an error names what a plan cannot say.
  llvm::Expected<int64_t> node(mlir::Value value);
  /// Makes a value the node `op` of a number.
  void give(mlir::Value value, llvm::StringRef op, int64_t number);

  /// The scalar that is the extent of an axis.
  int64_t extentScalar(mlir::StringAttr axis);
  /// A tensor of the plan for a ref of which the tasks fix some factors.
  llvm::Expected<int64_t> tensor(mlir::Value ref, mlir::ValueRange indices);
  /// A read along a run of elements that several of its axes make: only the last of them has an index, the node "index" of `run`.
  llvm::Expected<int64_t> readRun(ReadOp read, llvm::ArrayRef<mlir::StringAttr> axes, llvm::StringRef run);
  /// The place of an element of the tensor: its indices, and then for each its limit, -1 where it lies within.
  llvm::Expected<std::vector<int64_t>> place(int64_t tensor, mlir::Value ref, mlir::ValueRange indices);
  /// Whether something in the pointwise part of the value may be absent, an element out of range too.
  bool mayBeAbsent(mlir::Value value) const;
  bool isFixed(mlir::StringAttr axis) const { return llvm::is_contained(plan.tasks, axis.getValue()); }
  /// Whether an index is that of an axis, which lies within the factor.
  mlir::StringAttr ownAxis(mlir::Value index, ExtentAttr factor) const;

private:
  bool isProduct() const { return plan.part == PlanPart::Product; }
  llvm::Expected<PlanTensor> describe(mlir::Value ref, mlir::ValueRange indices);
  int64_t numberOf(const PlanTensor &tensor);
  llvm::Expected<int64_t> translate(mlir::Value value);
  llvm::Expected<int64_t> translateMap(MapOp map);
  llvm::Expected<int64_t> translateRead(ReadOp read);
  llvm::Expected<int64_t> translateRope(RopeOp rope);
  llvm::Expected<int64_t> translateReduce(ReduceOp reduce);
  llvm::Expected<int64_t> add(PlanNode node, mlir::ValueRange inputs);
  llvm::Expected<int64_t> scalarNode(mlir::Operation &op, llvm::DenseMap<mlir::Value, int64_t> &scalars);
  int64_t scalar(PlanScalar scalar, PlanKind kind = PlanKind::I64);
  int64_t push(PlanNode node);

  StagePlan &plan;
  const FrameLayout &layout;
  llvm::DenseMap<mlir::Value, int64_t> known;
};

} // namespace attn

#endif // ATTN_COMPILER_HALIDE_PLANEXPRESSIONS_H
