//===- Grid.h - the extents that a check tries ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A small, fixed set of extents for the free axes of a program: 0 and 1, primes, and one less and one more than tiles.
// It knows axes and sizes, not what is done with them.
//===----------------------------------------------------------------------===//
#ifndef ATTN_TOOLS_ATTNC_GRID_H
#define ATTN_TOOLS_ATTNC_GRID_H

#include "tools/attnc/Shapes.h"

namespace attnc {

/// Extents of all axes, case by case. `chosen` ones stay as they are; `tiles` are the sizes that the schedule works in.
/// Cases that would take more than `operations` are left out, and so are extents that contradict the program's facts.
std::vector<Extents> extentGrid(const attn::Signature &signature,
                                llvm::ArrayRef<std::pair<std::string, int64_t>> chosen, llvm::ArrayRef<int64_t> tiles,
                                double operations);

} // namespace attnc

#endif // ATTN_TOOLS_ATTNC_GRID_H
