//===- HalideDevice.h - a stage that Halide runs on a device ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A stage with a plan for a device is no tasks of this processor: it is one call, `NAME.stageN.device(frame, 0, 0)`, which
// gives an attn_status.
//===----------------------------------------------------------------------===//
#ifndef ATTN_COMPILER_CPU_HALIDEDEVICE_H
#define ATTN_COMPILER_CPU_HALIDEDEVICE_H

#include "compiler/cpu/FunctionScope.h"
#include "schedules/KernelPlan.h"

namespace attn {

class HalideDevice {
public:
  /// The stage with its plan; nothing where it has none for a device.
  static std::optional<HalideDevice> of(StageOp stage);

  /// Copies tensors to the device, starts the kernels, copies results back. Gives the status (i32).
  mlir::Value emitCall(FunctionScope &f) const;
  /// Bytes of scratch that the call needs (i64).
  mlir::Value emitScratchBytes(FunctionScope &f) const;

private:
  HalideDevice(FlashOp flash, StagePlan plan) : flash(flash), plan(std::move(plan)) {}

  FlashOp flash;
  StagePlan plan;
};

} // namespace attn

#endif // ATTN_COMPILER_CPU_HALIDEDEVICE_H
