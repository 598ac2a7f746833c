//===- Lower.cpp - vector code to the LLVM dialect --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "compiler/emit/Lower.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVM.h"
#include "mlir/Conversion/IndexToLLVM/IndexToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MathToLibm/MathToLibm.h"
#include "mlir/Conversion/NVVMToLLVM/NVVMToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Dialect/Vector/Transforms/VectorRewritePatterns.h"
#include "mlir/Transforms/DialectConversion.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;

void attn::registerLowerToLLVM(DialectRegistry &registry) {
  registry.insert<arith::ArithDialect, cf::ControlFlowDialect, func::FuncDialect, LLVM::LLVMDialect, math::MathDialect,
                  scf::SCFDialect, ub::UBDialect, vector::VectorDialect>();
}

/// The alignment of an element of the accessed vector, in bytes; 0 for what is no vector.
static uint64_t elementAlignment(Type accessed) {
  auto vector = dyn_cast<VectorType>(accessed);
  if (!vector || !vector.getElementType().isIntOrFloat())
    return 0;
  return llvm::PowerOf2Ceil(llvm::divideCeil(vector.getElementTypeBitWidth(), 8u));
}

void attn::alignVectorAccesses(Operation *root) {
  root->walk([](Operation *op) {
    if (auto load = dyn_cast<LLVM::LoadOp>(op)) {
      if (uint64_t bytes = elementAlignment(load.getType()); bytes && !load.getAlignment())
        load.setAlignment(bytes);
    } else if (auto store = dyn_cast<LLVM::StoreOp>(op)) {
      if (uint64_t bytes = elementAlignment(store.getValue().getType()); bytes && !store.getAlignment())
        store.setAlignment(bytes);
    }
  });
}

namespace {
struct AlignVectorAccesses : PassWrapper<AlignVectorAccesses, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(AlignVectorAccesses)
  StringRef getArgument() const final { return "attn-align-vector-accesses"; }
  StringRef getDescription() const final { return "give vector accesses the alignment of their elements"; }
  void runOnOperation() final { attn::alignVectorAccesses(getOperation()); }
};
} // namespace

/// The operations of kernels on vectors have one dimension, so no rewriting comes before their conversion.
static void addConversions(const LLVMTypeConverter &converter, RewritePatternSet &patterns) {
  vector::populateVectorInsertExtractStridedSliceTransforms(patterns);
  populateVectorToLLVMConversionPatterns(converter, patterns);
  arith::populateArithToLLVMConversionPatterns(converter, patterns);
  index::populateIndexToLLVMConversionPatterns(converter, patterns);
  populateMathToLibmConversionPatterns(patterns);
  populateMathToLLVMConversionPatterns(converter, patterns, /*approximateLog1p=*/true, /*benefit=*/2);
  cf::populateControlFlowToLLVMConversionPatterns(converter, patterns);
  populateFuncToLLVMConversionPatterns(converter, patterns);
  populateNVVMToLLVMConversionPatterns(patterns);
}

namespace {
/// All dialects at once: each conversion of its own would look at everything again.
struct ConvertToLLVM : PassWrapper<ConvertToLLVM, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ConvertToLLVM)
  StringRef getArgument() const final { return "attn-convert-to-llvm"; }
  StringRef getDescription() const final { return "vectors, arithmetic, branches and functions to the LLVM dialect"; }
  void getDependentDialects(DialectRegistry &registry) const final { registry.insert<LLVM::LLVMDialect>(); }
  void runOnOperation() final {
    // Loops carry values that nobody reads.
    IRRewriter rewriter(&getContext());
    (void)simplifyRegions(rewriter, getOperation()->getRegions());
    LLVMTypeConverter converter(&getContext());
    RewritePatternSet patterns(&getContext());
    addConversions(converter, patterns);
    LLVMConversionTarget target(getContext());
    if (failed(applyPartialConversion(getOperation(), target, std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace

void attn::buildLowerToLLVM(OpPassManager &passes) {
  // Before scalars and vectors go separate ways: bf16 has no instructions on most targets, and LLVM would call a
  // library that a kernel must not need.
  arith::ArithExpandOpsPassOptions expand;
  expand.includeBf16 = true;
  passes.addPass(arith::createArithExpandOpsPass(expand));
  passes.addPass(std::make_unique<AlignVectorAccesses>());
  passes.addPass(createSCFToControlFlowPass());
  passes.addPass(std::make_unique<ConvertToLLVM>());
  passes.addPass(createReconcileUnrealizedCastsPass());
}

void attn::registerLowerToLLVMPasses() {
  PassRegistration<AlignVectorAccesses>();
  PassRegistration<ConvertToLLVM>();
  PassPipelineRegistration<>("attn-lower-to-llvm", "vector code to the LLVM dialect", buildLowerToLLVM);
}

LogicalResult attn::lowerToLLVM(ModuleOp module) {
  PassManager passes(module.getContext(), ModuleOp::getOperationName());
  passes.enableVerifier(false);
  buildLowerToLLVM(passes);
  if (failed(passes.run(module)))
    return failure();
  WalkResult left = module.walk([&](Operation *op) {
    if (isa<ModuleOp>(op) || isa<LLVM::LLVMDialect>(op->getDialect()))
      return WalkResult::advance();
    op->emitOpError("has no lowering to LLVM");
    return WalkResult::interrupt();
  });
  return failure(left.wasInterrupted());
}
