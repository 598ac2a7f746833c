//===- Machine.h - what LLVM must know of a processor -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Target machines by triple, processor and features. It knows no kernels.
//===----------------------------------------------------------------------===//
#ifndef ATTN_COMPILER_EMIT_MACHINE_H
#define ATTN_COMPILER_EMIT_MACHINE_H

#include "llvm/Support/Error.h"
#include "llvm/Target/TargetMachine.h"
#include <memory>
#include <string>

namespace attn {

struct Machine {
  /// As the user names it: `host`, `x86-64-v3`, `aarch64`.
  std::string name;
  std::string triple;
  std::string cpu;
  /// LLVM's list: `+avx2,+fma`.
  std::string features;
  /// Bits of the widest vectors that pay; 0: LLVM's choice.
  unsigned vectorBits = 0;
};

/// This processor.
Machine hostMachine();

/// Code generation for a machine; an error when this LLVM cannot serve it.
llvm::Expected<std::unique_ptr<llvm::TargetMachine>> makeTargetMachine(const Machine &machine);

/// The level of attn_cpu_level (runtime/bind/Level.c) that the machine's code needs; 0: any processor runs it.
int requiredLevel(const llvm::TargetMachine &machine);

} // namespace attn

#endif // ATTN_COMPILER_EMIT_MACHINE_H
