//===- Timing.h - time calls of compiled kernels ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What bench and tune share: inputs that a kernel accepts, and calls that are timed in short samples, so that samples of
// different things can alternate.
//===----------------------------------------------------------------------===//
#ifndef ATTN_TOOLS_ATTNC_TIMING_H
#define ATTN_TOOLS_ATTNC_TIMING_H

#include "tools/attnc/Execute.h"
#include "tools/attnc/Shapes.h"
#include <chrono>

namespace attnc {

using Clock = std::chrono::steady_clock;
double secondsSince(Clock::time_point begin);
double median(std::vector<double> samples);

/// A call that is made again and again.
struct TimedCall {
  std::unique_ptr<Call> call;
  int64_t repeats = 1;         // calls in a sample, where one is too short for the clock
  std::vector<double> seconds; // of one call each

  /// To be called once, before the first sample.
  llvm::Error warmUp();
  /// Samples for about as long as a limit is sampled.
  llvm::Error sample();
};

/// What --threads says, or one for each core.
int threadCount();

using Chosen = std::vector<std::pair<std::string, int64_t>>;
/// The extents of --set. Of several kernels each takes those of its own axes.
llvm::Expected<Chosen> chosenExtentsOf(mlir::ModuleOp module);

/// The inputs of --in and, where extents are chosen or none is given, made-up ones beside them that the kernel accepts.
llvm::Expected<attn::reference::Buffers> acceptedInputs(attn::LoadedObject &object, const attn::Signature &program,
                                                        Chosen chosen, int threads, Device *device = nullptr);

} // namespace attnc

#endif // ATTN_TOOLS_ATTNC_TIMING_H
