//===- ContractStage.h - matrix products ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The parts of one contract stage: how it is cut into tasks, and the code of one. A
// task computes a strip of rows by one panel of columns, which run along the lanes. The
// panel is packed once; then register blocks of rows pass over it, and what follows the
// product is computed while it is still in registers. Where rotations or reductions follow,
// a task computes a group of panels, which hold whole rows of the axis, and goes on from there.
//===----------------------------------------------------------------------===//
#ifndef ATTN_COMPILER_CPU_CONTRACTSTAGE_H
#define ATTN_COMPILER_CPU_CONTRACTSTAGE_H

#include "compiler/cpu/Panels.h"
#include "compiler/cpu/StageLowering.h"

namespace attn {

/// How a product is cut. A long contraction is cut into panels too, and the sums wait in
/// scratch in between: each element is one chain of fused multiply-adds in the order of
/// the points, however the work is cut.
struct ContractPlan {
  using Value = mlir::Value;

  Contraction product;
  StoredPanels panels; ///< the right side, where it is stored so
  llvm::SmallVector<WriteOp> writes;
  int64_t lanes, vectors; ///< of a panel
  int64_t rows;           ///< of a register block
  int64_t leastRows;      ///< of a task, where there are so many
  int64_t depthTile;      ///< points in a panel, about
  int64_t fewRows;        ///< up to so many rows a panel may be read in place; 0: never

  /// How a stage that is a product is cut; nothing, and why, where it is none.
  static std::optional<ContractPlan> of(StageOp stage, const FrameLayout &layout, std::string &why);

  int64_t width() const { return lanes * vectors; }
  Value extentOf(FunctionScope &f, llvm::ArrayRef<mlir::StringAttr> axes) const;
  /// Whether what follows the product needs whole rows along the lane axis.
  bool needsRows() const { return !product.rowOps.empty(); }
  Value slotsPerRow(FunctionScope &f) const;
  Value slotCount(FunctionScope &f) const;
  /// A task's columns: so many panels, which are one or, if need be, hold whole rows of so many outer columns.
  Value groupPanels(FunctionScope &f) const;
  Value groupRows(FunctionScope &f) const;
  Value groupCount(FunctionScope &f) const;
  Value groupWidth(FunctionScope &f) const { return f.mul(groupPanels(f), f.i64(width())); }
  Value stripRows(FunctionScope &f) const;
  /// Which has at most so many.
  int64_t mostStripRows() const;
  Value stripCount(FunctionScope &f) const;
  Value taskCount(FunctionScope &f) const;
  /// What a task computes: rows [first, end) by a group of panels.
  struct Part {
    FunctionScope::Values batch; ///< indices of the batch axes
    Value firstRow, endRow, group;
  };
  Part partOf(FunctionScope &f, Value task) const;
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
  mlir::Value strip;           ///< the sums of a strip, when they have to wait, row by row
  mlir::Value rows;            ///< rows along the lane axis for what follows the product
  mlir::Value rowPitch;
  mlir::Value size; ///< of everything
};

/// Emits the body of one task.
class ContractTask {
public:
  ContractTask(FunctionScope &f, const ContractPlan &plan);
  mlir::LogicalResult emit(mlir::Value task);

private:
  using Value = mlir::Value;
  using Values = FunctionScope::Values;

  void emitGroup(Value group);
  void emitPanel(Value panel);
  void emitDepthBlock(Value block);
  void packColumns();
  void emitRowBlocks(llvm::ArrayRef<Value> firstIndices);
  void emitRowBlock(Value row, llvm::ArrayRef<Value> indices);
  void locateRows(Value row, llvm::ArrayRef<Value> indices);
  Value areRowsFew();
  /// Where the panel's block of the depth is read in place, by `streamPanel`; null: never.
  Value canStream();
  void multiplyFew(llvm::ArrayRef<Value> firstIndices);
  void streamPanel(llvm::ArrayRef<Value> firstIndices);
  void multiplyBlock();
  /// Where a row of the register block exists along ragged axes; null: always.
  Value rowExists(size_t r);
  /// The sums of the first rows of the register block.
  Values product(int64_t rows);
  Values productOrFew();
  /// Where the scalars of the first rows of the block are, packed if need be, and their step.
  Values leftRows(int64_t count, Value &step);
  void emitEpilogue(mlir::ValueRange sums);
  void emitWholeRows(Value group);
  void emitWholeRow(Value row, llvm::ArrayRef<Value> indices, Value group);
  void emitRows(mlir::ValueRange sums, bool clamp);
  void emitRow(int64_t r, Value sum);
  void locateColumns(Value panel);
  /// What the sums of the first rows of the block start from, and what they have come to.
  Values startingSums(int64_t rows, llvm::ArrayRef<Value> slots);
  Values sumsInStrip(int64_t rows, llvm::ArrayRef<Value> slots);
  Values allSlots();
  Values withoutAbsent(mlir::ValueRange sums);

  /// Indices of the row after; the same where `hasNext` does not hold.
  Values nextRow(llvm::ArrayRef<Value> indices, Value hasNext);
  Value hasRow(Value r) { return f.less(f.add(blockRow, r), endRow); }
  void bindRow(llvm::ArrayRef<Value> indices);
  /// A loop over the first rows of the register block.
  void overRows(Value count, llvm::function_ref<void(Value r)> body);
  /// Where the scalars of a row start, where they are stored.
  Value leftPointer(llvm::ArrayRef<Value> indices);
  Value leftStep();
  /// The sums of row `r` of the register block in the strip.
  Value inStrip(int64_t r);
  void putAway(mlir::ValueRange sums);
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
  Values batch; ///< indices of the batch axes
  Value firstRow, endRow;
  Value isFirst, isLast; ///< the panel of the depth; null: always
  Value panelInGroup;
  PanelColumns columns;
  llvm::SmallVector<ColumnSlot> slots;
  Value isWhole; ///< all slots are, and all of their columns; null: always
  DepthRange depth;
  Value stored; ///< where the panel is stored, at its first point; null: it is packed
  Value hasFewRows; ///< the sums of this block of the depth are in the strip already; null: never
  bool mayBeAbsent = false;
  /// The register block: its first row, and the indices of all.
  Value blockRow;
  llvm::SmallVector<Values> blockIndices;
};

} // namespace attn

#endif // ATTN_COMPILER_CPU_CONTRACTSTAGE_H
