//===- Passes.h - which route a stage takes ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef ATTN_COMPILER_HALIDE_PASSES_H
#define ATTN_COMPILER_HALIDE_PASSES_H

#include "mlir/Pass/Pass.h"

namespace attn {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "compiler/halide/Passes.h.inc"

} // namespace attn

#endif // ATTN_COMPILER_HALIDE_PASSES_H
