//===- Absent.cpp - attnc without Halide ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "schedules/halide/CompileStage.h"

bool attn::hasHalide() { return false; }

attn::HalideCode attn::compileStage(const StagePlan &, const HalideMachine &, HalideOutput) {
  return {"", "this attnc was built without Halide"};
}

attn::HalideCode attn::compileRuntime(const HalideMachine &) { return {"", "this attnc was built without Halide"}; }

std::string attn::whyNoHalideOp(const std::string &, PlanKind) { return "this attnc was built without Halide"; }
