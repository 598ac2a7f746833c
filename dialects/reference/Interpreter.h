// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The reference interpreter: what a program means, in f64, with the largest
// error that a sound f32 evaluation can have. Slow and plain on purpose; it
// shares no code with the lowering and never sees it.
#ifndef ATTN_DIALECTS_REFERENCE_INTERPRETER_H
#define ATTN_DIALECTS_REFERENCE_INTERPRETER_H

#include "dialects/reference/Result.h"

namespace mlir {
class Operation;
} // namespace mlir

namespace attn::reference {

using Arguments = Buffers;

/// Runs an `attn.program` or `attn.kernel` on arguments by name; `arguments`
/// holds every in and inout, and is not changed. Gives every out and inout.
/// Errors say where in the source the program went wrong, or which argument and
/// axis.
llvm::Expected<Results> interpret(mlir::Operation *program,
                                  const Arguments &arguments);

} // namespace attn::reference

#endif
