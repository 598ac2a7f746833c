//===- Code.h - kernels as LLVM IR, assembly and objects --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From modules in the LLVM dialect to one object: translation, the linked-in argument checker, dispatch between
// targets of one architecture, LLVM's optimiser and back end. The bytes depend on nothing but the modules and targets.
//===----------------------------------------------------------------------===//
#ifndef ATTN_COMPILER_EMIT_CODE_H
#define ATTN_COMPILER_EMIT_CODE_H

#include "compiler/emit/Device.h"
#include "compiler/emit/Machine.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/MemoryBuffer.h"

namespace attn {

/// The kernels of a file for one target. Public functions with a body are entries; everything else stays inside.
struct Variant {
  mlir::ModuleOp module;
  Target target;
};

/// One linked and optimised LLVM module.
class Code {
public:
  /// Variants share entries and architecture. Of several, a call takes the first of the highest level that the
  /// processor runs; with none, it returns ATTN_UNSUPPORTED. Code for devices is PTX and, if `assembles` and where there
  /// is a ptxas, machine code.
  static llvm::Expected<Code> build(llvm::ArrayRef<Variant> variants, bool assembles = false);

  llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> object() const;
  llvm::Expected<std::string> assembly() const;
  std::string llvmText() const;
  /// Kernels for CUDA devices, one for each such target.
  llvm::ArrayRef<DeviceCode> deviceCode() const { return device; }

private:
  std::unique_ptr<llvm::LLVMContext> context;
  std::unique_ptr<llvm::Module> module;
  std::unique_ptr<llvm::TargetMachine> machine;
  std::vector<DeviceCode> device;
};

} // namespace attn

#endif // ATTN_COMPILER_EMIT_CODE_H
