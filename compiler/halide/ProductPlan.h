//===- ProductPlan.h - from a product to a plan -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef ATTN_COMPILER_HALIDE_PRODUCTPLAN_H
#define ATTN_COMPILER_HALIDE_PRODUCTPLAN_H

#include "dialects/attn/Attn.h"
#include "schedules/KernelPlan.h"

namespace attn {

/// Whether a contract stage is a matrix product, and not computed point by point.
bool isProduct(StageOp stage);

/// The plan of such a stage; an error says what a plan cannot say.
llvm::Expected<std::vector<StagePlan>> makeProductPlan(StageOp stage, llvm::StringRef symbol);

} // namespace attn

#endif // ATTN_COMPILER_HALIDE_PRODUCTPLAN_H
