// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Attention as the interpreter means it: absence, empty rows, infinities,
// sinks, NaN, bounds, and the fused level against the math level.
#include "CausalProgram.h"
#include <cmath>

using namespace attn::reference;

static const double kInfinity = std::numeric_limits<double>::infinity();
static const double kNaN = std::numeric_limits<double>::quiet_NaN();

/// One head: score[s, t] given, values v[t], a mask `t < len`, an optional
/// sink.
static std::string rowProgram(bool withSink) {
  return expand(
      R"(
    attn.program @p(in "score" %score : !attn.ref<[S, T], f32>, in "v" %v : !attn.ref<[T], f32>,
                    in "len" %len : !attn.ref<[], i64>, in "sink" %sink : !attn.ref<[], f32>,
                    out "o" %o : !attn.ref<[S], f32>, out "w" %w : !attn.ref<[S, T], f32>,
                    out "lse" %lse : !attn.ref<[S], f32>)
        axes [<S = score.0>, <T = score.1>] facts [] {
      %s = attn.index "S" : ~S:i64~
      %t = attn.index "T" : ~T:i64~
      %n = attn.read %len[] : (!attn.ref<[], i64>) -> ~:i64~
      %k = attn.read %sink[] : (!attn.ref<[], f32>) -> ~~
      %x = attn.read %score[%s, %t] : (!attn.ref<[S, T], f32>, ~S:i64~, ~T:i64~) -> ~S, T~
      %y = attn.read %v[%t] : (!attn.ref<[T], f32>, ~T:i64~) -> ~T~
      %c = attn.map(%t, %n) : (~T:i64~, ~:i64~) -> ~T:i1~ {
      ^bb0(%a: i64, %b: i64):
        %r = arith.cmpi slt, %a, %b : i64
        attn.yield %r : i1
      }
      %m = attn.where %x, %c : (~S, T~, ~T:i1~) -> ~S, T~
      %p = attn.softmax %m over ["T"] )" +
      std::string(withSink ? "sink %k : (~S, T~, ~~)" : ": (~S, T~)") +
      R"( -> ~S, T~
      %l = attn.logsumexp %m over ["T"] )" +
      std::string(withSink ? "sink %k : (~S, T~, ~~)" : ": (~S, T~)") +
      R"( -> ~S~
      %z = attn.contract mix %p, %y over ["T"] : (~S, T~, ~T~) -> ~S~
      attn.write %z, %o[%s] : ~S~, !attn.ref<[S], f32>, ~S:i64~
      attn.write %p, %w[%s, %t] : ~S, T~, !attn.ref<[S, T], f32>, ~S:i64~, ~T:i64~
      attn.write %l, %lse[%s] : ~S~, !attn.ref<[S], f32>, ~S:i64~
    })");
}

static Results rows(llvm::ArrayRef<double> score, llvm::ArrayRef<double> v,
                    int64_t length, std::optional<double> sink = std::nullopt) {
  auto t = static_cast<int64_t>(v.size()),
       s = static_cast<int64_t>(score.size()) / t;
  return llvm::cantFail(runText(rowProgram(sink.has_value()),
                                {{"score", numbers({s, t}, score)},
                                 {"v", numbers({t}, v)},
                                 {"len", integers({}, {length})},
                                 {"sink", numbers({}, {sink.value_or(0)})}}));
}

TEST(Attention, SoftmaxByHand) {
  // exp 0 : exp ln 3 = 1 : 3.
  Results r = rows({0, std::log(3.0f)}, {4, 8}, 2);
  EXPECT_NEAR(r["w"].value[0], 0.25, 1e-7);
  EXPECT_NEAR(r["o"].value[0], 7, 1e-6);
  EXPECT_NEAR(r["lse"].value[0], std::log(4.0), 1e-7);
}

TEST(Attention, RowWithoutKeysGivesZeroAndMinusInfinity) {
  Results r = rows({1, 2, 3, 4}, {kNaN, kInfinity}, 0);
  for (int i : {0, 1}) {
    EXPECT_EQ(r["o"].value[i], 0);
    EXPECT_EQ(r["o"].radius[i], 0);
    EXPECT_EQ(r["lse"].value[i], -kInfinity);
    EXPECT_EQ(r["lse"].radius[i], 0);
  }
  EXPECT_EQ(r["w"].value[3], 0);
}

TEST(Attention, MaskedPlacesHaveNoEffect) {
  Results clean = rows({1, 2, 7, 3, 1, 7}, {1, 2, 9}, 2);
  Results dirty = rows({1, 2, kNaN, 3, 1, kInfinity}, {1, 2, kNaN}, 2);
  EXPECT_EQ(clean["o"].value, dirty["o"].value);
  EXPECT_EQ(clean["w"].value, dirty["w"].value);
  EXPECT_EQ(clean["lse"].radius, dirty["lse"].radius);
}

TEST(Attention, MinusInfinityIsAbsent) {
  Results r = rows({-kInfinity, 5, -kInfinity, -kInfinity}, {kNaN, 3}, 2);
  EXPECT_EQ(r["w"].value[0], 0);
  EXPECT_EQ(r["o"].value[0], 3);
  EXPECT_EQ(r["o"].value[1], 0);
  EXPECT_EQ(r["lse"].value[1], -kInfinity);
}

TEST(Attention, NanAndInfinityMakeTheirOwnRowNan) {
  for (double bad : {kNaN, kInfinity}) {
    Results r = rows({1, bad, 1, 1}, {1, 3}, 2);
    for (const char *name : {"o", "lse", "w"}) {
      EXPECT_TRUE(std::isnan(r[name].value[0])) << name;
      EXPECT_EQ(r[name].radius[0], 0) << name;
    }
    EXPECT_EQ(r["o"].value[1], 2);
  }
}

TEST(Attention, SinkTakesWeightOnce) {
  // 1 : 1 : sink of weight 2.
  Results r = rows({0, 0}, {4, 8}, 2, std::log(2.0f));
  EXPECT_NEAR(r["w"].value[0], 0.25, 1e-7);
  EXPECT_NEAR(r["o"].value[0], 3, 1e-6);
  EXPECT_NEAR(r["lse"].value[0], std::log(4.0), 1e-7);
}

TEST(Attention, SinkAloneIsTheLogSumExp) {
  Results r = rows({7, 7}, {4, 8}, 0, 1.5);
  EXPECT_EQ(r["o"].value[0], 0);
  EXPECT_NEAR(r["lse"].value[0], 1.5, 1e-12);
  EXPECT_EQ(rows({7, 7}, {4, 8}, 0, -kInfinity)["lse"].value[0], -kInfinity);
}

TEST(Attention, LargeScoresNeitherOverflowNorVanish) {
  Results r = rows({1000, 1001, -1000, -1001}, {0, 1}, 2);
  EXPECT_NEAR(r["o"].value[0], 1 / (1 + std::exp(-1.0)), 1e-12);
  EXPECT_NEAR(r["o"].value[1], 1 / (1 + std::exp(1.0)), 1e-12);
  // Scaling 1000 by log2 e may cost a unit of it, which exp makes relative.
  EXPECT_LT(r["o"].radius[0], 2e-4);
}

static Results runCausal(Level level) {
  std::vector<double> q, k, v;
  for (int i = 0; i < 15; ++i)
    q.push_back(std::sin(i)), k.push_back(std::cos(2 * i)),
        v.push_back(i % 7 - 3);
  v.resize(10);
  return llvm::cantFail(runText(causal(level), {{"q", numbers({5, 3}, q)},
                                                {"k", numbers({5, 3}, k)},
                                                {"v", numbers({5, 2}, v)}}));
}

TEST(Attention, FirstCausalRowIsTheFirstValue) {
  Results r = runCausal(Level::Math);
  EXPECT_NEAR(r["o"].value[0], -3, 1e-12);
  EXPECT_NEAR(r["o"].value[1], -2, 1e-12);
}

TEST(Attention, EveryLevelMeansTheSame) {
  Results math = runCausal(Level::Math);
  for (Level level : {Level::Flash, Level::Bounds, Level::Kernel}) {
    Results fused = runCausal(level);
    for (const char *name : {"o", "lse"}) {
      EXPECT_EQ(fused[name].value, math[name].value)
          << name << static_cast<int>(level);
      EXPECT_EQ(fused[name].radius, math[name].radius)
          << name << static_cast<int>(level);
    }
  }
}
