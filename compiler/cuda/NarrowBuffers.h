//===- NarrowBuffers.h - buffers in 16 bits ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef ATTN_COMPILER_CUDA_NARROWBUFFERS_H
#define ATTN_COMPILER_CUDA_NARROWBUFFERS_H

#include "dialects/attn/Attn.h"

namespace attn {

/// Gives a buffer of f32 the elements that all of its readers round it to: each of them multiplies it beside a tensor that is
/// stored as f16 or bf16. It is rounded once, as it is stored, and tiles of it are copied as they are.
void narrowBuffers(KernelOp kernel);

} // namespace attn

#endif // ATTN_COMPILER_CUDA_NARROWBUFFERS_H
