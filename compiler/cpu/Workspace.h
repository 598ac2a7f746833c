//===- Workspace.h - where buffers and scratch lie --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Builds `NAME.layout(frame, workers) -> i64`: stores each buffer's offset and the scratch's into the frame and returns
// the bytes of the whole, or -1 when they do not fit 63 bits. It knows neither arguments nor stages.
//===----------------------------------------------------------------------===//
#ifndef ATTN_COMPILER_CPU_WORKSPACE_H
#define ATTN_COMPILER_CPU_WORKSPACE_H

#include "compiler/cpu/Frame.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace attn {

/// Everything in the workspace starts at a multiple of this (ATTN_WORKSPACE_ALIGNMENT).
inline constexpr int64_t workspaceAlignment = 64;

/// `scratch` is NAME.scratch, `shared` NAME.shared; either may be null.
mlir::FailureOr<mlir::func::FuncOp> buildWorkspaceLayout(mlir::OpBuilder &builder, const FrameLayout &layout,
                                                         mlir::func::FuncOp scratch, mlir::func::FuncOp shared);

} // namespace attn

#endif // ATTN_COMPILER_CPU_WORKSPACE_H
