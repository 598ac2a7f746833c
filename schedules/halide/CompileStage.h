//===- CompileStage.h - from a plan to code through Halide ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The only door to Halide. Neither LLVM's headers nor Halide's pass through it, and no exception does.
//===----------------------------------------------------------------------===//
#ifndef ATTN_SCHEDULES_HALIDE_COMPILESTAGE_H
#define ATTN_SCHEDULES_HALIDE_COMPILESTAGE_H

#include "schedules/DeviceInterface.h"
#include "schedules/KernelPlan.h"

namespace attn {

/// What Halide must know of a processor; registers and features are LLVM's business, after it.
struct HalideMachine {
  enum { X86, X86_AVX2, X86_AVX512, AArch64 } kind = X86;
  /// Where stages run that have a plan for a device.
  DeviceInterface device = DeviceInterface::None;
};

enum class HalideOutput {
  /// Of LLVM 21. A function `int(arena, ..., results)`; in between
  ///   tile   tensors that are read, scalars as i64, first block, blocks
  ///   chunk  tensors, scalars, first key, keys; results are maximum, sum and mixes
  ///   merge  maximum, sum and mixes of chunks, tensors, scalars, chunks
  ///   product tensors, scalars, first row, rows, first slot, slots, whether there is a whole slot (bool)
  ///   device tensors, scalars; not 0: an error, which halide_error was told
  /// and, with `.scratch` behind its name, `int(null, scalars, bytes)`: what the function allocates, as a buffer of an i64.
  Bitcode,
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

/// The code of one task of a stage: of the part that the plan says.
HalideCode compileStage(const StagePlan &plan, const HalideMachine &machine, HalideOutput output);

/// What starts code on the machine's device and moves memory: Halide's runtime, as bitcode of LLVM 21.
HalideCode compileRuntime(const HalideMachine &machine);

/// Why Halide's algebra cannot say a scalar operation; empty when it can.
std::string whyNoHalideOp(const std::string &op, PlanKind kind);

} // namespace attn

#endif // ATTN_SCHEDULES_HALIDE_COMPILESTAGE_H
