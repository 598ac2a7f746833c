//===- Panels.h - columns that are stored side by side ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A weight may be stored as the micro-kernel reads it: some columns side by side, point after point (attn_pack). Then
// nothing is packed in a call. This finds such operands by how they are read, whoever laid them out.
//===----------------------------------------------------------------------===//
#ifndef ATTN_COMPILER_CPU_PANELS_H
#define ATTN_COMPILER_CPU_PANELS_H

#include "compiler/cpu/Contraction.h"
#include "compiler/cpu/Packing.h"

namespace attn {

/// An f32 operand `w[c / P, depth..., c % P]`, where c counts the product's columns from any multiple of P on.
struct StoredPanels {
  ReadOp read;   ///< null: there are none
  int64_t pitch; ///< P, from one point to the next: a multiple of the lanes
  int64_t count; ///< stored panels in one of the product's

  /// What the right side of the product is, cut into panels of `vectors` slots.
  static StoredPanels find(const Contraction &product, const FrameLayout &layout, int64_t lanes, int64_t vectors);
  explicit operator bool() const { return bool(read); }

  /// The address of the first slot's first column at the first point of the range. The other axes of the operand are bound.
  /// `inPlace` tells whether the tensor is compact and holds all slots.
  mlir::Value address(Expressions &x, const DepthRange &depth, const PanelColumns &columns,
                      const ColumnSlot &first, mlir::Value &inPlace) const;
  /// From there to vector `v` of point `k`, in elements.
  mlir::Value offset(FunctionScope &f, const DepthRange &depth, int64_t v, int64_t lanes, mlir::Value k) const;

private:
  /// Elements of a panel.
  mlir::Value size(FunctionScope &f, const DepthRange &depth) const;
};

} // namespace attn

#endif // ATTN_COMPILER_CPU_PANELS_H
