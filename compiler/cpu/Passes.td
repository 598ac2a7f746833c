// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ATTN_COMPILER_CPU_PASSES
#define ATTN_COMPILER_CPU_PASSES

include "mlir/Pass/PassBase.td"

def LowerToCpu : Pass<"attn-lower-to-cpu", "::mlir::ModuleOp"> {
  let summary = "attn.kernel to vector code";
  let description = [{
    Each kernel becomes functions over its frame (compiler/cpu/Frame.h): one body and one task count per stage, the
    scratch that a worker needs, the requirements, and the entry points of the C interface. It decides nothing: tiles and
    lanes are the schedule's.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect", "::mlir::LLVM::LLVMDialect", "::mlir::math::MathDialect",
    "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"];
}

#endif // ATTN_COMPILER_CPU_PASSES
