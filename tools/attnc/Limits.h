//===- Limits.h - what this machine can do at most --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rates that no kernel can pass: FMA from registers, and reading from memory or from the cache that holds as much. One call takes one short sample, so
// that samples can alternate with the runs they are compared with. Knows nothing of kernels.
//===----------------------------------------------------------------------===//
#ifndef ATTN_TOOLS_ATTNC_LIMITS_H
#define ATTN_TOOLS_ATTNC_LIMITS_H

#include <cstdint>
#include <cstdlib>
#include <memory>

namespace attnc {

class Limits {
public:
  /// Vectors have at most so many f32: the limits of code for a lesser processor are lower.
  Limits(int threads, int64_t mostLanes);
  ~Limits();

  /// One sample of f32 multiply-adds on vectors, in operations (two each) per second.
  double sampleFma();
  /// One sample of reading so many bytes (at most 256 MiB) again and again, in bytes per second: of the memory's rate, or of
  /// that of the smallest cache that holds them.
  double sampleRead(double bytes);

private:
  int threads;
  int64_t mostLanes;
  struct Free {
    void operator()(float *memory) const { std::free(memory); }
  };
  std::unique_ptr<float[], Free> memory;
};

} // namespace attnc

#endif // ATTN_TOOLS_ATTNC_LIMITS_H
