//===- Requirements.h - conditions on a call --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef ATTN_COMPILER_CPU_REQUIREMENTS_H
#define ATTN_COMPILER_CPU_REQUIREMENTS_H

#include "compiler/cpu/Expressions.h"

namespace attn {

/// The number, from 1, of the first of the conditions that fails anywhere over its axes; 0 when all hold (i32).
mlir::FailureOr<mlir::Value> emitRequirements(FunctionScope &f, llvm::ArrayRef<RequireOp> requirements);

} // namespace attn

#endif // ATTN_COMPILER_CPU_REQUIREMENTS_H
