//===- Search.h - look for a faster schedule --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Descends from a schedule to ones near it for as long as they are faster. What takes how long, and what is right, is
// asked of the caller: this file knows schedules and ratios, no kernels and no clock.
//===----------------------------------------------------------------------===//
#ifndef ATTN_TOOLS_ATTNC_SEARCH_H
#define ATTN_TOOLS_ATTNC_SEARCH_H

#include "schedules/Schedule.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <optional>

namespace attnc {

/// The schedules of all stages of a kernel.
using KernelSchedule = std::vector<attn::StageSchedule>;

struct SearchState {
  KernelSchedule best;
  /// The time of the first schedule over that of the best one.
  double gain = 1;
  /// Those that were faster, and wrong.
  int wrong = 0;
  /// Nothing near the best is left to try.
  bool complete = false;
  /// The keys of what was tried, in order (schedules/Tuning.h).
  std::vector<std::string> tried;
};

struct SearchQuestions {
  /// The time of `candidate` over that of `best`, more exactly when `thorough`. Nothing where it cannot be built or run.
  llvm::function_ref<std::optional<double>(const KernelSchedule &candidate, const KernelSchedule &best, bool thorough)>
      ratio;
  /// Whether its results are right.
  llvm::function_ref<bool(const KernelSchedule &candidate)> isRight;
  /// Asked before each candidate.
  llvm::function_ref<bool()> shouldStop;
  /// Told after each candidate.
  llvm::function_ref<void(const SearchState &)> progress;
};

/// A schedule is kept when it takes at most so much of the best one's time, twice.
constexpr double worthKeeping = 0.98;

/// Goes on from `state`, whose `best` has a schedule for each of the `facts`. What is in `tried` is not tried again.
void search(SearchState &state, llvm::ArrayRef<attn::StageFacts> facts, const attn::Target &target,
            const SearchQuestions &questions);

} // namespace attnc

#endif // ATTN_TOOLS_ATTNC_SEARCH_H
