//===- Entry.h - the functions that a program calls -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `NAME` and `NAME_workspace`: check the arguments, lay out the workspace, run the stages. They know a stage only as
// functions of these names, which the module holds already:
//   NAME.stageN(frame, task, worker)  one task of stage N, counted from 0
//   NAME.stageN.tasks(frame) -> i64   how many there are
//   NAME.stageN.finish, and its tasks  what begins when all tasks of the stage have ended; absent: nothing
//   NAME.scratch(frame) -> i64        bytes of scratch per worker; absent: none
//   NAME.shared(frame) -> i64         bytes of scratch that the workers share; absent: none
//   NAME.require(frame) -> i32        the number, from 1, of the first attn.require that fails, or 0; absent: none
//===----------------------------------------------------------------------===//
#ifndef ATTN_COMPILER_CPU_ENTRY_H
#define ATTN_COMPILER_CPU_ENTRY_H

#include "compiler/cpu/Frame.h"

namespace attn {

/// Builds both functions and their constants at the end of `module`.
mlir::LogicalResult buildEntry(mlir::ModuleOp module, const FrameLayout &layout);

} // namespace attn

#endif // ATTN_COMPILER_CPU_ENTRY_H
