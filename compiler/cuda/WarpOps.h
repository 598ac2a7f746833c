//===- WarpOps.h - what the lanes of a warp do together ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All 32 lanes must come to each of these. Joins go over lanes in one fixed order, so that sums have the same bits in
// every call.
//===----------------------------------------------------------------------===//
#ifndef ATTN_COMPILER_CUDA_WARPOPS_H
#define ATTN_COMPILER_CUDA_WARPOPS_H

#include "compiler/cpu/FunctionScope.h"

namespace attn {

inline constexpr int64_t warpLanes = 32;

/// The number of the thread in its warp (i32).
mlir::Value laneIndex(FunctionScope &f);
/// `value` (f32, i32 or i64) of lane `lane` (i32).
mlir::Value fromLane(FunctionScope &f, mlir::Value value, mlir::Value lane);
/// `join` over all lanes, in every lane; `join` is commutative.
mlir::Value joinLanes(FunctionScope &f, mlir::Value value,
                      llvm::function_ref<mlir::Value(mlir::Value, mlir::Value)> join);
/// The sum of `value` (i64) of this lane and those before it.
mlir::Value prefixSum(FunctionScope &f, mlir::Value value);
/// Bit i says whether `condition` (i1) holds in lane i (i32).
mlir::Value ballot(FunctionScope &f, mlir::Value condition);

} // namespace attn

#endif // ATTN_COMPILER_CUDA_WARPOPS_H
