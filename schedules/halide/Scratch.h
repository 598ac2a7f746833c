//===- Scratch.h - how much memory a task allocates -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef ATTN_SCHEDULES_HALIDE_SCRATCH_H
#define ATTN_SCHEDULES_HALIDE_SCRATCH_H

#include "schedules/halide/StageParts.h"

namespace attn {

/// The most bytes that a task has allocated at once, with room for what an allocator adds to each: an i64 of the
/// plan's scalars, read off the lowered code. Throws where that says no bound.
Halide::Expr scratchBytes(const Halide::Internal::LoweredFunc &function, StageParts &parts);

} // namespace attn

#endif // ATTN_SCHEDULES_HALIDE_SCRATCH_H
