//===- Lower.h - vector code to the LLVM dialect ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The last stage in MLIR: func, scf, cf, arith, math and vector on i64, vectors and !llvm.ptr become the LLVM
// dialect. It knows no target but its data layout.
//===----------------------------------------------------------------------===//
#ifndef ATTN_COMPILER_EMIT_LOWER_H
#define ATTN_COMPILER_EMIT_LOWER_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Pass/PassManager.h"

namespace attn {

/// The dialects that the stage reads and writes.
void registerLowerToLLVM(mlir::DialectRegistry &registry);

/// After it only the LLVM dialect is left, and every access to a vector says its alignment.
void buildLowerToLLVM(mlir::OpPassManager &passes);

/// Makes the stage known as `attn-lower-to-llvm`, and its pass as `attn-align-vector-accesses`.
void registerLowerToLLVMPasses();

/// Gives each access to a vector that lacks an alignment that of its element: addresses are those of users'
/// tensors, and LLVM would assume whole vectors.
void alignVectorAccesses(mlir::Operation *root);

/// Runs the stage on a module.
mlir::LogicalResult lowerToLLVM(mlir::ModuleOp module);

} // namespace attn

#endif // ATTN_COMPILER_EMIT_LOWER_H
