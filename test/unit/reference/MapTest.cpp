// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Scalars in `attn.map`: values worked by hand, and what rounding may turn.
#include "Programs.h"
#include <cmath>

using namespace attn::reference;

static const double kInfinity = std::numeric_limits<double>::infinity();

/// y = map(x) with a region that computes %r from %a.
static Result mapped(const std::string &region, llvm::ArrayRef<double> x) {
  std::string text = expand(R"(
    attn.program @p(in "x" %x : !attn.ref<[S], f32>, out "y" %y : !attn.ref<[S], f32>) axes [<S = x.0>] facts [] {
      %s = attn.index "S" : ~S:i64~
      %v = attn.read %x[%s] : (!attn.ref<[S], f32>, ~S:i64~) -> ~S~
      %w = attn.map(%v) : (~S~) -> ~S~ {
      ^bb0(%a: f32):
        )" + region + R"(
        attn.yield %r : f32
      }
      attn.write %w, %y[%s] : ~S~, !attn.ref<[S], f32>, ~S:i64~
    })");
  auto n = static_cast<int64_t>(x.size());
  return llvm::cantFail(runText(text, {{"x", numbers({n}, x)}}))["y"];
}

static double one(const std::string &region, double x) {
  return mapped(region, {x}).value[0];
}

TEST(Map, Functions) {
  EXPECT_DOUBLE_EQ(one("%r = math.exp %a : f32", 1), 2.718281828459045);
  EXPECT_DOUBLE_EQ(one("%r = math.log %a : f32", 8), 2.0794415416798357);
  EXPECT_DOUBLE_EQ(one("%r = math.rsqrt %a : f32", 16), 0.25);
  EXPECT_DOUBLE_EQ(one("%r = math.tanh %a : f32", 0.5), 0.46211715726000976);
  EXPECT_DOUBLE_EQ(one("%r = math.sin %a : f32", 1), 0.8414709848078965);
  EXPECT_DOUBLE_EQ(one("%r = math.cos %a : f32", 1), 0.5403023058681398);
  EXPECT_EQ(one("%r = math.floor %a : f32", -1.5), -2);
  EXPECT_EQ(one("%r = math.roundeven %a : f32", 2.5), 2);
  EXPECT_EQ(one("%r = math.absf %a : f32", -3), 3);
  EXPECT_EQ(one("%r = arith.maximumf %a, %a : f32", -kInfinity), -kInfinity);
}

TEST(Map, ExactResultsHaveNoRadius) {
  EXPECT_EQ(mapped("%r = arith.addf %a, %a : f32", {1.5}).radius[0], 0);
  EXPECT_EQ(mapped("%r = math.exp %a : f32", {0}).radius[0], 0);
  EXPECT_EQ(mapped("%r = arith.divf %a, %a : f32", {-0.0}).radius[0], 0);
  EXPECT_GT(mapped("%r = arith.mulf %a, %a : f32", {0.1}).radius[0], 0);
}

TEST(Map, RoundingGivesRadiusOfOneUnit) {
  // 0.1f squared: one rounding, at most 2^-24 of the value.
  Result y = mapped("%r = arith.mulf %a, %a : f32", {0.1f});
  EXPECT_NEAR(y.radius[0] / y.value[0], 0x1p-24, 1e-12);
}

TEST(Map, IntegersFloorAndWrap) {
  std::string cast =
      "%i = arith.fptosi %a : f32 to i64\n%c = arith.constant 3 : i64\n";
  std::string back = "\n%r = arith.sitofp %j : i64 to f32";
  EXPECT_EQ(one(cast + "%j = arith.floordivsi %i, %c : i64" + back, -7), -3);
  EXPECT_EQ(one(cast + "%j = arith.remsi %i, %c : i64" + back, -7), -1);
  EXPECT_EQ(one(cast + "%j = arith.shli %i, %c : i64" + back, 5), 40);
  EXPECT_EQ(one(cast + "%j = arith.andi %i, %c : i64" + back, 6), 2);
  EXPECT_EQ(one(cast + "%j = arith.maxsi %i, %c : i64" + back, -7), 3);
}

TEST(Map, ADivisionByZeroIsNotPromised) {
  Result y = mapped(
      "%i = arith.fptosi %a : f32 to i64\n%z = arith.constant 0 : i64\n"
      "%j = arith.floordivsi %i, %z : i64\n%r = arith.sitofp %j : i64 to f32",
      {5});
  EXPECT_EQ(y.radius[0], kInfinity);
}

// x / 3 * 3 against x: both sides of the comparison lie within rounding.
static const char kClose[] = R"(
  %three = arith.constant 3.0 : f32
  %q = arith.divf %a, %three : f32
  %p = arith.mulf %q, %three : f32
  %c = arith.cmpf oge, %p, %a : f32
)";

TEST(Map, AComparisonThatRoundingMayTurnGivesEitherBranch) {
  // 1 or 2, so the radius spans both; and a branch that agrees with itself
  // stays sharp.
  Result apart = mapped(std::string(kClose) + R"(
    %first = arith.constant 1.0 : f32
    %second = arith.constant 2.0 : f32
    %r = arith.select %c, %first, %second : f32)",
                        {0.7f});
  EXPECT_EQ(apart.radius[0], 1);
  Result same = mapped(
      std::string(kClose) + "%r = arith.select %c, %a, %a : f32", {0.7f});
  EXPECT_EQ(same.radius[0], 0);
  Result number =
      mapped(std::string(kClose) + "%r = arith.uitofp %c : i1 to f32", {0.7f});
  EXPECT_EQ(number.radius[0], kInfinity);
}

TEST(Map, LeavingTheRangeOfF32IsUnbounded) {
  EXPECT_EQ(mapped("%r = math.exp %a : f32", {89}).radius[0], kInfinity);
  EXPECT_EQ(mapped("%r = arith.mulf %a, %a : f32", {1e30}).radius[0],
            kInfinity);
}

TEST(Map, CertainInfinitiesAndNanAreCompared) {
  Result y = mapped("%r = arith.addf %a, %a : f32", {kInfinity, std::nan("")});
  EXPECT_EQ(y.value[0], kInfinity);
  EXPECT_EQ(y.radius[0], 0);
  EXPECT_TRUE(std::isnan(y.value[1]));
  EXPECT_EQ(y.radius[1], 0);
  Result zero =
      mapped("%z = arith.constant 0.0 : f32\n%r = arith.mulf %a, %z : f32",
             {kInfinity});
  EXPECT_TRUE(std::isnan(zero.value[0]));
  EXPECT_EQ(zero.radius[0], 0);
}

TEST(Map, ExpVanishesWithRoomForFlushing) {
  Result y = mapped("%r = math.exp %a : f32", {-kInfinity, -95});
  EXPECT_EQ(y.value[0], 0);
  EXPECT_EQ(y.radius[0], 0);
  EXPECT_GE(y.radius[1], 0x1p-126);
}
