// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ATTN_COMPILER_CUDA_PASSES
#define ATTN_COMPILER_CUDA_PASSES

include "mlir/Pass/PassBase.td"

def LowerToCuda : Pass<"attn-lower-to-cuda", "::mlir::ModuleOp"> {
  let summary = "attn.kernel to device code and its launches";
  let description = [{
    Each stage becomes kernels over the frame (compiler/cpu/Frame.h) in the module `device`; beside it, for the processor
    that calls, stand their task counts and the entry points of the C interface, which launch them. It decides nothing:
    tiles and warps are the schedule's.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect", "::mlir::LLVM::LLVMDialect", "::mlir::math::MathDialect",
    "::mlir::NVVM::NVVMDialect", "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"];
}

#endif // ATTN_COMPILER_CUDA_PASSES
