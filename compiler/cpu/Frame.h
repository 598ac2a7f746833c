//===- Frame.h - where a kernel's facts lie at run time ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The frame is an array of i64 that the entry fills and every stage reads. Its
// first part is attn_bind's (runtime/bind/Descriptor.h), then come
//   buffers   one slot per attn.buffer, in order: its address
//   scratch   the first worker's scratch, then the bytes of each worker's
//   context   the attn_context of the call
//   shared    what all workers share of a stage's scratch
//   workers   how many there are: it decides what a task is, never what is computed
// This file owns slot numbers; it knows nothing about code.
//===----------------------------------------------------------------------===//
#ifndef ATTN_COMPILER_CPU_FRAME_H
#define ATTN_COMPILER_CPU_FRAME_H

#include "dialects/attn/Attn.h"

namespace attn {

class FrameLayout {
public:
  explicit FrameLayout(KernelOp kernel);

  /// The extent of an axis; of a ragged one the largest.
  unsigned axis(mlir::StringAttr axis) const;
  /// A scalar's bits or a tensor's address.
  unsigned arg(unsigned argument) const { return argSlots[argument]; }
  /// The element stride of a factor; factors are counted over all dimensions.
  unsigned stride(unsigned argument, unsigned factor) const { return argSlots[argument] + 1 + factor; }
  /// The extent of a tensor's dimension.
  unsigned dimension(unsigned argument, unsigned dim) const { return dimSlots[argument] + dim; }
  unsigned buffer(BufferOp buffer) const;
  unsigned scratch() const { return firstBuffer + buffers.size(); }
  unsigned scratchBytes() const { return scratch() + 1; }
  unsigned context() const { return scratch() + 2; }
  unsigned shared() const { return scratch() + 3; }
  unsigned workers() const { return scratch() + 4; }
  unsigned size() const { return scratch() + 5; }

  llvm::ArrayRef<BufferOp> getBuffers() const { return buffers; }
  const Signature &getSignature() const { return signature; }
  KernelOp getKernel() const { return kernel; }

  bool isRagged(mlir::StringAttr axis) const { return signature.findAxis(axis).isRagged(); }
  /// The axes whose indices decide the extent of a ragged one.
  llvm::ArrayRef<mlir::StringAttr> dependsOn(mlir::StringAttr axis) const {
    return signature.findAxis(axis).getDependsOn();
  }
  /// What `attn.ragged` says of the axis; null where nothing does.
  RaggedOp ragged(mlir::StringAttr axis) const;

  /// Parameters without brackets are passed by value.
  static bool isByValue(const Signature &signature, unsigned argument);

private:
  KernelOp kernel;
  Signature signature;
  llvm::SmallVector<unsigned> argSlots, dimSlots;
  llvm::SmallVector<BufferOp> buffers;
  unsigned firstBuffer;
};

} // namespace attn

#endif // ATTN_COMPILER_CPU_FRAME_H
