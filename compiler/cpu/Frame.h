//===- Frame.h - where a kernel's facts lie at run time ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The frame is an array of i64 that the entry fills and every stage reads. Its
// first part is attn_bind's (runtime/bind/Descriptor.h), then come
//   buffers   one slot per attn.buffer, in order: its address
//   scratch   the first worker's scratch, then the bytes of each worker's
//   context   the attn_context of the call
// This file owns slot numbers; it knows nothing about code.
//===----------------------------------------------------------------------===//
#ifndef ATTN_COMPILER_CPU_FRAME_H
#define ATTN_COMPILER_CPU_FRAME_H

#include "dialects/attn/Attn.h"

namespace attn {

class FrameLayout {
public:
  explicit FrameLayout(KernelOp kernel);

  unsigned axis(mlir::StringAttr axis) const;
  /// A scalar's bits or a tensor's address.
  unsigned arg(unsigned argument) const { return argSlots[argument]; }
  /// The element stride of a factor; factors are counted over all dimensions.
  unsigned stride(unsigned argument, unsigned factor) const { return argSlots[argument] + 1 + factor; }
  unsigned buffer(BufferOp buffer) const;
  unsigned scratch() const { return firstBuffer + buffers.size(); }
  unsigned scratchBytes() const { return scratch() + 1; }
  unsigned context() const { return scratch() + 2; }
  unsigned size() const { return scratch() + 3; }

  llvm::ArrayRef<BufferOp> getBuffers() const { return buffers; }
  const Signature &getSignature() const { return signature; }
  KernelOp getKernel() const { return kernel; }

  /// Parameters without brackets are passed by value.
  static bool isByValue(const Signature &signature, unsigned argument);

private:
  KernelOp kernel;
  Signature signature;
  llvm::SmallVector<unsigned> argSlots;
  llvm::SmallVector<BufferOp> buffers;
  unsigned firstBuffer;
};

} // namespace attn

#endif // ATTN_COMPILER_CPU_FRAME_H
