//===- CostModel.h - schedules without being asked --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A good schedule for a stage on a target. It runs nothing and measures nothing.
//===----------------------------------------------------------------------===//
#ifndef ATTN_SCHEDULES_COSTMODEL_H
#define ATTN_SCHEDULES_COSTMODEL_H

#include "schedules/Schedule.h"

namespace attn {

/// For a route, where it is known, which the schedule itself does not say; always valid for the same facts and target.
Schedule chooseSchedule(const StageFacts &facts, const Target &target, Route route = Route::Unsaid);

/// How long a valid schedule would take with many queries and keys, as a multiple of the time of its multiply-adds alone
/// (1: the FMA peak). It knows register blocks, packing, the traffic between tiles, and caches; not what a score or a mask
/// costs, and nothing of the decode form. 1 for a nest.
double predictedCost(const Schedule &schedule, const StageFacts &facts, const Target &target);

/// Why the schedule's numbers make sense, or cost something, a line for each; the predicted cost last. Fields that the
/// stage does not read are not mentioned.
std::vector<std::string> explain(const Schedule &schedule, const StageFacts &facts, const Target &target);

} // namespace attn

#endif // ATTN_SCHEDULES_COSTMODEL_H
