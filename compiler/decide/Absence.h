//===- Absence.h - absence that storage does not keep -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef ATTN_COMPILER_DECIDE_ABSENCE_H
#define ATTN_COMPILER_DECIDE_ABSENCE_H

#include "dialects/attn/Attn.h"

namespace attn {

/// Weights and rotated values are absent where their operand is. Says so by an `attn.where` behind them, which is
/// evaluated where they are read, so that they can be stored without it.
void makeAbsenceExplicit(ProgramOp program);

} // namespace attn

#endif // ATTN_COMPILER_DECIDE_ABSENCE_H
