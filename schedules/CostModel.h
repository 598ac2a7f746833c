//===- CostModel.h - schedules without being asked --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A good schedule for a stage on a target. It runs nothing and measures nothing.
//===----------------------------------------------------------------------===//
#ifndef ATTN_SCHEDULES_COSTMODEL_H
#define ATTN_SCHEDULES_COSTMODEL_H

#include "schedules/Schedule.h"

namespace attn {

/// Always valid for the same facts and target.
Schedule chooseSchedule(const StageFacts &facts, const Target &target);

} // namespace attn

#endif // ATTN_SCHEDULES_COSTMODEL_H
