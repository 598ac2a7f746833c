//===- Ragged.h - lengths that a call must have -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The extents of ragged axes are data. They are looked at once per call, before workspace
// is laid out: each must be an extent, and fit the arguments that are stored along it.
//===----------------------------------------------------------------------===//
#ifndef ATTN_COMPILER_CPU_RAGGED_H
#define ATTN_COMPILER_CPU_RAGGED_H

#include "compiler/cpu/Expressions.h"

namespace attn {

/// Whether each ragged axis has an extent that no stage changes.
mlir::LogicalResult verifyRagged(const FrameLayout &layout);

/// Gives 0, or the number of the first condition that does not hold (i32, from 1). Writes the largest extent of each
/// ragged axis into its slot of the frame, where it can be written.
mlir::FailureOr<mlir::Value> emitRaggedChecks(FunctionScope &f, bool fillsFrame);

/// Writes instead what the arguments that are stored along the axis have room for, without a look at data. Gives the
/// axes that no argument is stored along; theirs is 0.
AxisList emitRaggedBounds(FunctionScope &f);

/// The sum of a ragged axis' extents, as the dimension of an argument along which it is packed says (i64); null where no
/// argument is.
mlir::Value packedExtent(FunctionScope &f, mlir::StringAttr axis);
bool isPacked(const Signature &signature, mlir::StringAttr axis);

/// Whether an axis is not ragged, or some argument is stored along it.
bool isBounded(const Signature &signature, mlir::StringAttr axis);

/// What those conditions say, in order.
std::vector<std::string> raggedConditions(const FrameLayout &layout);

} // namespace attn

#endif // ATTN_COMPILER_CPU_RAGGED_H
