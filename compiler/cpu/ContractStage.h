//===- ContractStage.h - matrix products ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The parts of one contract stage: how it is cut into tasks, and the code of one. A
// task computes a strip of rows by one panel of columns, which run along the lanes. The
// panel is packed once; then register blocks of rows pass over it, and what follows the
// product is computed while it is still in registers.
//===----------------------------------------------------------------------===//
#ifndef ATTN_COMPILER_CPU_CONTRACTSTAGE_H
#define ATTN_COMPILER_CPU_CONTRACTSTAGE_H

#include "compiler/cpu/Contraction.h"
#include "compiler/cpu/Packing.h"
#include "compiler/cpu/StageLowering.h"

namespace attn {

/// How a product is cut. A long contraction is cut into panels too, and the sums wait in
/// scratch in between: each element is one chain of fused multiply-adds in the order of
/// the points, however the work is cut.
struct ContractPlan {
  using Value = mlir::Value;

  Contraction product;
  llvm::SmallVector<WriteOp> writes;
  int64_t lanes, vectors; ///< of a panel
  int64_t rows;           ///< of a register block
  int64_t leastRows;      ///< of a task, where there are so many
  int64_t depthTile;      ///< points in a panel, about

  int64_t width() const { return lanes * vectors; }
  Value extentOf(FunctionScope &f, llvm::ArrayRef<mlir::StringAttr> axes) const;
  Value slotCount(FunctionScope &f) const;
  Value panelCount(FunctionScope &f) const;
  Value stripRows(FunctionScope &f) const;
  Value stripCount(FunctionScope &f) const;
  /// Indices of the first depth axis in a panel, and how many panels they make.
  Value depthStep(FunctionScope &f) const;
  Value depthBlocks(FunctionScope &f) const;
};

/// Where a task's parts lie in its worker's scratch, in f32 elements.
struct ContractScratch {
  ContractScratch(FunctionScope &f, const ContractPlan &plan);

  mlir::Value panel;           ///< with room for `lanes` points in front
  mlir::Value left, leftPitch; ///< the packed rows of a register block
  mlir::Value tile;            ///< the sums of a register block
  mlir::Value strip;           ///< the sums of a strip, when there is more than one panel
  mlir::Value size;            ///< of everything
};

/// Emits the body of one task.
class ContractTask {
public:
  ContractTask(FunctionScope &f, const ContractPlan &plan);
  mlir::LogicalResult emit(mlir::Value task);

private:
  using Value = mlir::Value;
  using Values = FunctionScope::Values;

  void emitPanel(Value block);
  void emitRowBlock(Value row, llvm::ArrayRef<Value> indices);
  void multiplyBlock();
  /// Where a row of the register block exists along ragged axes; null: always.
  Value rowExists(size_t r);
  Values product(llvm::ArrayRef<Value> pointers, Value step);
  void emitEpilogue(mlir::ValueRange sums);
  void emitRows(mlir::ValueRange sums, bool clamp);
  void emitRow(int64_t r, Value sum);
  void locateColumns(Value panel);
  Values startingSums();
  Values withoutAbsent(mlir::ValueRange sums);

  /// Indices of the row after; the same where `hasNext` does not hold.
  Values nextRow(llvm::ArrayRef<Value> indices, Value hasNext);
  Value hasRow(Value r) { return f.less(f.add(blockRow, r), endRow); }
  void bindRow(llvm::ArrayRef<Value> indices);
  /// A loop over the rows of the register block.
  void overRows(llvm::function_ref<void(Value r)> body);
  /// Where the scalars of a row start, where they are stored.
  Value leftPointer(llvm::ArrayRef<Value> indices);
  Value leftStep();
  /// The sums of the register block in the strip.
  Value inStrip();
  /// Emits `body` for panels whose columns are all there, and for the others.
  void wholeOrNot(llvm::function_ref<void(bool clamp)> body);
  Value at(Value offset) { return f.address(scratch, offset, f.builder().getF32Type()); }
  mlir::Type vectorType() { return f.vectorOf(plan.lanes, f.builder().getF32Type()); }

  FunctionScope &f;
  const ContractPlan &plan;
  const Contraction &shape;
  ContractScratch places;
  Expressions x;
  Value scratch;
  Value firstRow, endRow;
  Value isFirst, isLast; ///< the panel of the depth; null: always
  PanelColumns columns;
  llvm::SmallVector<ColumnSlot> slots;
  Value isWhole; ///< all slots are, and all of their columns; null: always
  DepthRange depth;
  bool mayBeAbsent = false;
  /// The register block: its first row, and the indices of all.
  Value blockRow;
  llvm::SmallVector<Values> blockIndices;
};

} // namespace attn

#endif // ATTN_COMPILER_CPU_CONTRACTSTAGE_H
