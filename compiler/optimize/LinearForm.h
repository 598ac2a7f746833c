//===- LinearForm.h - integers as multiples of one index --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes an integer scalar of a map's region as coefficient * index(axis) + rest, with the rest as
// values that lack the axis. Knows nothing of masks.
//===----------------------------------------------------------------------===//
#ifndef ATTN_COMPILER_OPTIMIZE_LINEARFORM_H
#define ATTN_COMPILER_OPTIMIZE_LINEARFORM_H

#include "compiler/optimize/Expressions.h"

namespace attn {

/// coefficient * index + sum of factor * part + constant. The parts are i64 values without the axis.
struct LinearForm {
  int64_t coefficient = 0;
  int64_t constant = 0;
  llvm::SmallVector<std::pair<int64_t, mlir::Value>> parts;

  LinearForm scaled(int64_t factor) const;
  LinearForm plus(const LinearForm &other) const;
  /// Whether no sum of a few such forms can leave 64 bits, whatever the arguments are: made of indices, extents and
  /// narrow integers.
  bool isSmall() const;
  /// The value of everything but the index, `offset` added.
  mlir::Value rest(mlir::OpBuilder &builder, mlir::Location loc, int64_t offset) const;
};

/// Finds linear forms. New values stand at `builder`; `region`, when given, is a region whose own values must
/// not be used there: what depends on its arguments has no form.
class LinearForms {
public:
  LinearForms(mlir::OpBuilder &builder, mlir::StringAttr axis, mlir::Region *region)
      : builder(builder), axis(axis), region(region) {}

  /// The form of a scalar in the region of `map`; nothing when it is not linear.
  std::optional<LinearForm> ofScalar(MapOp map, mlir::Value scalar);
  std::optional<LinearForm> ofValue(mlir::Value value);
  /// A value without the axis, as it can be used at `builder`; null when that is impossible.
  mlir::Value outside(mlir::Value value);
  /// A scalar of the region of `map` that needs no operand with the axis, as a value; null otherwise.
  mlir::Value scalarAsValue(MapOp map, mlir::Value scalar);

private:
  mlir::OpBuilder &builder;
  mlir::StringAttr axis;
  mlir::Region *region;
};

} // namespace attn

#endif // ATTN_COMPILER_OPTIMIZE_LINEARFORM_H
