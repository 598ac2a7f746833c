//===- QueryTask.h - what a warp does for one query -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Binds a query of an `attn.flash`, and stores what follows from the sums of its row. Each lane holds some elements of
// the values' width; wide values take several passes.
//===----------------------------------------------------------------------===//
#ifndef ATTN_COMPILER_CUDA_QUERYTASK_H
#define ATTN_COMPILER_CUDA_QUERYTASK_H

#include "compiler/cuda/Partials.h"
#include "compiler/cuda/WarpOps.h"

namespace attn {

class QueryTask {
public:
  using Value = mlir::Value;
  using Values = FunctionScope::Values;
  /// Whether the entry at the point takes part; null: always.
  using Filter = llvm::function_ref<Value(Expressions &)>;

  /// Elements of each value that a lane holds in one pass.
  static constexpr int64_t perLane = 4;
  static constexpr int64_t passWidth = perLane * warpLanes;

  QueryTask(FunctionScope &f, StageOp stage, FlashOp flash, const FlashAxes &axes);

  /// How many queries there are over all entries (i64).
  static Value count(FunctionScope &f, const FlashAxes &axes);

protected:
  /// `body` with the axes of this query bound, where it exists.
  mlir::LogicalResult forQuery(Value query, Filter takes, llvm::function_ref<void()> body);
  /// `body` for each pass over the values, with the first element of lane 0.
  void forPasses(llvm::function_ref<void(Value firstElement)> body);
  /// Stores what follows from a row's maximum, this lane's sum, this lane's flag of kept weights, and its outputs.
  void finish(Value firstElement, mlir::ValueRange state);

  bool isSoftmax() { return flash.getNormalizer() == Normalizer::Softmax; }
  Value number(double value) { return f.constant(b.getF32Type(), value); }
  Value select(Value condition, Value yes, Value no) {
    return mlir::arith::SelectOp::create(b, f.loc(), condition, yes, no);
  }
  Value equals(Value value, double to);
  Value mul(Value y, Value z) { return mlir::arith::MulFOp::create(b, f.loc(), y, z); }
  Value sumOfLanes(Value value);
  Value greatestOfLanes(Value value);
  Value isFirstLane();
  /// 0 in place of the shift of a row that has no score yet: -inf less -inf would be NaN.
  Value shiftFor(Value maximum);
  Value powerOf(Value score, Value shift);
  Value elementOf(Value firstElement, int64_t i) { return f.add(firstElement, f.add(f.i64(i * warpLanes), lane)); }

  FunctionScope &f;
  mlir::OpBuilder &b;
  Expressions x;
  StageOp stage;
  FlashOp flash;
  const FlashAxes &axes;
  Value lane; ///< of the warp, i64

private:
  void writeResults(Value firstElement, llvm::ArrayRef<Value> outputs, Value logSumExp);
};

} // namespace attn

#endif // ATTN_COMPILER_CUDA_QUERYTASK_H
