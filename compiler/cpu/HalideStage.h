//===- HalideStage.h - a stage whose tasks Halide generates -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A stage with a plan (the attribute `plan`, schedules/KernelPlan.h) calls the function that the plan becomes.
//===----------------------------------------------------------------------===//
#ifndef ATTN_COMPILER_CPU_HALIDESTAGE_H
#define ATTN_COMPILER_CPU_HALIDESTAGE_H

#include "compiler/cpu/StageLowering.h"

namespace attn {

std::unique_ptr<StageLowering> makeHalideLowering(StageOp stage);

/// Whether what a call is given fits the 32 bits that Halide counts in (i1).
mlir::Value emitFits(FunctionScope &f, llvm::ArrayRef<StageOp> stages);

} // namespace attn

#endif // ATTN_COMPILER_CPU_HALIDESTAGE_H
