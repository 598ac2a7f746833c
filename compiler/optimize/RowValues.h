//===- RowValues.h - what a row knows before it meets a key -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds values without the key axes in the expressions of a flash's region and builds them outside of it. Knows nothing
// of masks.
//===----------------------------------------------------------------------===//
#ifndef ATTN_COMPILER_OPTIMIZE_ROWVALUES_H
#define ATTN_COMPILER_OPTIMIZE_ROWVALUES_H

#include "compiler/optimize/Expressions.h"

namespace attn {

/// New values stand at `builder`, outside of `region`: what depends on the region's arguments cannot be moved.
class RowValues {
public:
  RowValues(mlir::OpBuilder &builder, llvm::ArrayRef<mlir::StringAttr> keys, mlir::Region &region)
      : builder(builder), keys(keys), region(region) {}

  /// A value without the key axes, as it can be used at `builder`; null when that is impossible.
  mlir::Value outside(mlir::Value value);
  /// A scalar of the region of `map` that needs no operand with a key axis, as a value; null otherwise.
  mlir::Value outside(MapOp map, mlir::Value scalar);

private:
  bool hasKey(mlir::Value value) const;
  mlir::Value moved(mlir::Value value);

  mlir::OpBuilder &builder;
  llvm::ArrayRef<mlir::StringAttr> keys;
  mlir::Region &region;
  llvm::DenseMap<mlir::Value, mlir::Value> done;
};

/// x + y and x - y of integers, or the end of 64 bits behind which they lie.
mlir::Value stoppedSum(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value x, mlir::Value y);
mlir::Value stoppedDifference(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value x, mlir::Value y);

/// Whether sums of a few small multiples of an integer value cannot leave 64 bits, whatever the arguments are: it is an
/// index, an extent, or stored in 32 bits.
bool isSmallValue(mlir::Value value);

} // namespace attn

#endif // ATTN_COMPILER_OPTIMIZE_ROWVALUES_H
