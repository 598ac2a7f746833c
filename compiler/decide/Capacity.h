//===- Capacity.h - writes stay inside --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef ATTN_COMPILER_DECIDE_CAPACITY_H
#define ATTN_COMPILER_DECIDE_CAPACITY_H

#include "compiler/decide/Inliner.h"
#include "llvm/ADT/StringMap.h"

namespace attn {

/// Requires at `builder` that a write whose place is known before anything runs stays within its tensor, so that a
/// position past the capacity of a cache is refused and not dropped. `known` are the extents that are constant.
void requireCapacity(mlir::OpBuilder &builder, Inliner &inliner, const Signature &signature, WriteOp write,
                     const llvm::StringMap<int64_t> &known);

} // namespace attn

#endif // ATTN_COMPILER_DECIDE_CAPACITY_H
