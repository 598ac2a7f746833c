//===- StageSchedules.h - a schedule for each stage -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Between schedules as data and `attn.stage`: what is known of a stage, which schedule it gets,
// and the schedules of a module that has been decided.
//===----------------------------------------------------------------------===//
#ifndef ATTN_COMPILER_DECIDE_STAGESCHEDULES_H
#define ATTN_COMPILER_DECIDE_STAGESCHEDULES_H

#include "dialects/attn/Attn.h"
#include "schedules/Schedule.h"

namespace attn {

/// The schedules that a user gave, and which of them have been meant for some stage.
class ScheduleChooser {
public:
  /// `wanted`: the route of stages whose given schedule says none.
  ScheduleChooser(Target target, std::vector<StageSchedule> given, Route wanted)
      : target(std::move(target)), given(std::move(given)), used(this->given.size()), wanted(wanted) {}

  /// The schedule of a stage: the given one where there is one and it can work, else the cost model's. A given
  /// one that cannot work is an error at `loc`.
  mlir::FailureOr<ScheduleAttr> choose(mlir::Location loc, llvm::StringRef kernel, llvm::StringRef name,
                                       const StageFacts &facts);

  /// Fails, with the names that there are, when a given schedule was meant for no stage of the module.
  mlir::LogicalResult checkAllUsed(mlir::ModuleOp module) const;

private:
  Target target;
  std::vector<StageSchedule> given;
  std::vector<bool> used;
  Route wanted;
};

StageKind stageKind(StageShape kind);

/// What is known of a flash or a contraction when compiling.
StageFacts factsOf(mlir::Operation *op, const Signature &signature);

/// The schedules of every stage, as `--schedule` prints and takes them.
std::vector<StageSchedule> schedulesOf(mlir::ModuleOp module);
/// What was known of each of those stages when it got its schedule.
std::vector<StageFacts> factsOf(mlir::ModuleOp decided);

} // namespace attn

#endif // ATTN_COMPILER_DECIDE_STAGESCHEDULES_H
