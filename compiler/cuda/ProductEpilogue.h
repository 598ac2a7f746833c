//===- ProductEpilogue.h - what follows a product ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Goes on from the sums of a tile in shared memory: reductions along the lane axis in order, a warp for each row, then
// the writes, element by element. A rotated element is computed where it is wanted, from its own sum and its partner's.
//===----------------------------------------------------------------------===//
#ifndef ATTN_COMPILER_CUDA_PRODUCTEPILOGUE_H
#define ATTN_COMPILER_CUDA_PRODUCTEPILOGUE_H

#include "compiler/cuda/ProductTile.h"

namespace attn {

class ProductEpilogue {
public:
  using Value = mlir::Value;
  using Load = llvm::function_ref<Value(Value row, Value column)>;

  /// `load` gives a sum of the tile; `statistics` is where the rows' own values go (i32).
  ProductEpilogue(ThreadScope &t, Expressions &x, StageOp stage, const ProductPlan &plan, SumTile sums, TilePoints &rows,
                  TilePoints &columns, Value statistics, Load load)
      : t(t), f(t.scope()), x(x), stage(stage), plan(plan), sums(sums), rows(rows), columns(columns),
        statistics(statistics), load(load) {}

  static int64_t statisticBytes(const ProductPlan &plan, const SumTile &sums);

  /// All threads come here, when all sums are there.
  void emit(int64_t threads);

private:
  void reduce(size_t number, int64_t threads);
  void write(int64_t threads);
  /// Gives, in the innermost scope, which binds the point, the sum and what the first row operations make of it.
  void give(size_t operations, Value row, Value column);
  Value turned(RopeOp rope, size_t number, Value row, Value column);
  Value statisticAt(size_t number, Value row, Value column);

  ThreadScope &t;
  FunctionScope &f;
  Expressions &x;
  StageOp stage;
  const ProductPlan &plan;
  SumTile sums;
  TilePoints &rows, &columns;
  Value statistics;
  Load load;
};

} // namespace attn

#endif // ATTN_COMPILER_CUDA_PRODUCTEPILOGUE_H
