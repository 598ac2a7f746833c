// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A small kernel by hand: y = f * x by way of a buffer, with scratch, a requirement and two stages.
#ifndef ATTN_TEST_UNIT_EMIT_EMITTEDKERNEL_H
#define ATTN_TEST_UNIT_EMIT_EMITTEDKERNEL_H

#include "compiler/emit/Code.h"
#include "dialects/attn/Attn.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

/// The kernel as the stage emitters leave it, in a context of its own.
class EmittedKernel {
public:
  EmittedKernel();
  /// Of another module with one kernel.
  explicit EmittedKernel(llvm::StringRef text);

  mlir::ModuleOp getModule() { return *module; }
  attn::Signature signature();
  /// Entries added and lowered to the LLVM dialect.
  mlir::OwningOpRef<mlir::ModuleOp> lowered();
  llvm::Expected<attn::Code> compile(llvm::ArrayRef<attn::Target> targets);

private:
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

#endif // ATTN_TEST_UNIT_EMIT_EMITTEDKERNEL_H
