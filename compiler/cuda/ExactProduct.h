//===- ExactProduct.h - matrix products in f32 ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Slices of both sides along the depth go through shared memory, and each thread holds 4 x 4 sums. Every element is one
// chain of fused multiply-adds in the order of the depth, whatever the tile.
//===----------------------------------------------------------------------===//
#ifndef ATTN_COMPILER_CUDA_EXACTPRODUCT_H
#define ATTN_COMPILER_CUDA_EXACTPRODUCT_H

#include "compiler/cuda/ProductTile.h"

namespace attn {

class ExactProduct : public ProductTile {
public:
  static constexpr int64_t threads = 256;

  ExactProduct(FunctionScope &f, StageOp stage, const ProductPlan &plan, SumTile sums)
      : ProductTile(f, stage, plan, sums, threads, workBytes(sums)) {}

  /// 4096 elements, with whole rows where they are needed.
  static SumTile tileFor(const ProductPlan &plan);
  static int64_t workBytes(const SumTile &sums);

private:
  /// One side of the product.
  struct Side {
    Value value;
    TilePoints &points;
    int64_t size;
    Value address;   ///< f32 [slice][pitch] in shared memory (i32)
    bool depthFirst; ///< neighbouring threads copy along the depth

    /// f32 from one k to the next: 16 bytes more than a tile, so that stores along k spread over the banks.
    int64_t pitch() const { return size + 4; }
  };

  void multiply(TilePoints &rows, TilePoints &columns) override;
  void copy(const Side &side, Value firstDepth, Value depth);
  Value read(const Side &side, Value own, Value k, Value depth);
  Values add(const Side &left, const Side &right, mlir::ValueRange sums);
  Value firstRow();
  Value firstColumn();
};

} // namespace attn

#endif // ATTN_COMPILER_CUDA_EXACTPRODUCT_H
