//===- SearchSpace.h - schedules near a schedule ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a tuner tries next. Plain data: it measures nothing.
//===----------------------------------------------------------------------===//
#ifndef ATTN_SCHEDULES_SEARCHSPACE_H
#define ATTN_SCHEDULES_SEARCHSPACE_H

#include "schedules/Schedule.h"

namespace attn {

/// Schedules that differ from `from` in one choice (the route, the products, the register block with the tiles that follow from it, one tile, or
/// one field of the decode form), can work, and are not hopeless by the cost model; those that it likes best first.
/// Before all come the other route and the other products, where there are such: of those the model knows nothing.
std::vector<Schedule> variants(const Schedule &from, const StageFacts &facts, const Target &target);

} // namespace attn

#endif // ATTN_SCHEDULES_SEARCHSPACE_H
