//===- Dependences.h - what must come first ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Questions about a program of which a part has become stages. Changes nothing.
//===----------------------------------------------------------------------===//
#ifndef ATTN_COMPILER_DECIDE_DEPENDENCES_H
#define ATTN_COMPILER_DECIDE_DEPENDENCES_H

#include "compiler/decide/Inliner.h"
#include "llvm/ADT/SetVector.h"

namespace attn {

/// How far the program has come.
struct Progress {
  StoredValues stored;
  /// Writes that stand in a stage.
  llvm::DenseSet<mlir::Operation *> written;
  /// Operations whose stage is being put together.
  llvm::DenseSet<mlir::Operation *> running;
  /// Rotations and reductions that the stage which is being put together can compute as well.
  llvm::DenseSet<mlir::Operation *> joined;
};

class Dependences {
public:
  Dependences(mlir::Block &block, const Progress &progress) : block(block), progress(progress) {}

  using Values = llvm::SetVector<mlir::Value>;
  /// What must be stored before `value` can be computed in place. `inStage` is at hand.
  void collectLeaves(mlir::Value value, mlir::Value inStage, Values &leaves) const;
  /// The same for all that an operation reads, its region too.
  Values leavesOf(mlir::Operation *op, mlir::Value inStage) const;

  /// Whether `value` can be computed now: it waits for no write, and not for a stage that is being put together.
  bool isComputable(mlir::Value value, mlir::Value inStage) const;

  /// Whether something other than `write` at the very same place still needs what `read` sees.
  bool isNeededBehind(ReadOp read, WriteOp write) const;

private:
  bool seesItsTime(ReadOp read) const;

  mlir::Block &block;
  const Progress &progress;
};

/// All values of the program that an operation reads, those that its region captures too.
llvm::SmallVector<mlir::Value> valuesReadBy(mlir::Operation *op);

/// Whether a tensor is only written: nobody can tell when.
bool isNeverRead(mlir::Value ref);

} // namespace attn

#endif // ATTN_COMPILER_DECIDE_DEPENDENCES_H
