//===- CudaEntry.h - stages as launches -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The entry of a kernel whose stages run on a device: compiler/cpu/Entry.h with the workspace in the device's memory and
// each stage as launches on the caller's stream.
//===----------------------------------------------------------------------===//
#ifndef ATTN_COMPILER_CUDA_CUDAENTRY_H
#define ATTN_COMPILER_CUDA_CUDAENTRY_H

#include "compiler/cpu/Frame.h"
#include "compiler/cuda/DeviceStage.h"

namespace attn {

/// One kernel of a stage.
struct KernelLaunch {
  std::string kernel; ///< its name in the device module
  std::string tasks;  ///< what follows NAME in the name of the function that counts its tasks
  KernelShape shape;
};

/// Slots of the frame that mean something else on a device, where workers have no scratch and there is no context.
/// The address of the call's own word of fault: 0 while no condition is known to fail.
inline unsigned faultWordSlot(const FrameLayout &layout) { return layout.scratch(); }
/// attn_context::fault.
inline unsigned callerFaultSlot(const FrameLayout &layout) { return layout.scratchBytes(); }
/// Where the processor that calls has the texts of conditions, one behind the other.
inline unsigned faultTextsSlot(const FrameLayout &layout) { return layout.context(); }

/// Builds both functions at the end of `module`, with the launches in order. `conditions` are the texts of what is
/// checked on the device.
mlir::LogicalResult buildCudaEntry(mlir::ModuleOp module, const FrameLayout &layout,
                                   llvm::ArrayRef<KernelLaunch> launches, llvm::ArrayRef<std::string> conditions);

} // namespace attn

#endif // ATTN_COMPILER_CUDA_CUDAENTRY_H
