//===- Contraction.h - the axes of a matrix product -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a contract stage computes: which axes are rows, columns, batch and depth, and
// whether the scalars can be read where they are stored. It emits no code.
//===----------------------------------------------------------------------===//
#ifndef ATTN_COMPILER_CPU_CONTRACTION_H
#define ATTN_COMPILER_CPU_CONTRACTION_H

#include "compiler/cpu/Frame.h"

namespace attn {

struct Contraction {
  ContractOp op;
  mlir::Value left;  ///< gives the scalars: its own axes are rows
  mlir::Value right; ///< gives the vectors: its own axes are columns
  AxisList batch;
  AxisList rows;         ///< in stored order
  AxisList outerColumns; ///< the columns without the lane axis
  mlir::StringAttr lane;
  AxisList depth; ///< contracted, in the left side's stored order
  /// Rotations and reductions along the lane axis, in order: what follows the product needs whole rows.
  llvm::SmallVector<mlir::Operation *> rowOps;
  /// The read that `left` is, when the depth lies there in one run of elements at
  /// equal steps; the step is that of the last depth axis.
  ReadOp addressable;

  /// Null with a reason when the stage is no such product: point by point then.
  static std::optional<Contraction> find(StageOp stage, const FrameLayout &layout, std::string &why);
};

/// The read that says in which order `value` is stored along the axes; null without one.
ReadOp readAlong(mlir::Value value, llvm::ArrayRef<mlir::StringAttr> axes);

/// The axis that runs along the last stored factor of the read, or from which alone the place in it is computed (two values in a
/// byte: `w[c, d / 2]`); null without one.
mlir::StringAttr innermostAxis(ReadOp read);

/// `axes` as they are stored: those that no index of a place is, first.
AxisList inStoredOrder(llvm::ArrayRef<mlir::StringAttr> axes, mlir::ValueRange indices);

} // namespace attn

#endif // ATTN_COMPILER_CPU_CONTRACTION_H
