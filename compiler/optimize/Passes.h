//===- Passes.h - passes that keep the meaning ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef ATTN_COMPILER_OPTIMIZE_PASSES_H
#define ATTN_COMPILER_OPTIMIZE_PASSES_H

#include "dialects/attn/Attn.h"
#include "mlir/Pass/Pass.h"

namespace attn {

#define GEN_PASS_DECL
#include "compiler/optimize/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "compiler/optimize/Passes.h.inc"

} // namespace attn

#endif // ATTN_COMPILER_OPTIMIZE_PASSES_H
