//===- SmallFloats.h - floats of 8 bits -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// f8e4m3 and f8e5m2 as bits, on scalars and lanes alike: no back end has instructions for
// them everywhere, so they are integer arithmetic.
//===----------------------------------------------------------------------===//
#ifndef ATTN_COMPILER_CPU_SMALLFLOATS_H
#define ATTN_COMPILER_CPU_SMALLFLOATS_H

#include "compiler/cpu/FunctionScope.h"

namespace attn {

inline bool isSmallFloat(mlir::Type type) { return mlir::isa<mlir::Float8E4M3FNType, mlir::Float8E5M2Type>(type); }

/// The f32 that the bits (i8) of an `element` mean: exact, subnormal numbers, infinities and NaN included.
mlir::Value widenSmallFloat(FunctionScope &f, mlir::Value bits, mlir::Type element);

/// The bits (i8) of the `element` nearest to an f32 or f64, the even one of two. What is larger than the largest
/// number, infinity too, becomes that number; NaN stays NaN.
mlir::Value narrowToSmallFloat(FunctionScope &f, mlir::Value value, mlir::Type element);

} // namespace attn

#endif // ATTN_COMPILER_CPU_SMALLFLOATS_H
