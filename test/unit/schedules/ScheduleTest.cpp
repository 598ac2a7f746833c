// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Schedules: text both ways, refusals with their reasons, and the cost model's choices.
#include "schedules/CostModel.h"
#include "gtest/gtest.h"

using namespace attn;

static Target target(llvm::StringRef name) { return llvm::cantFail(findTarget(name)); }

static std::string reason(Schedule schedule, StageFacts facts, llvm::StringRef name) {
  return llvm::toString(validate(schedule, facts, target(name)));
}

static const Schedule good = {8, 2, 6, 192, 60, 256};
static const StageFacts flash64 = {StageShape::Flash, 64, 64};

TEST(ScheduleText, RoundTrip) {
  std::vector<StageSchedule> stages = {{"mha", "q", StageShape::Contract, good}, {"", "", StageShape::Flash, {0, 0, 0, 96, 0, 0}}};
  std::string text = printSchedules(stages);
  EXPECT_NE(text.find("query_tile:      96"), std::string::npos) << text;
  std::vector<StageSchedule> back = llvm::cantFail(parseSchedules(text));
  ASSERT_EQ(back.size(), 2u);
  EXPECT_EQ(back[0].kernel, "mha");
  EXPECT_EQ(back[0].name, "q");
  EXPECT_EQ(back[0].schedule, good);
  EXPECT_EQ(back[1].kind, StageShape::Flash);
  EXPECT_EQ(printSchedules(back), text);
}

TEST(ScheduleText, NothingIsNoSchedule) { EXPECT_TRUE(llvm::cantFail(parseSchedules(" \n")).empty()); }

TEST(ScheduleText, FaultsSayWhere) {
  auto fault = [](llvm::StringRef text) { return llvm::toString(parseSchedules(text).takeError()); };
  EXPECT_EQ(fault("- kind: flash\n  query_tiel: 96\n"), "schedule: line 2: unknown key 'query_tiel'");
  EXPECT_EQ(fault("- kind: fused\n"), "schedule: line 1: unknown enumerated scalar");
  EXPECT_EQ(fault("- name: q\n"), "schedule: line 1: missing required key 'kind'");
  EXPECT_EQ(fault("- kind: flash\n  rows: many\n"), "schedule: line 2: invalid number");
}

TEST(ScheduleChoice, NameBeforeKind) {
  std::vector<StageSchedule> given = {{"", "", StageShape::Contract, {1}}, {"", "q", StageShape::Contract, {2}}};
  EXPECT_EQ(findSchedule(given, "mha", "q", StageShape::Contract)->schedule.lanes, 2);
  EXPECT_EQ(findSchedule(given, "mha", "k", StageShape::Contract)->schedule.lanes, 1);
  EXPECT_EQ(findSchedule(given, "mha", "q", StageShape::Flash), nullptr);
}

TEST(ScheduleChoice, ZeroIsLeftToTheModel) {
  EXPECT_EQ(completed({0, 0, 0, 96, 0, 0}, good), (Schedule{8, 2, 6, 96, 60, 256}));
}

TEST(ScheduleValidation, Reasons) {
  EXPECT_EQ(reason(good, flash64, "x86-64-v3"), "");
  EXPECT_EQ(reason({8, 6, 1, 100, 60, 256}, flash64, "x86-64-v3"),
            "query_tile 100 is not a multiple of lanes * vectors = 48");
  EXPECT_EQ(reason({8, 2, 6, 192, 64, 256}, flash64, "x86-64-v3"), "key_tile 64 is not a multiple of rows = 6");
  EXPECT_EQ(reason({16, 2, 6, 192, 60, 256}, flash64, "x86-64-v3"),
            "lanes 16 is not a power of two up to the 8 f32 of a vector of x86-64-v3");
  EXPECT_EQ(reason({8, 3, 8, 192, 64, 256}, flash64, "x86-64-v3"),
            "a register block of 8 rows by 3 vectors needs 28 registers, x86-64-v3 has 16");
  EXPECT_EQ(reason({8, 2, 6, 1600, 600, 256}, flash64, "x86-64-v3"),
            "a tile needs 1138 KiB, L1 and L2 of x86-64-v3 together have 544 KiB");
  EXPECT_EQ(reason({8, 2, 6, -16, 60, 256}, flash64, "x86-64-v3"), "query_tile -16 is not between 1 and 16777216");
  EXPECT_EQ(reason({8, 2, 6, 192, 60, int64_t(1) << 62}, flash64, "x86-64-v3"),
            "depth_tile 4611686018427387904 is not between 1 and 16777216");
  EXPECT_EQ(reason({8, 2, 6, 192, 60, 256, -1, 512}, flash64, "x86-64-v3"), "decode_queries -1 is not between 0 and 16777216");
  EXPECT_EQ(reason({8, 2, 6, 192, 60, 256, 8, 1 << 25}, flash64, "x86-64-v3"),
            "decode_chunk 33554432 is not between 0 and 16777216");
}

TEST(ScheduleValidation, MatrixTiles) {
  StageFacts bf16 = flash64;
  bf16.bf16Parts = 1;
  Schedule tiles = chooseSchedule(bf16, target("x86-64-amx"));
  EXPECT_EQ(tiles.products, Products::Tiles);
  EXPECT_EQ(reason(tiles, bf16, "x86-64-amx"), "");
  EXPECT_EQ(reason(tiles, bf16, "x86-64-v4"), "products tiles: x86-64-v4 has no matrix tiles");
  EXPECT_EQ(reason(tiles, flash64, "x86-64-amx"),
            "products tiles: they are of f16 or bf16, and an operand is not, or must not be rounded");
  tiles.keyTile = 120;
  EXPECT_EQ(reason(tiles, bf16, "x86-64-amx"), "key_tile 120 is not a multiple of a block of tiles = 32");
  tiles.products = Products::Lanes;
  EXPECT_EQ(reason(tiles, bf16, "x86-64-amx"), "");
}

TEST(ScheduleValidation, NestReadsNoTiles) {
  EXPECT_EQ(reason({8, 2, 6, 100, 64, 256}, {StageShape::Nest, {}, {}}, "x86-64-v3"), "");
}

/// And more keys where L2 is large.
TEST(CostModel, RegisterBlocks) {
  EXPECT_EQ(chooseSchedule(flash64, target("x86-64-v3")), (Schedule{8, 3, 4, 384, 64, 256, 16, 256}));
  EXPECT_EQ(chooseSchedule(flash64, target("x86-64-v4")), (Schedule{16, 2, 8, 768, 128, 256, 16, 256}));
  EXPECT_EQ(chooseSchedule(flash64, target("aarch64")), (Schedule{4, 3, 8, 384, 64, 256, 8, 256}));
}

TEST(CostModel, ContractsHaveTheirOwn) {
  StageFacts unknown = {StageShape::Contract, {}, {}}, heads = {StageShape::Contract, 64, {}};
  EXPECT_EQ(chooseSchedule(unknown, target("x86-64-v3")), (Schedule{8, 2, 6, 16, 192, 2048}));
  EXPECT_EQ(chooseSchedule(unknown, target("x86-64-v4")), (Schedule{16, 4, 6, 64, 192, 1024}));
  EXPECT_EQ(chooseSchedule(heads, target("x86-64-v4")), (Schedule{16, 4, 6, 64, 192, 64}));
}

TEST(CostModel, AlwaysValid) {
  for (llvm::StringRef name : targetNames())
    for (StageShape kind : {StageShape::Nest, StageShape::Contract, StageShape::Flash})
      for (int64_t width : {1, 59, 64, 128, 256, 512, 100000}) {
        StageFacts facts = {kind, width, width};
        EXPECT_EQ(reason(chooseSchedule(facts, target(name)), facts, name), "") << name.str() << " " << width;
      }
}
