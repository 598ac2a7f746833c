//===- PanelStream.h - products that read operands in place -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// With few rows a product is one pass over the other operand: packing it would cost more than multiplying. Blocks are
// read where they are stored, turned in registers and multiplied at once, in the order of the points: the sums have the
// same bits as those of a packed panel.
//===----------------------------------------------------------------------===//
#ifndef ATTN_COMPILER_CPU_PANELSTREAM_H
#define ATTN_COMPILER_CPU_PANELSTREAM_H

#include "compiler/cpu/Packing.h"

namespace attn {

/// Adds the products of all points to `sums`, a vector of columns of one slot per row. The value is read in vectors along the
/// last depth axis. `scalar` gives the element of a row at a point. All other axes of the value are bound. `mayBeAbsent` is set
/// where elements may be absent, which count as 0.
FunctionScope::Values streamSlot(Expressions &x, mlir::Value value, const DepthRange &depth, mlir::StringAttr lane,
                                 mlir::Value firstColumn, mlir::ValueRange sums,
                                 llvm::function_ref<mlir::Value(size_t row, mlir::Value point)> scalar,
                                 bool &mayBeAbsent);

} // namespace attn

#endif // ATTN_COMPILER_CPU_PANELSTREAM_H
