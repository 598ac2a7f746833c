//===- Target.h - a processor, as schedules see it --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Plain data: registers and caches. It knows no code generation and no stage.
//===----------------------------------------------------------------------===//
#ifndef ATTN_SCHEDULES_TARGET_H
#define ATTN_SCHEDULES_TARGET_H

#include "schedules/DeviceInterface.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <string>

namespace attn {

struct Target {
  /// As the user names it: `host`, `x86-64-v3`, `x86-64-amx`, `aarch64`, `cuda:sm_80`, `opencl`.
  std::string name;
  std::string triple;
  /// What LLVM calls the processor, and its list of features: `+avx2,+fma`.
  std::string cpu;
  std::string features;
  /// f32 elements in a vector register, and how many such registers there are. Code generation must be told to use
  /// vectors of lanes * 32 bits: LLVM prefers shorter ones on some processors.
  int64_t lanes = 4;
  int64_t vectorRegisters = 16;
  /// Bytes of one core's caches.
  int64_t l1Bytes = 32 << 10;
  int64_t l2Bytes = 512 << 10;
  /// Whether it multiplies tiles of bf16 (Intel AMX).
  bool hasTiles = false;
  /// Of `cuda:sm_80`: 80. What is above is then the processor that calls, but for lanes: threads hold scalars.
  int64_t cudaArch = 0;
  /// Where attentions run that Halide generates; what is above is the processor that calls, and does all else.
  DeviceInterface device = DeviceInterface::None;

  bool isCuda() const { return cudaArch != 0; }
  bool hasDevice() const { return device != DeviceInterface::None; }
};

/// The targets that can be asked for by name, `host` among them.
llvm::ArrayRef<llvm::StringRef> targetNames();

/// A target by name; an error names those that there are.
llvm::Expected<Target> findTarget(llvm::StringRef name);

/// This machine: LLVM's detection, and the caches that the system reports.
Target hostTarget();

} // namespace attn

#endif // ATTN_SCHEDULES_TARGET_H
