//===- LinkHalide.h - tasks that Halide generates ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A function that is declared with a plan (the attribute `attn.plan`) gets its code when modules are linked.
//===----------------------------------------------------------------------===//
#ifndef ATTN_COMPILER_EMIT_LINKHALIDE_H
#define ATTN_COMPILER_EMIT_LINKHALIDE_H

#include "compiler/emit/Code.h"
#include "schedules/halide/CompileStage.h"

namespace attn {

/// What Halide must know of a target.
HalideMachine halideMachineOf(const Target &target);

/// Gives a module of Halide's the machine of another one; names of processors are given to all functions alike, later.
void adopt(llvm::Module &module, const llvm::Module &into);

/// Brings in the tasks that Halide generates from the plans of the variant, just translated into the module.
llvm::Error linkHalideTasks(llvm::Module &into, const Variant &variant);

} // namespace attn

#endif // ATTN_COMPILER_EMIT_LINKHALIDE_H
