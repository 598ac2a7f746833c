//===- HalideStage.h - a stage whose tasks Halide generates -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A stage with plans (the attribute `plans`, schedules/KernelPlan.h) calls the functions that they become.
//===----------------------------------------------------------------------===//
#ifndef ATTN_COMPILER_CPU_HALIDESTAGE_H
#define ATTN_COMPILER_CPU_HALIDESTAGE_H

#include "compiler/cpu/StageLowering.h"

namespace attn {

std::unique_ptr<StageLowering> makeHalideLowering(StageOp stage);
/// Of a contract stage.
std::unique_ptr<StageLowering> makeHalideProductLowering(StageOp stage);

/// Whether what a call is given fits the 32 bits that Halide counts in (i1).
mlir::Value emitFits(FunctionScope &f, llvm::ArrayRef<StageOp> stages);

} // namespace attn

#endif // ATTN_COMPILER_CPU_HALIDESTAGE_H
