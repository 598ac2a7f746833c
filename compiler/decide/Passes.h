//===- Passes.h - the pass that chooses -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef ATTN_COMPILER_DECIDE_PASSES_H
#define ATTN_COMPILER_DECIDE_PASSES_H

#include "dialects/attn/Attn.h"
#include "mlir/Pass/Pass.h"

namespace attn {

#define GEN_PASS_DECL
#include "compiler/decide/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "compiler/decide/Passes.h.inc"

} // namespace attn

#endif // ATTN_COMPILER_DECIDE_PASSES_H
