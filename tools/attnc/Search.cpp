//===- Search.cpp - look for a faster schedule ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "tools/attnc/Search.h"

#include "schedules/SearchSpace.h"
#include "schedules/Tuning.h"
#include "llvm/ADT/StringSet.h"

using namespace attn;
using namespace attnc;

namespace {
class Searcher {
public:
  Searcher(SearchState &state, llvm::ArrayRef<StageFacts> facts, const Target &target, const SearchQuestions &questions)
      : state(state), facts(facts), target(target), questions(questions) {
    for (const std::string &key : state.tried)
      known.insert(key);
    known.insert(scheduleKey(state.best));
  }

  void run() {
    // A stage that became faster may leave room for another: around until none does.
    size_t unchanged = 0;
    for (size_t stage = 0; unchanged < facts.size(); stage = (stage + 1) % facts.size()) {
      bool improved = false;
      while (std::optional<bool> better = improve(stage)) {
        improved |= *better;
        if (!*better)
          break;
      }
      if (stopped)
        return;
      unchanged = improved ? 0 : unchanged + 1;
    }
    state.complete = true;
  }

private:
  /// Whether something near the best schedule of the stage is better; nothing when it is time to stop.
  std::optional<bool> improve(size_t stage) {
    for (const Schedule &variant : variants(state.best[stage].schedule, facts[stage], target)) {
      KernelSchedule candidate = state.best;
      candidate[stage].schedule = variant;
      std::string key = scheduleKey(candidate);
      if (known.contains(key))
        continue;
      if (questions.shouldStop()) {
        stopped = true;
        return std::nullopt;
      }
      bool better = tryOne(candidate);
      known.insert(key);
      state.tried.push_back(key);
      questions.progress(state);
      if (better)
        return true;
    }
    return false;
  }

  /// Takes the candidate when it is faster, twice, and right.
  bool tryOne(const KernelSchedule &candidate) {
    for (bool thorough : {false, true}) {
      std::optional<double> ratio = questions.ratio(candidate, state.best, thorough);
      if (!ratio || *ratio > worthKeeping)
        return false;
      if (!thorough)
        continue;
      if (!questions.isRight(candidate)) {
        ++state.wrong;
        return false;
      }
      state.best = candidate;
      state.gain /= *ratio;
    }
    return true;
  }

  SearchState &state;
  llvm::ArrayRef<StageFacts> facts;
  const Target &target;
  const SearchQuestions &questions;
  llvm::StringSet<> known;
  bool stopped = false;
};
} // namespace

void attnc::search(SearchState &state, llvm::ArrayRef<StageFacts> facts, const Target &target,
                   const SearchQuestions &questions) {
  Searcher(state, facts, target, questions).run();
}
