//===- Packing.h - operands as the micro-kernel reads them ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Evaluates an operand once and leaves it in a worker's scratch as f32: panels of
// columns side by side, or rows of scalars. Absent elements become 0. It knows no
// tasks and no loops around a panel.
//===----------------------------------------------------------------------===//
#ifndef ATTN_COMPILER_CPU_PACKING_H
#define ATTN_COMPILER_CPU_PACKING_H

#include "compiler/cpu/Expressions.h"

namespace attn {

/// The points that a panel or a row holds along the contracted axes, the last one
/// innermost. The first axis runs over [from, to), the others over their extents; a
/// range that does not start at 0 starts at `lanes` or later.
struct DepthRange {
  AxisList axes;
  mlir::Value from, to;

  /// How many points one index of the first axis has.
  mlir::Value inner(FunctionScope &f) const;
  /// The distance of points along `axes[i]`.
  mlir::Value step(FunctionScope &f, size_t i) const;
};

/// `lanes` columns side by side: an index of each outer axis, and that of lane 0.
struct ColumnSlot {
  FunctionScope::Values outer;
  mlir::Value first;
};

/// A panel's columns: `vectors` slots, counted over the lane axis and then over outer axes, so that short rows of
/// columns fill a panel together. With `clamp`, some may lie beyond the end; what they hold is unspecified.
struct PanelColumns {
  mlir::StringAttr lane;
  AxisList outer;
  int64_t vectors;
  mlir::Value firstSlot;
  bool clamp;

  int64_t width(const Expressions &x) const { return vectors * x.getLanes(); }
  /// Slots along the lane axis, and all of them.
  mlir::Value slotsPerRow(Expressions &x) const;
  mlir::Value slotCount(Expressions &x) const;
  /// Where the slot `v` of the panel is; past the end, the last slot.
  ColumnSlot slot(Expressions &x, mlir::Value v) const;
  /// Makes the slot's columns run along the lanes of the innermost scope.
  void bind(Expressions &x, const ColumnSlot &slot) const;
};

/// The lanes whose index, counted from `first`, lies below `extent`.
mlir::Value maskBelow(FunctionScope &f, mlir::Value first, mlir::Value extent, int64_t lanes);

/// Exchanges lanes and vectors: as many vectors as lanes, a power of two.
void transposeVectors(FunctionScope &f, llvm::MutableArrayRef<mlir::Value> vectors);

/// Absent elements as 0, in lanes; sets `mayBeAbsent` where there may be some.
mlir::Value orZero(Expressions &x, Datum datum, bool &mayBeAbsent);

/// The strides of what the value reads along the axis, but those that are 1 for certain.
FunctionScope::Values openStridesAlong(FunctionScope &f, mlir::Value value, mlir::StringAttr axis);
/// Where all of them are 1; null: always.
mlir::Value areUnit(Expressions &x, mlir::ValueRange strides);

/// Calls `body` in a scope of its own. The builder stands in a region that has just been opened and has no scope yet.
void inScope(Expressions &x, llvm::function_ref<void()> body);

/// Writes point k, column j of `value` to `panel[k * width + j]`. The panel has room for `lanes` more points in
/// front of it. The other axes of the value are bound. Returns whether elements may be absent.
bool packPanel(Expressions &x, mlir::Value value, const DepthRange &depth, const PanelColumns &columns,
               mlir::Value panel);

/// Writes point k of `value` to `row[k]`, and up to `lanes` elements behind the last one. All other axes are
/// bound. Returns whether elements may be absent.
bool packRow(Expressions &x, mlir::Value value, const DepthRange &depth, mlir::Value row);

} // namespace attn

#endif // ATTN_COMPILER_CPU_PACKING_H
