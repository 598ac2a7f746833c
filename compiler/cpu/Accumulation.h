//===- Accumulation.h - one step of a sum or an extremum --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How reductions start and join elements. It knows no loops.
//===----------------------------------------------------------------------===//
#ifndef ATTN_COMPILER_CPU_ACCUMULATION_H
#define ATTN_COMPILER_CPU_ACCUMULATION_H

#include "compiler/cpu/FunctionScope.h"

namespace attn {

struct Accumulation {
  FunctionScope &f;
  mlir::Type type; ///< of the accumulator: a scalar or lanes
  bool isFloat = mlir::isa<mlir::FloatType>(mlir::getElementTypeOrSelf(type));

  /// What joins with nothing.
  mlir::Value start(Reduction kind);
  /// A mean joins as a sum.
  mlir::Value join(Reduction kind, mlir::Value sum, mlir::Value value);
  /// Joins the lanes, a power of two, by halves.
  mlir::Value acrossLanes(Reduction kind, mlir::Value lanes);

private:
  mlir::Value integer(int64_t value);
};

} // namespace attn

#endif // ATTN_COMPILER_CPU_ACCUMULATION_H
