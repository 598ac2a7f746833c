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

/// An f32 operand `w[..., depth..., l]` whose last index goes through the columns of a slot one by one, while those in
/// front of the depth stay.
struct StoredPanels {
  ReadOp read;   ///< null: there are none
  int64_t pitch; ///< of points: the extent of the last dimension, a multiple of the lanes

  /// What the right side of the product is.
  static StoredPanels find(const Contraction &product, const FrameLayout &layout, int64_t lanes);
  explicit operator bool() const { return bool(read); }

  /// The address of a slot's first column at the first point of the range. The other axes of the operand are bound.
  /// `inPlace` becomes false where the tensor's strides are others, or the slot lies outside of it.
  mlir::Value address(Expressions &x, const DepthRange &depth, const PanelColumns &columns, const ColumnSlot &slot,
                      mlir::Value &inPlace) const;
};

} // namespace attn

#endif // ATTN_COMPILER_CPU_PANELS_H
