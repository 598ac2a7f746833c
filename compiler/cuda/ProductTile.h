//===- ProductTile.h - a CTA's part of a matrix product ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A CTA computes a tile of rows by columns of one batch entry and leaves its sums in shared memory as f32; what follows
// the product is computed from there, with neighbouring threads on neighbouring columns. How the sums are computed is
// up to the subclass:
//   ExactProduct.cpp    chains of fused multiply-adds in f32
//   TensorProduct.cpp   tensor cores
//===----------------------------------------------------------------------===//
#ifndef ATTN_COMPILER_CUDA_PRODUCTTILE_H
#define ATTN_COMPILER_CUDA_PRODUCTTILE_H

#include "compiler/cpu/Contraction.h"
#include "compiler/cuda/TilePoints.h"
#include "compiler/decide/RowOps.h"

namespace attn {

/// What a contract stage computes, as tiles see it.
struct ProductPlan {
  using Value = mlir::Value;

  Contraction product;
  AxisList entries; ///< batch, and rows that extents of others depend on
  AxisList rows;    ///< of a tile
  bool isRagged = false; ///< rows are those of all runs of a ragged axis, packed: the axis that it depends on, and itself
  AxisList columns; ///< outer columns, then the lane axis
  int64_t width = 0; ///< the lane axis' extent, where what follows needs whole rows along it; 0 elsewhere

  /// The widest such row.
  static constexpr int64_t mostWidth = widestDeviceRow;

  /// How many rows an entry has, at most (i64).
  Value rowCount(FunctionScope &f) const;
  /// Null with a reason when the stage is no product that tiles compute.
  static std::optional<ProductPlan> find(StageOp stage, const FrameLayout &layout, std::string &why);
};

/// The sums of a tile.
struct SumTile {
  int64_t rows, columns; ///< powers of two
  /// f32 from the end of a row to the next: what threads store at a time spreads over the banks.
  int64_t padding;

  int64_t pitch() const { return columns + padding; }
  int64_t bytes() const { return rows * pitch() * int64_t(sizeof(float)); }
  /// Of these columns, those that belong to the tile: whole rows along the lane axis where they are needed.
  int64_t usedColumns(const ProductPlan &plan) const {
    return plan.width ? columns / plan.width * plan.width : columns;
  }
  int64_t groups(const ProductPlan &plan) const { return plan.width ? columns / plan.width : 1; }
};

/// Byte offsets from the beginning of the CTA's shared memory. Sums take the place of what they were computed from.
struct ProductShared {
  int64_t sums = 0, rowTable, columnTable, statistics, size;

  ProductShared(const ProductPlan &plan, const SumTile &sums, int64_t workBytes);
};

class ProductTile {
public:
  using Value = mlir::Value;
  using Values = FunctionScope::Values;

  ProductTile(FunctionScope &f, StageOp stage, const ProductPlan &plan, SumTile sums, int64_t threads,
              int64_t workBytes);
  virtual ~ProductTile() = default;

  /// How many tiles there are (i64).
  static Value count(FunctionScope &f, const ProductPlan &plan, const SumTile &sums);
  mlir::LogicalResult emit(Value task);

protected:
  /// Leaves the sums of the tile in shared memory, each by one thread. All threads come here, and to a barrier behind it.
  virtual void multiply(TilePoints &rows, TilePoints &columns) = 0;
  /// Where a sum goes (i32).
  Value sumAt(Value row, Value column);

  ThreadScope t;
  FunctionScope &f;
  Expressions x;
  StageOp stage;
  const ProductPlan &plan;
  SumTile sums;
  int64_t threads;
  ProductShared shared;
  Value base; ///< of shared memory (i32)

private:
  void emitTile(Values rowCounts, Value rowCount, Value firstRow, Value firstColumn);
};

} // namespace attn

#endif // ATTN_COMPILER_CUDA_PRODUCTTILE_H
