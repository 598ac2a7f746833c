//===- Optimize.h - LLVM's optimiser and back ends --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What programs and device code are put through alike. It knows no kernels.
//===----------------------------------------------------------------------===//
#ifndef ATTN_COMPILER_EMIT_OPTIMIZE_H
#define ATTN_COMPILER_EMIT_OPTIMIZE_H

#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"
#include "llvm/Target/TargetMachine.h"

namespace attn {

/// Generated code that LLVM does not take is a fault of the compiler.
llvm::Error verify(const llvm::Module &module);

llvm::Error optimize(llvm::Module &module, llvm::TargetMachine &machine);

/// Writes assembly or an object.
llvm::Error generate(const llvm::Module &module, llvm::TargetMachine &machine, llvm::CodeGenFileType kind,
                     llvm::raw_pwrite_stream &os);

} // namespace attn

#endif // ATTN_COMPILER_EMIT_OPTIMIZE_H
