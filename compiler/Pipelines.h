//===- Pipelines.h - the stages between a spec and LLVM ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The order of the passes, and the names of the points between them at which a program can be looked at.
//===----------------------------------------------------------------------===//
#ifndef ATTN_COMPILER_PIPELINES_H
#define ATTN_COMPILER_PIPELINES_H

#include "mlir/Pass/PassManager.h"
#include <string>

namespace attn {

struct PipelineOptions {
  /// The processor, by name (schedules/Target.h).
  std::string target = "host";
  /// Schedules in YAML (schedules/Schedule.h); empty: the compiler chooses.
  std::string schedule;
};

/// Stages in order; the first is what the frontend makes.
llvm::ArrayRef<llvm::StringRef> stageNames();

/// The passes of all stages behind `afterStage` (empty: from the start), up to and including `untilStage`, for a module.
void buildPipeline(mlir::OpPassManager &passes, llvm::StringRef untilStage, const PipelineOptions &options = {},
                   llvm::StringRef afterStage = "");

/// Makes every pass of the house known by its name.
void registerAttnPasses();

} // namespace attn

#endif // ATTN_COMPILER_PIPELINES_H
