// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Operations one by one, against values worked by hand.
#include "Programs.h"
#include <cmath>

using namespace attn::reference;

/// A program over x[S, E] that stores one value over [A] or [A, B].
static Results over(const std::string &body, const Arguments &arguments,
                    const std::string &result, const std::string &axes = "",
                    const std::string &modifier = "",
                    const std::string &dtype = "f32") {
  return llvm::cantFail(runText(
      expand(R"(attn.program @p(in "x" %x : !attn.ref<[S, E], )" + dtype +
             R"(>, in "i" %i : !attn.ref<[N], i64>, out "y" %y : )" + result +
             ") axes [<S = x.0>, <E = x.1>, <N = i.0>" + axes + "] facts [] " +
             modifier + R"( {
    %s = attn.index "S" : ~S:i64~
    %e = attn.index "E" : ~E:i64~
    %n = attn.index "N" : ~N:i64~
    %v = attn.read %x[%s, %e] : (!attn.ref<[S, E], )" +
             dtype + R"(>, ~S:i64~, ~E:i64~) -> ~E, S~
    %j = attn.read %i[%n] : (!attn.ref<[N], i64>, ~N:i64~) -> ~N:i64~
  )" + body + "}"),
      arguments));
}

static Arguments table(llvm::ArrayRef<double> x,
                       llvm::ArrayRef<int64_t> i = {0},
                       Dtype dtype = Dtype::F32) {
  return {{"x", Buffer::fromDoubles(
                    dtype, {2, static_cast<int64_t>(x.size()) / 2}, x)},
          {"i", integers({static_cast<int64_t>(i.size())}, i)}};
}

TEST(Operation, TakeReadsAlongAnAxisInAnyOrder) {
  Results r = over(R"(
    %t = attn.take %v ["E"] [%j] : (~E, S~, ~N:i64~) -> ~N, S~
    attn.write %t, %y[%s, %n] : ~N, S~, !attn.ref<[S, N], f32>, ~S:i64~, ~N:i64~)",
                   table({1, 2, 3, 4, 5, 6}, {2, 0}), "!attn.ref<[S, N], f32>");
  EXPECT_EQ(r["y"].value, (std::vector<double>{3, 1, 6, 4}));
}

TEST(Operation, RenameMovesElementsToTheirNewPlace) {
  // E comes before S by name, Z after it.
  Results r =
      over(R"(
    %z = attn.index "Z" : ~Z:i64~
    %t = attn.rename %v ["E"] as ["Z"] : (~E, S~) -> ~S, Z~
    attn.write %t, %y[%z, %s] : ~S, Z~, !attn.ref<[Z, S], f32>, ~Z:i64~, ~S:i64~)",
           table({1, 2, 3, 4, 5, 6}), "!attn.ref<[Z, S], f32>", ", <Z = x.1>");
  EXPECT_EQ(r["y"].value, (std::vector<double>{1, 4, 2, 5, 3, 6}));
}

TEST(Operation, ReductionsOfPresentElements) {
  auto reduce = [&](const std::string &kind) {
    return over(R"(
    %zero = attn.constant 0.0 : f32 : ~~
    %c = attn.map(%v, %zero) : (~E, S~, ~~) -> ~E, S:i1~ {
    ^bb0(%a: f32, %b: f32):
      %r = arith.cmpf ogt, %a, %b : f32
      attn.yield %r : i1
    }
    %m = attn.where %v, %c : (~E, S~, ~E, S:i1~) -> ~E, S~
    %r = attn.reduce )" +
                    kind + R"( %m over ["E"] : (~E, S~) -> ~S~
    attn.write %r, %y[%s] : ~S~, !attn.ref<[S], f32>, ~S:i64~)",
                table({1, -5, 3, -1, -2, -3}), "!attn.ref<[S], f32>")["y"]
        .value;
  };
  double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(reduce("sum"), (std::vector<double>{4, 0}));
  EXPECT_EQ(reduce("mean"), (std::vector<double>{2, 0}));
  EXPECT_EQ(reduce("max"), (std::vector<double>{3, -infinity}));
  EXPECT_EQ(reduce("min"), (std::vector<double>{1, infinity}));
}

/// Two pairs of four elements (and a fifth that stays), turned by 90 and 0
/// degrees.
static std::vector<double> rotated(const std::string &pairs) {
  return over(
             R"(
    %p = attn.index "P" : ~P:i64~
    %cos = attn.map(%p) : (~P:i64~) -> ~P~ {
    ^bb0(%a: i64):
      %r = arith.sitofp %a : i64 to f32
      attn.yield %r : f32
    }
    %one = attn.constant 1.0 : f32 : ~~
    %sin = attn.map(%one, %cos) : (~~, ~P~) -> ~P~ {
    ^bb0(%a: f32, %b: f32):
      %r = arith.subf %a, %b : f32
      attn.yield %r : f32
    }
    %r = attn.rope )" +
                 pairs +
                 R"( %v cos %cos sin %sin over "E" by "P" : (~E, S~, ~P~, ~P~) -> ~E, S~
    attn.write %r, %y[%s, %e] : ~E, S~, !attn.ref<[S, E], f32>, ~S:i64~, ~E:i64~)",
             table({1, 2, 3, 4, 5, 0, 0, 0, 0, 0}), "!attn.ref<[S, E], f32>",
             ", <P = 2>")["y"]
      .value;
}

TEST(Operation, RopeTurnsPairs) {
  std::vector<double> half = rotated("half"),
                      interleaved = rotated("interleaved");
  half.resize(5);
  interleaved.resize(5);
  EXPECT_EQ(half, (std::vector<double>{-3, 2, 1, 4, 5}));
  EXPECT_EQ(interleaved, (std::vector<double>{-2, 1, 3, 4, 5}));
}

static const char kSquare[] = R"(
    %w = attn.map(%v) : (~E, S~) -> ~E, S~ {
    ^bb0(%a: f32):
      %c = arith.constant 1.001 : f32
      %r = arith.mulf %a, %c : f32
      attn.yield %r : f32
    }
    %r = attn.contract dot %w, %v over ["E"] : (~E, S~, ~E, S~) -> ~S~
    attn.write %r, %y[%s] : ~S~, !attn.ref<[S], f32>, ~S:i64~)";

TEST(Operation, BesideA16BitTensorAnOperandMayBeRoundedOnce) {
  auto relative = [&](const std::string &modifier, Dtype dtype) {
    Results r =
        over(kSquare, table({1, 2, 3, 4}, {0}, dtype), "!attn.ref<[S], f32>",
             "", modifier, dtypeName(dtype).str());
    return r["y"].radius[0] / r["y"].value[0];
  };
  EXPECT_LT(relative("", Dtype::F32), 1e-6);
  EXPECT_NEAR(relative("", Dtype::BF16), 0x1p-8, 1e-4);
  EXPECT_NEAR(relative("", Dtype::F16), 0x1p-11, 1e-4);
  EXPECT_LT(relative("precise", Dtype::BF16), 1e-6);
}

TEST(Operation, BesideBf16WhatIsNotNormalMayBecome0) {
  auto radius = [&](const std::string &modifier) {
    Results r = over(kSquare, table({0x1p-64, 0x1p-64, 0, 0}, {0}, Dtype::BF16),
                     "!attn.ref<[S], f32>", "", modifier, "bf16");
    return r["y"].radius[0];
  };
  EXPECT_GE(radius(""), 0x1p-127);
  EXPECT_LT(radius("precise"), 0x1p-140);
}

TEST(Operation, NarrowStoresCountTheirRounding) {
  Results r = over(kSquare, table({1, 2, 3, 4}), "!attn.ref<[S], f32>");
  std::string narrow = std::string(kSquare);
  for (size_t at; (at = narrow.find("[S], f32")) != std::string::npos;)
    narrow.replace(at, 8, "[S], f16");
  Results n = over(narrow, table({1, 2, 3, 4}), "!attn.ref<[S], f16>");
  // 5.005 lies in [4, 8), where f16 has steps of 2^-8.
  EXPECT_NEAR(n["y"].radius[0], r["y"].radius[0] + 0x1p-9, 1e-12);
  EXPECT_LE(std::fabs(n["y"].rounded.number(0) - n["y"].value[0]), 0x1p-9);
}

TEST(Operation, F16StoresOverflowToACertainInfinityOrToNoPromise) {
  // 1.001 x^2 below, at and above 65520, from where f16 rounds to infinity.
  std::string narrow = std::string(kSquare);
  for (size_t at; (at = narrow.find("[S], f32")) != std::string::npos;)
    narrow.replace(at, 8, "[S], f16");
  auto stored = [&](double x) {
    return over(narrow, table({x, 0, x, 0}), "!attn.ref<[S], f16>")["y"];
  };
  EXPECT_LT(stored(250).radius[0], 32);
  EXPECT_EQ(stored(std::sqrt(65520 / 1.001)).radius[0],
            std::numeric_limits<double>::infinity());
  EXPECT_EQ(stored(300).value[0], std::numeric_limits<double>::infinity());
  EXPECT_EQ(stored(300).radius[0], 0);
}

TEST(Operation, AMaskThatRoundingMayTurnPromisesNothing) {
  // Is 1.001 x / 1.001 at least x? Only where rounding says so; where x is 0,
  // surely.
  Results r = over(R"(
    %c = attn.map(%v) : (~E, S~) -> ~E, S:i1~ {
    ^bb0(%a: f32):
      %k = arith.constant 1.001 : f32
      %p = arith.mulf %a, %k : f32
      %q = arith.divf %p, %k : f32
      %r = arith.cmpf oge, %q, %a : f32
      attn.yield %r : i1
    }
    %m = attn.where %v, %c : (~E, S~, ~E, S:i1~) -> ~E, S~
    %r = attn.reduce sum %m over ["E"] : (~E, S~) -> ~S~
    attn.write %r, %y[%s] : ~S~, !attn.ref<[S], f32>, ~S:i64~)",
                   table({0, 0, 0, 3}), "!attn.ref<[S], f32>");
  EXPECT_EQ(r["y"].radius[0], 0);
  EXPECT_EQ(r["y"].radius[1], std::numeric_limits<double>::infinity());
}

TEST(Operation, SigmoidVanishesAlthoughItsExponentialOverflows) {
  Results r = over(R"(
    %w = attn.map(%v) : (~E, S~) -> ~E, S~ {
    ^bb0(%a: f32):
      %one = arith.constant 1.0 : f32
      %m = arith.negf %a : f32
      %p = math.exp %m : f32
      %d = arith.addf %one, %p : f32
      %r = arith.divf %one, %d : f32
      attn.yield %r : f32
    }
    attn.write %w, %y[%s, %e] : ~E, S~, !attn.ref<[S, E], f32>, ~S:i64~, ~E:i64~)",
                   table({-100, -88, 0, 100}), "!attn.ref<[S, E], f32>");
  for (int i : {0, 1}) {
    EXPECT_LT(r["y"].value[i], 1e-38);
    EXPECT_LT(r["y"].radius[i], 1e-36);
  }
  EXPECT_EQ(r["y"].value[2], 0.5);
}

TEST(Operation, RandomIsPhilox) {
  Results r =
      over(R"(
    %w = attn.map(%j) : (~N:i64~) -> ~N~ {
    ^bb0(%a: i64):
      %seed = arith.constant 7 : i64
      %r = attn.philox %seed, %a : f32
      attn.yield %r : f32
    }
    attn.write %w, %y[%n] : ~N~, !attn.ref<[N], f32>, ~N:i64~)",
           table({0, 0}, {0, 1, int64_t(1) << 33}), "!attn.ref<[N], f32>");
  // Made with NumPy from the definition, for counters 0, 1 and 2^33.
  EXPECT_EQ(r["y"].value,
            (std::vector<double>{0.9545971155166626, 0.4069603681564331,
                                 0.3233407735824585}));
}
