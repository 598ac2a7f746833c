// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tuning files: text both ways, faults, and which entries still hold. The search space: what can work, and nothing else.
#include "schedules/CostModel.h"
#include "schedules/SearchSpace.h"
#include "schedules/Tuning.h"
#include "gtest/gtest.h"

using namespace attn;

static const Schedule block = {8, 2, 6, 192, 60, 256};

static TuningEntry entry(const std::string &extents) {
  TuningEntry made;
  made.key = {"mha", extents, "host", "znver3", 1, "attnc 1", "abc"};
  made.gain = 1.25;
  made.stages = {{"mha", "o", StageShape::Flash, block}};
  made.tried = {"o 8x2x6 q96 k60 d256 f0 c0"};
  return made;
}

TEST(TuningText, RoundTrip) {
  TuningEntry complete = entry("S=9");
  complete.complete = true;
  complete.stages.clear();
  std::string text = printTuning({entry("S=8"), complete});
  std::vector<TuningEntry> back = llvm::cantFail(parseTuning(text));
  ASSERT_EQ(back.size(), 2u);
  EXPECT_TRUE(back[0].key == entry("S=8").key);
  EXPECT_EQ(back[0].stages[0].schedule, block);
  EXPECT_EQ(back[0].tried, entry("S=8").tried);
  EXPECT_FALSE(back[0].complete);
  EXPECT_TRUE(back[1].complete);
  EXPECT_TRUE(back[1].stages.empty());
  EXPECT_EQ(printTuning(back), text);
}

TEST(TuningText, FaultsSayWhere) {
  auto fault = [](llvm::StringRef text) { return llvm::toString(parseTuning(text).takeError()); };
  EXPECT_EQ(fault("- kernel: mha\n"), "tuning: line 1: missing required key 'extents'");
  std::string text = printTuning({entry("S=8")});
  std::string negative = text;
  negative.replace(negative.find("1.25"), 4, "-1.0");
  EXPECT_NE(fault(negative).find("gain is not above 0"), std::string::npos) << fault(negative);
  // Cut off in the middle, as by a full disk.
  EXPECT_NE(fault(text.substr(0, text.find("program"))).find("missing required key 'program'"), std::string::npos);
}

TEST(TunedChoice, TheLastThatHolds) {
  std::vector<TuningEntry> entries = {entry("S=8"), entry("S=9"), entry("S=10")};
  entries[2].key.compiler = "attnc 2";
  TunedChoice choice = chooseTuned(entries, entry("").key);
  ASSERT_TRUE(choice.entry);
  EXPECT_EQ(choice.entry->key.extents, "S=9");
  EXPECT_EQ(choice.others, std::vector<std::string>{"S=8"});
  EXPECT_EQ(choice.stale, "it was made with attnc 2, this is attnc 1");
}

TEST(TunedChoice, AnotherProgramMachineOrKernel) {
  TuningKey wanted = entry("").key;
  wanted.program = "def";
  EXPECT_EQ(chooseTuned({entry("S=8")}, wanted).entry, nullptr);
  EXPECT_NE(chooseTuned({entry("S=8")}, wanted).stale.find("another one"), std::string::npos);
  wanted = entry("").key;
  wanted.machine = "znver4";
  EXPECT_NE(chooseTuned({entry("S=8")}, wanted).stale.find("znver3"), std::string::npos);
  wanted = entry("").key;
  wanted.kernel = "other";
  EXPECT_EQ(chooseTuned({entry("S=8")}, wanted).entry, nullptr);
  EXPECT_EQ(chooseTuned({entry("S=8")}, wanted).stale, "");
}

TEST(SearchSpace, AllCanWorkAndTheCheapestComesFirst) {
  for (const char *name : {"x86-64-v3", "x86-64-v4", "aarch64"})
    for (StageFacts facts : {StageFacts{StageShape::Flash, 64, 64}, StageFacts{StageShape::Flash, 576, 512},
                             StageFacts{StageShape::Contract, 4096, std::nullopt}}) {
      Target target = llvm::cantFail(findTarget(name));
      Schedule from = chooseSchedule(facts, target);
      std::vector<Schedule> near = variants(from, facts, target);
      EXPECT_GT(near.size(), 10u);
      double last = 0;
      for (const Schedule &each : near) {
        EXPECT_EQ(llvm::toString(validate(each, facts, target)), "");
        EXPECT_FALSE(each == from);
        double cost = predictedCost(each, facts, target);
        EXPECT_LE(last, cost);
        EXPECT_LE(cost, 1.5 * predictedCost(from, facts, target));
        last = cost;
      }
    }
}

TEST(SearchSpace, RoutesWhereThereAreSome) {
  Target target = llvm::cantFail(findTarget("x86-64-v3"));
  for (StageShape kind : {StageShape::Flash, StageShape::Contract}) {
    StageFacts facts{kind, 64, 64};
    Schedule from = chooseSchedule(facts, target);
    from.route = Route::Mlir;
    auto onHalide = [&] {
      return llvm::count_if(variants(from, facts, target), [](const Schedule &each) { return each.route == Route::Halide; });
    };
    EXPECT_EQ(onHalide(), 0);
    facts.hasRoutes = true;
    EXPECT_EQ(onHalide(), 1);
    Schedule other = from;
    other.route = Route::Halide;
    std::vector<StageSchedule> one{{"mha", "o", kind, from}}, two{{"mha", "o", kind, other}};
    EXPECT_NE(scheduleKey(one), scheduleKey(two));
    EXPECT_EQ(llvm::cantFail(parseSchedules(printSchedules(two)))[0].schedule, other);
    EXPECT_NE(printSchedules(two).find("halide"), std::string::npos);
  }
}

TEST(SearchSpace, LanesForTilesAndTilesForLanes) {
  Target target = llvm::cantFail(findTarget("x86-64-amx"));
  StageFacts facts{StageShape::Flash, 64, 64};
  facts.bf16Parts = 1;
  Schedule from = chooseSchedule(facts, target), other = variants(from, facts, target).front();
  EXPECT_EQ(other.products, Products::Lanes);
  EXPECT_EQ(llvm::toString(validate(other, facts, target)), "");
  EXPECT_EQ(variants(other, facts, target).front().products, Products::Tiles);
  std::vector<StageSchedule> one{{"mha", "o", StageShape::Flash, from}}, two{{"mha", "o", StageShape::Flash, other}};
  EXPECT_NE(scheduleKey(one), scheduleKey(two));
  EXPECT_EQ(llvm::cantFail(parseSchedules(printSchedules(one)))[0].schedule, from);
}

TEST(CostModel, ItsChoiceIsCheapByItself) {
  for (const char *name : {"x86-64-v3", "x86-64-v4", "aarch64"}) {
    StageFacts facts{StageShape::Flash, 64, 64};
    Target target = llvm::cantFail(findTarget(name));
    EXPECT_LT(predictedCost(chooseSchedule(facts, target), facts, target), 1.25) << name;
    std::vector<std::string> reasons = explain(chooseSchedule(facts, target), facts, target);
    EXPECT_EQ(reasons.back().rfind("predicted: 1.", 0), 0u) << reasons.back();
  }
}
