//===- Substitute.h - values at other places --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rebuilds the value that an `attn.rename` or an `attn.take` stands for from reads and indices,
// so that neither is left above anything but a value that is computed once and stored.
//===----------------------------------------------------------------------===//
#ifndef ATTN_COMPILER_OPTIMIZE_SUBSTITUTE_H
#define ATTN_COMPILER_OPTIMIZE_SUBSTITUTE_H

#include "dialects/attn/Attn.h"

namespace attn {

/// Replaces every `attn.rename` of the program, and every `attn.take` of a pointwise value. A contraction,
/// reduction, normaliser or rotation that only the rename reads is renamed itself; one that others read too is
/// taken from along the new index.
void sinkRenames(ProgramOp program);

} // namespace attn

#endif // ATTN_COMPILER_OPTIMIZE_SUBSTITUTE_H
