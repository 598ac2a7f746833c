//===- CompileStage.h - from a plan to code through Halide ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The only door to Halide. Neither LLVM's headers nor Halide's pass through it, and no exception does.
//===----------------------------------------------------------------------===//
#ifndef ATTN_SCHEDULES_HALIDE_COMPILESTAGE_H
#define ATTN_SCHEDULES_HALIDE_COMPILESTAGE_H

#include "schedules/KernelPlan.h"

namespace attn {

/// What Halide must know of a processor; registers and features are LLVM's business, after it.
struct HalideMachine {
  enum { X86, X86_AVX2, X86_AVX512, AArch64 } kind = X86;
};

enum class HalideOutput {
  Bitcode,  ///< of LLVM 21: one function, `int(arena, tensors read, scalars as i64, first block, blocks, results)`
  Stmt,     ///< the lowered loops
  StmtHtml, ///< the same to browse
  Schedule  ///< the loops as scheduled, before they are lowered
};

struct HalideCode {
  std::string bytes;
  /// Why there is no code; empty when there is.
  std::string error;
};

/// Whether attnc was built with Halide.
bool hasHalide();

/// The code of one task of a stage: the queries that the results' buffers cover, against blocks of keys.
HalideCode compileStage(const StagePlan &plan, const HalideMachine &machine, HalideOutput output);

/// Why Halide's algebra cannot say a scalar operation; empty when it can.
std::string whyNoHalideOp(const std::string &op, PlanKind kind);

} // namespace attn

#endif // ATTN_SCHEDULES_HALIDE_COMPILESTAGE_H
