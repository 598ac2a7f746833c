//===- HalideTask.h - what a task of Halide's is given ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Builds the arguments of a function that a plan becomes (schedules/halide/CompileStage.h): buffers of tensors, numbers,
// the worker's scratch as an arena, and the keys that any of a task's queries sees. Addresses of a batch entry are
// computed in 64 bits; what is left fits 32.
//===----------------------------------------------------------------------===//
#ifndef ATTN_COMPILER_CPU_HALIDETASK_H
#define ATTN_COMPILER_CPU_HALIDETASK_H

#include "compiler/cpu/Expressions.h"
#include "schedules/KernelPlan.h"

namespace attn {

/// The plans of a stage; what cannot be read is said.
mlir::FailureOr<std::vector<StagePlan>> plansOf(StageOp stage);

/// The tensor that a plan refers to.
mlir::Value refOf(FunctionScope &f, const PlanRef &ref);

inline mlir::StringAttr nameIn(FunctionScope &f, llvm::StringRef axis) {
  return mlir::StringAttr::get(f.builder().getContext(), axis);
}

/// The queries of a task along all of the plan's axes.
mlir::Value queryCount(FunctionScope &f, const StagePlan &plan);

/// Calls a function that the linker finds (compiler/emit/LinkHalide.h), in the code of `plan` where that is given. Gives
/// its i32.
mlir::Value callHalide(FunctionScope &f, llvm::StringRef symbol, mlir::ValueRange arguments, const StagePlan *plan);

/// The bytes that a task of the plan allocates.
mlir::Value scratchOf(FunctionScope &f, FlashOp flash, const StagePlan &plan);

class HalideTask {
public:
  using Value = mlir::Value;
  /// Of a buffer, in elements.
  struct Dim {
    Value min, extent, stride;
  };
  /// Queries [first, first + count) of a task.
  struct Queries {
    Value first, count;
  };

  HalideTask(FunctionScope &f, FlashOp flash, const StagePlan &plan)
      : f(f), b(f.builder()), flash(flash), plan(plan), x(f, /*lanes=*/1) {}

  void bind(mlir::StringAttr axis, Value index);

  /// The worker's scratch, as runtime/bind/Arena.c knows it.
  Value arena();
  /// The tensors that are read, and the scalars.
  FunctionScope::Values inputs();
  /// The scalars; where no task runs, indices are 0.
  FunctionScope::Values scalars();
  /// The buffer of a result, for queries.
  Value result(const PlanStore &store, Queries queries);
  /// The buffer of all of a result that the task does not fix.
  Value result(const PlanStore &store) { return describe(plan.tensors[store.tensor], nullptr, {}); }
  /// A buffer of f32, or of one i64; dimensions begin with the innermost.
  Value floats(Value address, llvm::ArrayRef<Dim> dims);
  Value integer(Value address);
  /// Memory of the function's own, at its top.
  Value allocate(int64_t bytes);
  /// The keys [first, end) that any of the queries sees; empty: end <= first. Of a flash.
  std::pair<Value, Value> keysSeenBy(Queries queries);
  /// i32.
  Value narrow(Value value) { return mlir::arith::TruncIOp::create(b, f.loc(), b.getI32Type(), value); }
  bool failed() const { return x.failed(); }

private:
  mlir::StringAttr name(llvm::StringRef axis) { return nameIn(f, axis); }
  Value number(int32_t value) { return mlir::arith::ConstantOp::create(b, f.loc(), b.getI32IntegerAttr(value)); }
  void storeAt(Value value, Value base, int64_t byte) {
    f.store(value, f.address(base, f.i64(byte), b.getI8Type()), f.i64(0));
  }
  Value buffer(Value address, int32_t type, llvm::ArrayRef<Dim> dims);
  Value describe(const PlanTensor &tensor, const PlanStore *store, Queries queries);
  Value scalar(const PlanScalar &scalar);
  std::pair<Value, Value> boundsAt(unsigned range, Value keys);

  FunctionScope &f;
  mlir::OpBuilder &b;
  FlashOp flash;
  const StagePlan &plan;
  Expressions x;
  llvm::DenseMap<mlir::StringAttr, Value> indices;
};

} // namespace attn

#endif // ATTN_COMPILER_CPU_HALIDETASK_H
