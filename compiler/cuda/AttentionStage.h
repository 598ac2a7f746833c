//===- AttentionStage.h - the kernels of an attention -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Entries with many queries take one kernel, which walks over all their keys; those with few take another, whose tasks
// walk over a chunk of keys each, and a third, which merges. Both walks are one piece of code, that of the subclass.
//===----------------------------------------------------------------------===//
#ifndef ATTN_COMPILER_CUDA_ATTENTIONSTAGE_H
#define ATTN_COMPILER_CUDA_ATTENTIONSTAGE_H

#include "compiler/cpu/DecodeForm.h"
#include "compiler/cuda/DeviceStage.h"
#include "compiler/cuda/QueryTask.h"

namespace attn {

class AttentionStage : public DeviceStage {
public:
  explicit AttentionStage(StageOp stage);

  /// Sorts the axes and chooses the kernels.
  mlir::LogicalResult prepare(const FrameLayout &layout) override;
  unsigned kernelCount() const override { return forms.size(); }
  KernelShape shape(unsigned kernel) const final;
  mlir::Value emitTaskCount(FunctionScope &f, unsigned kernel) override;
  mlir::LogicalResult emitTask(FunctionScope &f, unsigned kernel, mlir::Value task) override;
  mlir::Value emitScratchBytes(FunctionScope &f) override;

protected:
  virtual KernelShape walkShape() const = 0;
  /// Tasks that walk over all keys of all entries (i64).
  virtual mlir::Value walkCount(FunctionScope &f) = 0;
  /// One of them, over the keys of a chunk, which it leaves to be merged; null: over all, and what follows. `takes` says
  /// whether the entry takes this form.
  virtual mlir::LogicalResult emitWalk(FunctionScope &f, mlir::Value task, const KeyChunk *chunk,
                                       QueryTask::Filter takes) = 0;

  FlashOp flash;
  FlashAxes axes;

private:
  enum class Form { Whole, Split, Merge };

  Partials partials() const { return {axes, schedule.getDecodeChunk()}; }

  DecodeForm decode;
  llvm::SmallVector<Form> forms;
};

} // namespace attn

#endif // ATTN_COMPILER_CUDA_ATTENTIONSTAGE_H
