//===- Outputs.h - what a stage stores --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which pointwise operations and writes join the stage of an expensive operation, and what of it
// must be stored for others.
//===----------------------------------------------------------------------===//
#ifndef ATTN_COMPILER_DECIDE_OUTPUTS_H
#define ATTN_COMPILER_DECIDE_OUTPUTS_H

#include "compiler/decide/Dependences.h"

namespace attn {

/// What follows from one result.
struct Output {
  /// The result of the stage's operation.
  mlir::Value result;
  /// What later stages read: the result, or what follows from it; null when writes are all that follows.
  mlir::Value stored;
  llvm::SmallVector<WriteOp> writes;
};

/// Follows `result` as far as its readers are pointwise over the same axes, or have joined its stage. `root`, when given, is
/// the write that may happen now although its tensor is read by the program.
class OutputPlanner {
public:
  OutputPlanner(mlir::Block &block, const Progress &progress, const Dependences &dependences, WriteOp root)
      : block(block), progress(progress), dependences(dependences), root(root) {}

  Output plan(mlir::Value result);

private:
  /// Operations that end in writes of this stage or in `stop`, and those writes.
  struct Walk {
    mlir::Value stop;
    llvm::DenseSet<mlir::Operation *> done;
    llvm::SetVector<mlir::Operation *> writes;
  };
  bool sidesAreComputable(mlir::Operation *op) const;
  /// Whether this stage can compute `op` from what it has at a point or along a row.
  bool joins(mlir::Operation *op) const;
  bool canWrite(WriteOp write) const;
  /// Whether a reader ends in writes that this stage can do or goes through `walk.stop`, and nowhere else.
  bool ends(mlir::Operation *op, Walk &walk) const;
  /// What may be stored instead of the result, the last one first.
  llvm::SmallVector<mlir::Value> candidates() const;

  mlir::Block &block;
  const Progress &progress;
  const Dependences &dependences;
  WriteOp root;
  mlir::Value result;
};

} // namespace attn

#endif // ATTN_COMPILER_DECIDE_OUTPUTS_H
