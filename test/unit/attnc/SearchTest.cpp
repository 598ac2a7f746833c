// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The search, on made-up times: it finds what is fastest, keeps nothing that is wrong, stops, and goes on.
#include "tools/attnc/Search.h"
#include "schedules/CostModel.h"
#include "schedules/Tuning.h"
#include "gtest/gtest.h"

using namespace attn;
using namespace attnc;

namespace {
/// A flash and a contract whose times have one minimum each.
class SearchTest : public ::testing::Test {
protected:
  Target target = llvm::cantFail(findTarget("x86-64-v3"));
  std::vector<StageFacts> facts = {{StageShape::Flash, 64, 64}, {StageShape::Contract, 512, std::nullopt}};
  KernelSchedule first = {{"k", "o", StageShape::Flash, chooseSchedule(facts[0], target)},
                          {"k", "y", StageShape::Contract, chooseSchedule(facts[1], target)}};
  int left = 1000000;
  bool allRight = true;

  static double time(const KernelSchedule &kernel) {
    const Schedule &flash = kernel[0].schedule, &contract = kernel[1].schedule;
    return 2 + std::abs(double(flash.queryTile) - 96) / 96 + std::abs(double(flash.rows) - 6) / 6 +
           std::abs(double(contract.depthTile) - 128) / 128;
  }

  void run(SearchState &state) {
    search(state, facts, target,
           {[](const KernelSchedule &candidate, const KernelSchedule &best, bool) {
              return std::optional<double>(time(candidate) / time(best));
            },
            [&](const KernelSchedule &candidate) { return allRight || candidate[0].schedule.rows != 6; },
            [&] { return left-- <= 0; }, [](const SearchState &) {}});
  }

  SearchState start() {
    SearchState state;
    state.best = first;
    return state;
  }
};
} // namespace

TEST_F(SearchTest, FindsTheFastest) {
  SearchState state = start();
  run(state);
  EXPECT_DOUBLE_EQ(time(state.best), 2);
  EXPECT_NEAR(state.gain, time(first) / 2, 1e-9);
  EXPECT_TRUE(state.complete);
}

TEST_F(SearchTest, KeepsNothingWrong) {
  allRight = false;
  SearchState state = start();
  run(state);
  EXPECT_NE(state.best[0].schedule.rows, 6);
  EXPECT_GT(state.wrong, 0);
  EXPECT_TRUE(state.complete);
}

TEST_F(SearchTest, StopsAndGoesOn) {
  SearchState whole = start(), parts = start();
  run(whole);
  int rounds = 0;
  for (; !parts.complete && rounds < 1000; ++rounds) {
    left = 7;
    size_t before = parts.tried.size();
    run(parts);
    EXPECT_LE(parts.tried.size(), before + 7);
  }
  EXPECT_GT(rounds, 2);
  EXPECT_EQ(scheduleKey(parts.best), scheduleKey(whole.best));
  EXPECT_NEAR(parts.gain, whole.gain, 1e-9);
}

TEST_F(SearchTest, WhatCannotRunIsPassedOver) {
  SearchState state = start();
  search(state, facts, target,
         {[](const KernelSchedule &, const KernelSchedule &, bool) { return std::optional<double>(); },
          [](const KernelSchedule &) { return true; }, [] { return false; }, [](const SearchState &) {}});
  EXPECT_EQ(scheduleKey(state.best), scheduleKey(first));
  EXPECT_TRUE(state.complete);
}
