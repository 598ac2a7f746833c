//===- StageLowering.h - from a stage to its functions ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One subclass per stage kind. A stage becomes `NAME.stageN(frame, task, worker)`,
// which the runtime's hook calls once per task, and `NAME.stageN.tasks(frame)`;
// where tasks leave something to be brought together, `NAME.stageN.finish` too.
//===----------------------------------------------------------------------===//
#ifndef ATTN_COMPILER_CPU_STAGELOWERING_H
#define ATTN_COMPILER_CPU_STAGELOWERING_H

#include "compiler/cpu/Expressions.h"

namespace attn {

class StageLowering {
public:
  explicit StageLowering(StageOp stage) : stage(stage), schedule(stage.getSchedule()) {}
  virtual ~StageLowering() = default;

  /// Looks at the stage; a diagnostic names what it cannot lower.
  virtual mlir::LogicalResult prepare(const FrameLayout &layout) = 0;
  /// How many independent tasks there are (i64).
  virtual mlir::Value emitTaskCount(FunctionScope &f) = 0;
  /// Bytes of scratch that a worker needs (i64).
  virtual mlir::Value emitScratchBytes(FunctionScope &f) = 0;
  /// The body of one task.
  virtual mlir::LogicalResult emitTask(FunctionScope &f, mlir::Value task) = 0;

  /// Whether there are tasks that begin when all others have ended.
  virtual bool hasFinish() const { return false; }
  virtual mlir::Value emitFinishCount(FunctionScope &f) { return f.i64(0); }
  virtual mlir::LogicalResult emitFinish(FunctionScope &f, mlir::Value task) { return mlir::success(); }
  /// Bytes that all tasks share, from the first until the last (i64); null: none.
  virtual mlir::Value emitSharedBytes(FunctionScope &f) { return {}; }

protected:
  StageOp stage;
  ScheduleAttr schedule;
};

std::unique_ptr<StageLowering> makeNestLowering(StageOp stage);
std::unique_ptr<StageLowering> makeContractLowering(StageOp stage);
std::unique_ptr<StageLowering> makeFlashLowering(StageOp stage);

/// Splits a task number into indices, the last one fastest.
FunctionScope::Values splitTask(FunctionScope &f, mlir::Value task, llvm::ArrayRef<mlir::Value> counts);

/// Builds where something exists (null: always). `emit` gets the op whose region it then stands in, null where it stands where
/// the builder did.
void whereExists(FunctionScope &f, mlir::Value exists, llvm::function_ref<void(mlir::Operation *region)> emit);

/// The register-blocked product: `sums[r * vectors + v] += scalar(r, k) * lanes(v, k)` for k in [from, to).
/// `scalar` gives an f32, `lanes` a vector of f32; both build at the builder.
FunctionScope::Values emitMicroKernel(FunctionScope &f, int64_t rows, int64_t vectors, mlir::Value from, mlir::Value to,
                                      mlir::ValueRange sums,
                                      llvm::function_ref<mlir::Value(int64_t r, mlir::Value k)> scalar,
                                      llvm::function_ref<mlir::Value(int64_t v, mlir::Value k)> lanes);

} // namespace attn

#endif // ATTN_COMPILER_CPU_STAGELOWERING_H
