//===- Description.h - kernels for machines to read -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The .json beside an object: arguments, axes, conditions, workspace and schedules of each kernel.
//===----------------------------------------------------------------------===//
#ifndef ATTN_COMPILER_EMIT_DESCRIPTION_H
#define ATTN_COMPILER_EMIT_DESCRIPTION_H

#include "mlir/IR/BuiltinOps.h"

namespace attn {

/// What was decided for one target: its name and the `attn.kernel`s.
struct DecidedFor {
  std::string target;
  mlir::ModuleOp kernels;
};

/// JSON, with keys in one fixed order.
std::string makeDescription(mlir::ModuleOp programs, llvm::ArrayRef<DecidedFor> decided, llvm::StringRef source);

} // namespace attn

#endif // ATTN_COMPILER_EMIT_DESCRIPTION_H
