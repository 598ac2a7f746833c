//===- ShareStages.h - one body for stages that are alike -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef ATTN_COMPILER_CPU_SHARESTAGES_H
#define ATTN_COMPILER_CPU_SHARESTAGES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace attn {

/// Gives task functions `(frame, task, worker)` that differ only in the slots of the frame that they read, as the
/// projections of queries, keys and values mostly do, one body `NAME.body` that gets the slots as arguments, where
/// NAME is the first of them. To be called before anything reorders what the emitters wrote.
void shareStages(llvm::ArrayRef<mlir::func::FuncOp> tasks);

} // namespace attn

#endif // ATTN_COMPILER_CPU_SHARESTAGES_H
