//===- RowEpilogue.h - what follows a product row by row --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Goes on from one finished row along the lane axis, in the worker's scratch: rotations and reductions in order, each
// over the whole row, then the writes. It knows no tasks and no panels.
//===----------------------------------------------------------------------===//
#ifndef ATTN_COMPILER_CPU_ROWEPILOGUE_H
#define ATTN_COMPILER_CPU_ROWEPILOGUE_H

#include "compiler/cpu/Contraction.h"
#include "compiler/cpu/Expressions.h"

namespace attn {

class RowEpilogue {
public:
  using Value = mlir::Value;

  /// Rows of scratch that each operation may take.
  static constexpr int64_t buffersPerOp = 2;

  /// `buffers` has room for the rows of all operations, each of the lane axis and two more vectors.
  RowEpilogue(Expressions &x, const Contraction &shape, llvm::ArrayRef<WriteOp> writes, Value buffers, Value pitch);

  /// `row` holds the product. All other axes are bound in the innermost scope.
  void emit(Value row);

private:
  void reduce(ReduceOp op);
  void rotate(RopeOp op);
  void rotatePairs(RopeOp op, Value from, Value to, Value pairs);
  void copyRest(RopeOp op, Value from, Value to, Value first);
  /// A row of the value, which is computed if it is not there.
  Value rowOf(Value value);
  Value newRow();
  /// Loops over vectors of `axis` up to `extent`, each in a scope in which rows are known; no mask where all lanes exist.
  FunctionScope::Values
  overLanes(mlir::StringAttr axis, Value extent, mlir::ValueRange init,
            llvm::function_ref<FunctionScope::Values(Value first, Value mask, mlir::ValueRange carried)> body);
  void overLanes(mlir::StringAttr axis, Value extent, llvm::function_ref<void(Value first, Value mask)> body);
  Value load(Value row, Value offset);
  void store(Value vector, Value row, Value offset, Value mask);

  Expressions &x;
  FunctionScope &f;
  const Contraction &shape;
  llvm::ArrayRef<WriteOp> writes;
  Value buffers, pitch;
  int64_t taken = 0, lanes;
  /// Rows along the lane axis that have been computed.
  llvm::SmallVector<std::pair<Value, Value>> rows;
};

} // namespace attn

#endif // ATTN_COMPILER_CPU_ROWEPILOGUE_H
