//===- Header.h - what a program includes -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The C and C++ header of a spec file: a prototype and its conditions for each kernel. It knows signatures, and nothing
// of the code behind them.
//===----------------------------------------------------------------------===//
#ifndef ATTN_COMPILER_EMIT_HEADER_H
#define ATTN_COMPILER_EMIT_HEADER_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"

namespace attn {

/// The header of the programs (or kernels) of a module. `source` is the name of the spec file, without folders. An
/// error when a kernel's name cannot be declared in C.
llvm::Expected<std::string> makeHeader(mlir::ModuleOp programs, llvm::StringRef source);

} // namespace attn

#endif // ATTN_COMPILER_EMIT_HEADER_H
