//===- Link.h - one LLVM module from variants and runtime -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Translates each variant to LLVM IR, gives every function its machine, links the argument checker in, and adds the
// exported entries.
//===----------------------------------------------------------------------===//
#ifndef ATTN_COMPILER_EMIT_LINK_H
#define ATTN_COMPILER_EMIT_LINK_H

#include "compiler/emit/Code.h"

namespace attn {

struct LinkedModule {
  std::unique_ptr<llvm::Module> module;
  /// Functions carry their own processors; this one serves all of them.
  std::unique_ptr<llvm::TargetMachine> machine;
  std::vector<DeviceCode> device;
};

/// A module whose only visible symbols are the entries, and which lacks only the runtime's part.
llvm::Expected<LinkedModule> linkVariants(llvm::ArrayRef<Variant> variants, bool assembles, llvm::LLVMContext &context);

/// Brings in what the module uses of runtime/bind, and of Halide's runtime where the target has a device: both are
/// optimised already, so this is to be called last.
llvm::Error linkRuntime(llvm::Module &into, const Target &target);

/// Puts each kernel's functions into a section of its own, so that a linker can leave out kernels that nobody calls. A
/// section for each function would make an object a quarter larger.
void placeFunctions(llvm::Module &module);

/// One implementation of an entry, and the attn_cpu_level that it needs.
struct Implementation {
  llvm::Function *function;
  int level;
};

/// What there is of an entry.
struct Implementations {
  llvm::SmallVector<Implementation> processors; ///< best first
  llvm::Function *device = nullptr;             ///< for tensors of a CUDA device; null: none
  unsigned tensors = 0;                         ///< parameters behind the context among which tensors are: all pointers
};

/// Adds the exported function `name`, which calls the implementation for where the tensors are, and of those for
/// processors the best.
void addDispatch(llvm::Module &module, llvm::StringRef name, const Implementations &implementations);

} // namespace attn

#endif // ATTN_COMPILER_EMIT_LINK_H
