//===- Decider.h - one program's stages -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Turns a program into a kernel, write by write in the program's order: what a write needs is
// stored first, and what follows an expensive operation element by element joins its stage.
//===----------------------------------------------------------------------===//
#ifndef ATTN_COMPILER_DECIDE_DECIDER_H
#define ATTN_COMPILER_DECIDE_DECIDER_H

#include "compiler/decide/Dependences.h"
#include "compiler/decide/Layout.h"
#include "compiler/decide/Outputs.h"
#include "compiler/decide/RowOps.h"
#include "compiler/decide/StageSchedules.h"
#include "llvm/ADT/StringSet.h"

namespace attn {

class Decider {
public:
  /// `turnsKeys`: a fused attention can apply a rope to keys that it reads. `isDevice`: stages are tiles of a device.
  Decider(ProgramOp program, ScheduleChooser &chooser, bool turnsKeys, bool isDevice);

  /// Puts the kernel in front of the program. On failure a diagnostic says why.
  mlir::FailureOr<KernelOp> run();

private:
  using Value = mlir::Value;
  using LogicalResult = mlir::LogicalResult;

  void emitChecks();
  bool isPlaceKnown(WriteOp write) const;
  LogicalResult emitWrite(WriteOp write);
  /// Copies what is still needed of a tensor that is about to change.
  LogicalResult saveWhatChanges(WriteOp write);

  /// Stores leaves until there are none: storing one may make others unnecessary.
  LogicalResult storeAll(llvm::function_ref<Dependences::Values()> leaves);
  LogicalResult store(Value value);
  /// Stores a pointwise value that the next stage wants to read plainly; `name` where the program has none.
  LogicalResult storePointwise(Value value, llvm::StringRef name);
  /// Emits the stage of a heavy operation, or the one that it joins; `root` is the write for whose sake, or null.
  LogicalResult emitHeavy(mlir::Operation *op, WriteOp root);
  /// Stores what the outputs of `op` need beside its results.
  LogicalResult storeSides(llvm::ArrayRef<Output> outputs);
  /// Sees to it that a stage of its own kind can read what `op` reads; the kind that it is.
  mlir::FailureOr<StageShape> prepare(mlir::Operation *op);
  mlir::FailureOr<StageShape> prepareContract(ContractOp op, const Output &output);
  llvm::SmallVector<mlir::Operation *> rowOpsOf(const Output &output) const;
  LogicalResult storeUnlessPlain(Value value, llvm::StringRef name);
  LogicalResult storeAngles(RopeOp rope);
  LogicalResult joinRopes(FlashOp flash);

  /// One stage: `op` (or null), then what its outputs say.
  LogicalResult emitStage(mlir::Operation *op, StageShape kind, llvm::ArrayRef<Output> outputs,
                          llvm::StringRef name = "");
  void emitOutput(Inliner &inliner, mlir::OpBuilder &builder, const Output &output);
  Stored place(const Output &output);
  std::string stageName(mlir::Operation *op, llvm::ArrayRef<Output> outputs, llvm::StringRef otherwise);
  mlir::Operation *cloneContract(Inliner &inliner, mlir::OpBuilder &builder, ContractOp contract);

  /// Read at the indices of its axes, from a place of its own.
  bool isPlainRead(Value value) const;
  /// Whether a value that is computed in place reads a buffer.
  bool readsBuffer(Value value) const;

  ProgramOp program;
  ScheduleChooser &chooser;
  bool turnsKeys, isDevice;
  Signature signature;
  mlir::Block &block;
  Progress progress;
  Dependences dependences;
  Layout layout;
  KernelOp kernel;
  mlir::OpBuilder builder;
  mlir::IRMapping arguments;
  /// Buffers stand in front of it.
  mlir::Operation *firstStage = nullptr;
  llvm::StringSet<> names;
  /// Where values are going to be stored, and operations whose stage has been begun.
  StoredValues places;
  llvm::DenseSet<mlir::Operation *> begun;
  /// The lane side of contractions that become a contract stage.
  llvm::DenseMap<mlir::Operation *, Value> laneSides;
};

} // namespace attn

#endif // ATTN_COMPILER_DECIDE_DECIDER_H
