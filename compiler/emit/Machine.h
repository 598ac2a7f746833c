//===- Machine.h - LLVM's view of a target ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The part of LLVM that generates code for a target. It knows no kernels.
//===----------------------------------------------------------------------===//
#ifndef ATTN_COMPILER_EMIT_MACHINE_H
#define ATTN_COMPILER_EMIT_MACHINE_H

#include "schedules/Target.h"
#include "llvm/Support/Error.h"
#include "llvm/Target/TargetMachine.h"
#include <memory>

namespace llvm {
class Module;
}

namespace attn {

/// Code generation for a target; an error when this LLVM cannot serve it.
llvm::Expected<std::unique_ptr<llvm::TargetMachine>> makeTargetMachine(const Target &target);

/// The same for the devices of a CUDA target.
llvm::Expected<std::unique_ptr<llvm::TargetMachine>> makeDeviceMachine(const Target &target);

/// The attn_cpu_level (runtime/bind/Level.c) that code for the machine needs; 0: any processor runs it.
int requiredLevel(const llvm::Module &module, const llvm::TargetMachine &machine);

/// The level of code that uses matrix tiles: what level 4 asks for, and attn_cpu_tiles.
inline constexpr int tileLevel = 5;

} // namespace attn

#endif // ATTN_COMPILER_EMIT_MACHINE_H
