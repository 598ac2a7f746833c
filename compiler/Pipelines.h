//===- Pipelines.h - the stages between a spec and LLVM ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef ATTN_COMPILER_PIPELINES_H
#define ATTN_COMPILER_PIPELINES_H

namespace attn {
/// Makes every pass of the house known by its name.
void registerAttnPasses();
} // namespace attn

#endif // ATTN_COMPILER_PIPELINES_H
