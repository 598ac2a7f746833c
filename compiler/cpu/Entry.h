//===- Entry.h - the functions that a program calls -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Builds `NAME(context, arguments...)` and `NAME_workspace(context, arguments..., size_t *)`: the arguments are checked
// by attn_bind, which fills the frame; then come what data decides, the workspace, and the stages one after the other.
// How stages run is for each room to say; the functions `NAME.stageN` and so on must stand in the module.
//===----------------------------------------------------------------------===//
#ifndef ATTN_COMPILER_CPU_ENTRY_H
#define ATTN_COMPILER_CPU_ENTRY_H

#include "compiler/cpu/Frame.h"
#include "compiler/cpu/Tables.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace attn {

class EntryBuilder {
public:
  EntryBuilder(mlir::ModuleOp module, const FrameLayout &layout);
  virtual ~EntryBuilder() = default;

  /// Builds both functions and their constants at the end of `module`.
  mlir::LogicalResult build();

protected:
  using Value = mlir::Value;
  using Type = mlir::Type;

  /// The DLDeviceType of the memory that kernels work on.
  virtual int64_t deviceType() const = 0;
  /// Places that the functions need beside the frame, in their first block.
  virtual void allocatePlaces() {}
  /// Constants, and checks that all functions are there.
  virtual mlir::LogicalResult prepare(Tables &tables) = 0;
  /// Workers that need scratch of their own (i64).
  virtual Value workers() = 0;
  /// `then` where the stages can count as far as the call needs, otherwise a status.
  virtual Value checkLimits(llvm::function_ref<Value()> then) { return then(); }
  /// `then` where the lengths of ragged axes are sound, otherwise a status.
  virtual Value checkLengths(llvm::function_ref<Value()> then) = 0;
  /// `then` where all requirements hold, otherwise a status.
  virtual Value checkRequirements(llvm::function_ref<Value()> then) = 0;
  /// Reserves the workspace, runs the stages and gives the status.
  virtual Value runStages() = 0;

  Value number(int64_t value, Type type);
  Value addressOf(mlir::FlatSymbolRefAttr global);
  Value allocate(Type type, int64_t count);
  Value element(Value base, Type type, unsigned index);
  Value slot(unsigned index) { return element(frame, i64, index); }
  Value isZero(Value status);
  /// `then` where the status is 0, otherwise the status itself.
  Value whenOk(Value status, llvm::function_ref<Value()> then);
  Value branch(Value condition, llvm::function_ref<Value()> then, llvm::function_ref<Value()> otherwise);

  mlir::func::FuncOp find(const llvm::Twine &suffix);
  /// A function that entries call themselves.
  mlir::func::FuncOp findDirect(const llvm::Twine &suffix);
  /// A function of runtime/bind/Bind.h.
  mlir::func::FuncOp runtime(llvm::StringRef symbol, mlir::TypeRange arguments, mlir::TypeRange results);
  Value call(mlir::func::FuncOp function, mlir::ValueRange arguments);

  /// Bytes of the workspace; offsets of its parts are in the frame then.
  Value workspaceBytes();
  /// Makes addresses of those offsets.
  void placeBuffers(Value memory);

  mlir::ModuleOp module;
  const FrameLayout &layout;
  llvm::StringRef name;
  mlir::OpBuilder b;
  mlir::Location loc;
  Type pointer, i32, i64;
  mlir::FlatSymbolRefAttr descriptor;
  // Of the function under construction; places stand in its first block, where LLVM makes registers of them.
  Value context, frame, memoryPlace, ownedPlace;

private:
  Type passedType(unsigned i);
  mlir::func::FuncOp declare(llvm::StringRef suffix, bool withBytes);
  Value bind(mlir::func::FuncOp function);
  void buildKernel();
  void buildWorkspaceQuery();
  mlir::LogicalResult checkNames();

  mlir::func::FuncOp layoutFunction;
};

/// The entry of a kernel whose stages are functions on this processor.
mlir::LogicalResult buildEntry(mlir::ModuleOp module, const FrameLayout &layout);

} // namespace attn

#endif // ATTN_COMPILER_CPU_ENTRY_H
