//===- TensorProduct.h - matrix products on tensor cores --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Slices of both sides, 64 elements of the depth, are copied ahead to shared memory, whose warps read them as fragments
// of matrix instructions. Every element is one chain of such products in the order of the depth, whatever the tile.
//===----------------------------------------------------------------------===//
#ifndef ATTN_COMPILER_CUDA_TENSORPRODUCT_H
#define ATTN_COMPILER_CUDA_TENSORPRODUCT_H

#include "compiler/cuda/ProductTile.h"
#include "compiler/cuda/SliceCopy.h"

namespace attn {

/// How the sides of a product come to tensor cores.
struct TensorSides {
  mlir::Type element; ///< f16 or bf16
  mlir::StringAttr leftRun, rightRun; ///< what rows of their tiles run along

  /// Null, with a reason, where tensor cores cannot multiply them.
  static std::optional<TensorSides> find(const ProductPlan &plan, const Signature &signature, std::string &why);
};

struct TensorTiling {
  SumTile sums;
  int64_t warpsDown, warpsAcross;

  static constexpr int64_t slice = 64;
  /// Rows up to which there are few.
  static constexpr int64_t fewRows = 32;

  /// For many rows, or for few.
  static TensorTiling of(const ProductPlan &plan, bool isFew);

  int64_t threads() const { return 32 * warpsDown * warpsAcross; }
  int64_t warpRows() const { return sums.rows / warpsDown; }
  int64_t warpColumns() const { return sums.columns / warpsAcross; }
  SharedTile left() const { return {sums.rows, slice}; }
  SharedTile right(bool isAlongDepth) const {
    return isAlongDepth ? SharedTile{sums.columns, slice} : SharedTile{slice, sums.columns};
  }
  int64_t stageBytes() const { return left().bytes() + right(true).bytes(); }
  /// Slices in shared memory, at least 2.
  int64_t stages() const { return std::clamp<int64_t>((64 << 10) / stageBytes(), 2, 4); }
  int64_t workBytes() const { return stages() * stageBytes(); }
};

class TensorProduct : public ProductTile {
public:
  TensorProduct(FunctionScope &f, StageOp stage, const ProductPlan &plan, const TensorSides &sides, TensorTiling tiling)
      : ProductTile(f, stage, plan, tiling.sums, tiling.threads(), tiling.workBytes()), sides(sides), tiling(tiling) {}

private:
  void multiply(TilePoints &rows, TilePoints &columns) override;
  DepthPosition after(const DepthPosition &at);
  void copySlice(SliceCopy &left, SliceCopy &right, Value stage, const DepthPosition &at);
  Value stageAfter(Value stage, int64_t count);
  Values add(FragmentReader &left, FragmentReader &right, Value stage, mlir::ValueRange sums);
  void store(mlir::ValueRange sums);
  bool hasOuter() const { return plan.product.depth.size() > 1; }
  Value outerDepth() { return f.extent(llvm::ArrayRef(plan.product.depth).drop_back()); }
  Value innerDepth() { return f.extent(plan.product.depth.back()); }
  Value warpRow() { return t.mul(t.div(t.warp(), tiling.warpsAcross), tiling.warpRows()); }
  Value warpColumn() { return t.mul(t.rem(t.warp(), tiling.warpsAcross), tiling.warpColumns()); }

  const TensorSides &sides;
  TensorTiling tiling;
};

} // namespace attn

#endif // ATTN_COMPILER_CUDA_TENSORPRODUCT_H
