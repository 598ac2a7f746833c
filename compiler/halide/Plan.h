//===- Plan.h - from a stage to a plan --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads a stage of a decided kernel into plain data (schedules/KernelPlan.h). It decides nothing, and knows no Halide.
//===----------------------------------------------------------------------===//
#ifndef ATTN_COMPILER_HALIDE_PLAN_H
#define ATTN_COMPILER_HALIDE_PLAN_H

#include "dialects/attn/Attn.h"
#include "schedules/KernelPlan.h"

namespace attn {

/// The plan of a flash stage; an error says what a plan cannot say. `symbol` is the function that will run a task.
llvm::Expected<StagePlan> makePlan(StageOp stage, llvm::StringRef symbol);

} // namespace attn

#endif // ATTN_COMPILER_HALIDE_PLAN_H
