//===- Pipelines.cpp - the stages between a spec and LLVM -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "compiler/Pipelines.h"
#include "compiler/cpu/Passes.h"
#include "compiler/optimize/Passes.h"

void attn::registerAttnPasses() {
  registerOptimizePasses();
  registerAttnCpuPasses();
}
