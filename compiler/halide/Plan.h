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

/// The plans of a stage, one for each form that it needs: of a flash a tile and a chunk, or one for a device; of a product one.
/// An error says what a plan cannot say.
/// The functions that will run their tasks have names that begin with `symbol`.
llvm::Expected<std::vector<StagePlan>> makePlans(StageOp stage, llvm::StringRef symbol, bool onDevice);

} // namespace attn

#endif // ATTN_COMPILER_HALIDE_PLAN_H
