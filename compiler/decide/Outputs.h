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

/// Follows `result` as far as its readers are pointwise over the same axes. `root`, when given, is the write that may
/// happen now although its tensor is read by the program.
class OutputPlanner {
public:
  OutputPlanner(mlir::Block &block, const Progress &progress, const Dependences &dependences, WriteOp root)
      : block(block), progress(progress), dependences(dependences), root(root) {}

  Output plan(mlir::Value result);

private:
  bool sidesAreComputable(mlir::Operation *op) const;
  /// Whether a reader ends in writes that this stage can do, and in nothing else.
  bool endsInWrites(mlir::Operation *op, llvm::SmallVectorImpl<WriteOp> &writes) const;
  bool canWrite(WriteOp write) const;
  /// Whether a value for others can be computed by the reader instead of being stored before it.
  bool canFollow(mlir::Operation *op, mlir::Value from) const;
  bool overSameAxes(mlir::Operation *op) const;

  mlir::Block &block;
  const Progress &progress;
  const Dependences &dependences;
  WriteOp root;
  mlir::Value result;
};

} // namespace attn

#endif // ATTN_COMPILER_DECIDE_OUTPUTS_H
