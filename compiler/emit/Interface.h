//===- Interface.h - a signature in words -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel's arguments, axes and conditions as text, for the header and the description alike.
//===----------------------------------------------------------------------===//
#ifndef ATTN_COMPILER_EMIT_INTERFACE_H
#define ATTN_COMPILER_EMIT_INTERFACE_H

#include "compiler/emit/StoredType.h"
#include "dialects/attn/Attn.h"
#include <vector>

namespace attn {

/// One program or kernel, as those who call it see it.
struct Interface {
  explicit Interface(mlir::Operation *programOrKernel);

  struct Argument {
    std::string name;
    Mode mode;
    const StoredType *type; ///< null: not a type that can be stored
    bool byValue;
    llvm::SmallVector<std::string> dims;
    llvm::SmallVector<std::string> axes;
    /// Of an argument in attn_pack's layout: the dimensions that it had, and which of them are contracted; else empty.
    std::string packedFrom;
    uint64_t contracted = 0;

    /// `x : f32[B, (H E)]`
    std::string declaration() const;
  };
  struct Axis {
    std::string name;
    std::string extent; ///< `x.1`, `D / H`; empty when ragged
    llvm::SmallVector<std::string> dependsOn;
  };

  std::string name;
  llvm::SmallVector<Argument> arguments;
  llvm::SmallVector<Axis> axes;
  /// Equalities between extents, and then the program's requirements.
  llvm::SmallVector<std::string> facts, requirements;
  bool precise;
};

/// The programs or kernels of a module, in order.
std::vector<Interface> findInterfaces(mlir::ModuleOp module);

} // namespace attn

#endif // ATTN_COMPILER_EMIT_INTERFACE_H
