//===- DeviceStage.h - from a stage to its kernels --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One subclass per way to run a stage on a device. A stage becomes one kernel or several, which run one after the other:
// `NAME_stageN_K(frame)` in the device module, and `NAME.stageN.K.tasks(frame)` for the entry that launches it. The
// frame, the vocabulary of functions (FunctionScope) and values at points (Expressions) are those of compiler/cpu; on a
// device values have no lanes, for each thread holds a scalar.
//===----------------------------------------------------------------------===//
#ifndef ATTN_COMPILER_CUDA_DEVICESTAGE_H
#define ATTN_COMPILER_CUDA_DEVICESTAGE_H

#include "compiler/cpu/Expressions.h"

namespace attn {

/// How a kernel is launched. What it is must not depend on the extents of a call.
struct KernelShape {
  /// Threads of a block, a multiple of 32.
  int64_t threads = 256;
  /// Neighbouring threads that work on one task: 1, a warp's 32, or all of a block, which then may use barriers.
  int64_t threadsPerTask = 1;
  /// Bytes of dynamic shared memory of a block; see sharedMemory().
  int64_t sharedBytes = 0;
};

class DeviceStage {
public:
  explicit DeviceStage(StageOp stage) : stage(stage), schedule(stage.getSchedule()) {}
  virtual ~DeviceStage() = default;

  /// Looks at the stage; a diagnostic names what it cannot lower.
  virtual mlir::LogicalResult prepare(const FrameLayout &layout) = 0;
  virtual unsigned kernelCount() const { return 1; }
  virtual KernelShape shape(unsigned kernel) const = 0;
  /// How many independent tasks a kernel has (i64), from the frame alone: the processor that launches evaluates it too.
  virtual mlir::Value emitTaskCount(FunctionScope &f, unsigned kernel) = 0;
  /// The body of one task, for each of the threads that work on it. It stands in a loop: they may run several tasks, one
  /// after the other.
  virtual mlir::LogicalResult emitTask(FunctionScope &f, unsigned kernel, mlir::Value task) = 0;
  /// Bytes of the device's memory that the stage's kernels share, at FunctionScope::sharedScratch (i64, evaluated by the
  /// processor that launches); null: none.
  virtual mlir::Value emitScratchBytes(FunctionScope &f) { return {}; }

protected:
  StageOp stage;
  ScheduleAttr schedule;
};

/// The base of a block's dynamic shared memory (!llvm.ptr<3>), aligned to 128 bytes.
mlir::Value sharedMemory(FunctionScope &f);
/// The number of the thread in its block (i32).
mlir::Value threadIndex(FunctionScope &f);
/// Waits for all threads of the block; orders their accesses to shared and global memory.
void blockBarrier(FunctionScope &f);

/// One thread per stored element; what is summed over, it loops over.
std::unique_ptr<DeviceStage> makePointStage(StageOp stage);
/// A product by tiles, on tensor cores or exactly in f32; point by point what is no such product.
std::unique_ptr<DeviceStage> makeProductStage(StageOp stage);
/// An `attn.flash` by tiles, on tensor cores or exactly in f32; null, with a remark that says why, where no tiles hold it.
std::unique_ptr<DeviceStage> makeFlashStage(StageOp stage);
/// A warp per query of an `attn.flash`, whatever its expressions and types.
std::unique_ptr<DeviceStage> makeRowStage(StageOp stage);

} // namespace attn

#endif // ATTN_COMPILER_CUDA_DEVICESTAGE_H
