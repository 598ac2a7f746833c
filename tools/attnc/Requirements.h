//===- Requirements.h - what a program requires of extents ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Extents that a check tries must meet what the program requires of extents alone, and leave room for inputs that it
// accepts. What is required of one argument beside extents gives its range; inputs that break what is required of
// several are left out later.
//===----------------------------------------------------------------------===//
#ifndef ATTN_TOOLS_ATTNC_REQUIREMENTS_H
#define ATTN_TOOLS_ATTNC_REQUIREMENTS_H

#include "tools/attnc/Shapes.h"

namespace attnc {

/// `chosen` and all that follows from it, with one of the `movable` axes after the other set to the nearest extent that
/// meets what is still unmet, such as `C >= W + S - 1`, or as many pages as a table names. Nothing where none does, or
/// where the extents contradict each other.
std::optional<Extents> meetRequirements(const attn::Signature &signature,
                                        std::vector<std::pair<std::string, int64_t>> chosen,
                                        llvm::ArrayRef<std::string> movable);

/// The numbers of argument `index` that meet what the program requires of it and of extents, `0 < len[b] <= 16 * W`:
/// from the smallest on, as far as they go without a gap, but not past `most`. Nothing where nothing is required, or no
/// number is found.
std::optional<std::pair<int64_t, int64_t>> requiredRange(const attn::Signature &signature, unsigned index,
                                                         const Extents &extents, int64_t most);

} // namespace attnc

#endif // ATTN_TOOLS_ATTNC_REQUIREMENTS_H
