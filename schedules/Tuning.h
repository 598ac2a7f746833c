//===- Tuning.h - what a tuner found ----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A tuning file is a list of entries, each for one kernel at some extents on one target. It holds what was found and
// what was tried on the way, so that a search can go on where it stopped.
//===----------------------------------------------------------------------===//
#ifndef ATTN_SCHEDULES_TUNING_H
#define ATTN_SCHEDULES_TUNING_H

#include "schedules/Schedule.h"

namespace attn {

/// What a schedule was measured for.
struct TuningKey {
  std::string kernel;
  /// `B=1,S=2048`: of every axis.
  std::string extents;
  /// As the user names it, and the processor that this was.
  std::string target, machine;
  int64_t threads = 1;
  /// Changes with the compiler, and with the program (its text, and extents that were fixed).
  std::string compiler, program;

  bool operator==(const TuningKey &other) const;
};

struct TuningEntry {
  TuningKey key;
  /// The default schedule's time over that of `stages`.
  double gain = 1;
  /// Empty: the default stands.
  std::vector<StageSchedule> stages;
  /// Whether nothing that is near was left to try.
  bool complete = false;
  /// Of each schedule that was measured, in the form of `scheduleKey`.
  std::vector<std::string> tried;
};

/// An error says what is wrong, and where.
llvm::Expected<std::vector<TuningEntry>> parseTuning(llvm::StringRef text);
std::string printTuning(llvm::ArrayRef<TuningEntry> entries);

/// The schedules of a kernel's stages in a line.
std::string scheduleKey(llvm::ArrayRef<StageSchedule> stages);

/// The entry with the key; null when there is none.
TuningEntry *findEntry(std::vector<TuningEntry> &entries, const TuningKey &key);

/// What a compiler should use for a kernel, whatever the extents of a call will be.
struct TunedChoice {
  /// Null: nothing that still holds.
  const TuningEntry *entry = nullptr;
  /// Extents of other entries that hold as well, and were passed over for the last one in the file.
  std::vector<std::string> others;
  /// Why entries for this kernel and target do not hold any more; empty when all do.
  std::string stale;
};
/// `wanted.extents` and `wanted.threads` are not looked at.
TunedChoice chooseTuned(llvm::ArrayRef<TuningEntry> entries, const TuningKey &wanted);

} // namespace attn

#endif // ATTN_SCHEDULES_TUNING_H
