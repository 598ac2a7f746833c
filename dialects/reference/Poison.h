// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Finds what has no effect on a program's results (masked keys, slots past a
// length, pages that nobody maps) and fills it with NaN and infinities, so that
// a kernel that touches it shows. Needs no knowledge of masks: the interpreter
// says what has an effect.
#ifndef ATTN_DIALECTS_REFERENCE_POISON_H
#define ATTN_DIALECTS_REFERENCE_POISON_H

#include "dialects/reference/Interpreter.h"

namespace attn::reference {

struct Poisoned {
  Arguments arguments;
  /// Of the poisoned arguments: what is left alone of an inout keeps its
  /// poison.
  Results expected;
  /// How many elements hold poison now.
  int64_t elements = 0;
};

/// Poisons float arguments by rows of their last dimension (small ones by
/// element), with at most `runs` runs of the interpreter. `expected` is of
/// `arguments`.
Poisoned poisonAbsent(mlir::Operation *program, const Arguments &arguments,
                      Results expected, int64_t runs = 96);

} // namespace attn::reference

#endif
