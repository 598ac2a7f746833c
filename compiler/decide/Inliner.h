//===- Inliner.h - expressions of a program in a stage ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Clones what a stage computes, down to reads of arguments and of stored values. Chooses nothing.
//===----------------------------------------------------------------------===//
#ifndef ATTN_COMPILER_DECIDE_INLINER_H
#define ATTN_COMPILER_DECIDE_INLINER_H

#include "dialects/attn/Attn.h"
#include "mlir/IR/IRMapping.h"

namespace attn {

/// Where a value of the program lies in the kernel: one dimension per axis.
struct Stored {
  mlir::Value ref;
  AxisList dims;
};
using StoredValues = llvm::DenseMap<mlir::Value, Stored>;

class Inliner {
public:
  /// `arguments` maps the program's arguments to the kernel's. What is built stands at `builder`.
  Inliner(mlir::OpBuilder &builder, const StoredValues &stored, const mlir::IRMapping &arguments)
      : builder(builder), stored(stored), mapping(arguments) {}

  /// A value of the program here. What is neither stored nor set is computed here, however heavy.
  mlir::Value inlined(mlir::Value value);
  llvm::SmallVector<mlir::Value> inlined(mlir::ValueRange values);
  /// Says what stands for a value, instead of what is stored.
  void set(mlir::Value value, mlir::Value here) { mapping.map(value, here); }
  /// An operation with its region here, and its results set.
  mlir::Operation *cloned(mlir::Operation *op);
  mlir::Value index(mlir::StringAttr axis, mlir::Location loc);
  mlir::Value ref(mlir::Value argument) { return mapping.lookup(argument); }

private:
  mlir::Value readStored(mlir::Value value, const Stored &place, llvm::function_ref<mlir::Value(mlir::StringAttr)> at,
                         mlir::Type type);

  mlir::OpBuilder &builder;
  const StoredValues &stored;
  mlir::IRMapping mapping;
  llvm::DenseMap<mlir::StringAttr, mlir::Value> indices;
};

} // namespace attn

#endif // ATTN_COMPILER_DECIDE_INLINER_H
