// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Extents, places in storage, absence, ragged extents, requirements; and every
// error that an argument can cause.
#include "Programs.h"
#include <cmath>

using namespace attn::reference;

/// A program over x[S] with a body and one result.
static std::string program(const std::string &arguments,
                           const std::string &axes, const std::string &body,
                           const std::string &facts = "") {
  return expand("attn.program @p(" + arguments + ") axes [" + axes +
                "] facts [" + facts + "] {" + body + "}");
}

static const char kShift[] = R"(
  %s = attn.index "S" : ~S:i64~
  %next = attn.map(%s) : (~S:i64~) -> ~S:i64~ {
  ^bb0(%a: i64):
    %one = arith.constant 1 : i64
    %r = arith.addi %a, %one : i64
    attn.yield %r : i64
  }
  %v = attn.read %x[%next] : (!attn.ref<[S], f32>, ~S:i64~) -> ~S~
  %limit = attn.extent "S" : ~:i64~
  %in = attn.map(%next, %limit) : (~S:i64~, ~:i64~) -> ~S:i1~ {
  ^bb0(%a: i64, %b: i64):
    %r = arith.cmpi slt, %a, %b : i64
    attn.yield %r : i1
  }
)";
static const char kXandY[] =
    R"(in "x" %x : !attn.ref<[S], f32>, out "y" %y : !attn.ref<[S], f32>)";
static const char kWriteY[] =
    "attn.write %r, %y[%s] : ~S~, !attn.ref<[S], f32>, ~S:i64~";

TEST(Memory, ReadingOutOfRangeIsAnErrorOnlyWhereItIsAskedFor) {
  Arguments arguments = {{"x", numbers({3}, {1, 2, 3})}};
  std::string message = failureOf(
      program(kXandY, "<S = x.0>",
              std::string(kShift) +
                  "attn.write %v, %y[%s] : ~S~, !attn.ref<[S], f32>, ~S:i64~"),
      arguments);
  EXPECT_NE(
      message.find("y: an index is out of range in what is stored at s=2"),
      std::string::npos)
      << message;
  // Chosen by a condition, or absent: nobody asks.
  for (const char *choice :
       {"%zero = attn.constant 0.0 : f32 : ~~\n"
        "%r = attn.select %in, %v, %zero : (~S:i1~, ~S~, ~~) -> ~S~\n",
        "%r = attn.where %v, %in : (~S~, ~S:i1~) -> ~S~\n"}) {
    Results r = llvm::cantFail(runText(
        program(kXandY, "<S = x.0>", std::string(kShift) + choice + kWriteY),
        arguments));
    EXPECT_EQ(r["y"].value, (std::vector<double>{2, 3, 0}));
  }
}

TEST(Memory, AndAsksTheRightSideOnlyWhereTheLeftHolds) {
  std::string body = std::string(kShift) + R"(
    %zero = attn.constant 0.0 : f32 : ~~
    %positive = attn.map(%v, %zero) : (~S~, ~~) -> ~S:i1~ {
    ^bb0(%a: f32, %b: f32):
      %c = arith.cmpf ogt, %a, %b : f32
      attn.yield %c : i1
    }
    %both = attn.and %in, %positive : (~S:i1~, ~S:i1~) -> ~S:i1~
    %one = attn.constant 1.0 : f32 : ~~
    %r = attn.select %both, %one, %zero : (~S:i1~, ~~, ~~) -> ~S~
  )" + kWriteY;
  Results r = llvm::cantFail(runText(program(kXandY, "<S = x.0>", body),
                                     {{"x", numbers({3}, {1, 2, -3})}}));
  EXPECT_EQ(r["y"].value, (std::vector<double>{1, 0, 0}));
}

/// cache[place[s]] = x[s] where x[s] is not negative.
static std::string append() {
  return program(
      R"(in "x" %x : !attn.ref<[S], f32>, in "place" %place : !attn.ref<[S], i64>,
                    inout "cache" %cache : !attn.ref<[M], bf16>)",
      "<S = x.0>, <M = cache.0>", R"(
    %s = attn.index "S" : ~S:i64~
    %p = attn.read %place[%s] : (!attn.ref<[S], i64>, ~S:i64~) -> ~S:i64~
    %v = attn.read %x[%s] : (!attn.ref<[S], f32>, ~S:i64~) -> ~S~
    %zero = attn.constant 0.0 : f32 : ~~
    %c = attn.map(%v, %zero) : (~S~, ~~) -> ~S:i1~ {
    ^bb0(%a: f32, %b: f32):
      %r = arith.cmpf oge, %a, %b : f32
      attn.yield %r : i1
    }
    attn.write %v, %cache[%p] where %c : ~S~, !attn.ref<[M], bf16>, ~S:i64~, ~S:i1~
  )");
}
static Arguments appended(llvm::ArrayRef<double> x,
                          llvm::ArrayRef<int64_t> place) {
  return {{"x", numbers({2}, x)},
          {"place", integers({2}, place)},
          {"cache", Buffer::fromDoubles(Dtype::BF16, {3}, {7, 8, 9})}};
}

TEST(Memory, WritesRoundAndKeepTheRest) {
  Results r = llvm::cantFail(runText(append(), appended({1.001, 2}, {2, 0})));
  EXPECT_EQ(r["cache"].rounded.numbers(), (std::vector<double>{2, 8, 1}));
  EXPECT_EQ(r["cache"].radius[0], 0);
  // An argument is exact in f32, so its rounding to bf16 is certain.
  EXPECT_EQ(r["cache"].radius[2], 0);
}

TEST(Memory, WritesAreLimitedByTheirCondition) {
  Results r = llvm::cantFail(runText(append(), appended({1, -1}, {0, 99})));
  EXPECT_EQ(r["cache"].value, (std::vector<double>{1, 8, 9}));
}

TEST(Memory, WritingPastCapacityOrTwiceIsAnError) {
  EXPECT_NE(failureOf(append(), appended({1, 1}, {0, 3}))
                .find("cache: position past capacity at s=1"),
            std::string::npos);
  EXPECT_NE(failureOf(append(), appended({1, 1}, {-1, 0}))
                .find("cache: position past capacity at s=0"),
            std::string::npos);
  EXPECT_NE(failureOf(append(), appended({1, 1}, {1, 1}))
                .find("cache: one element is written twice, at s=1"),
            std::string::npos);
}

/// Packed rows: y[b] = sum of x over the rows of document b.
static std::string packed() {
  return program(
      R"(in "x" %x : !attn.ref<[(B T)], f32>, in "off" %off : !attn.ref<[B + 1], i32>,
                    out "y" %y : !attn.ref<[B], f32>, out "z" %z : !attn.ref<[(B T)], f32>)",
      "<B = off.0 - 1>, <T[B]>", R"(
    %b = attn.index "B" : ~B:i64~
    %n = attn.map(%b) : (~B:i64~) -> ~B:i64~ {
    ^bb0(%a: i64):
      %one = arith.constant 1 : i64
      %r = arith.addi %a, %one : i64
      attn.yield %r : i64
    }
    %first = attn.read %off[%b] : (!attn.ref<[B + 1], i32>, ~B:i64~) -> ~B:i64~
    %last = attn.read %off[%n] : (!attn.ref<[B + 1], i32>, ~B:i64~) -> ~B:i64~
    %size = attn.map(%last, %first) : (~B:i64~, ~B:i64~) -> ~B:i64~ {
    ^bb0(%a: i64, %c: i64):
      %r = arith.subi %a, %c : i64
      attn.yield %r : i64
    }
    attn.ragged "T" = %size : ~B:i64~
    %t = attn.index "T" : ~B, T:i64~
    %v = attn.read %x[%b, %t] : (!attn.ref<[(B T)], f32>, ~B:i64~, ~B, T:i64~) -> ~B, T~
    %s = attn.reduce sum %v over ["T"] : (~B, T~) -> ~B~
    attn.write %s, %y[%b] : ~B~, !attn.ref<[B], f32>, ~B:i64~
    attn.write %v, %z[%b, %t] : ~B, T~, !attn.ref<[(B T)], f32>, ~B:i64~, ~B, T:i64~
  )");
}
static Arguments documents(llvm::ArrayRef<int64_t> offsets,
                           llvm::ArrayRef<double> x) {
  return {{"x", numbers({static_cast<int64_t>(x.size())}, x)},
          {"off", Buffer::fromIntegers(Dtype::I32,
                                       {static_cast<int64_t>(offsets.size())},
                                       offsets)}};
}

TEST(Memory, RaggedRowsArePacked) {
  Results r = llvm::cantFail(
      runText(packed(), documents({0, 2, 2, 5}, {1, 2, 4, 8, 16})));
  EXPECT_EQ(r["y"].value, (std::vector<double>{3, 0, 28}));
  EXPECT_EQ(r["z"].value, (std::vector<double>{1, 2, 4, 8, 16}));
  EXPECT_EQ(r["z"].place(3), "b=2 t=1");
}

TEST(Memory, RaggedErrors) {
  EXPECT_NE(failureOf(packed(), documents({0, 2, 1}, {1, 2}))
                .find("the extent of T at b=1 is -1"),
            std::string::npos);
  EXPECT_EQ(failureOf(packed(), documents({0, 2, 4}, {1, 2, 3})),
            "x: dimension 0 is 3, (B T) needs 4");
}

TEST(Memory, EmptyExtentsWork) {
  Results r = llvm::cantFail(runText(packed(), documents({0}, {})));
  EXPECT_EQ(r["y"].rounded.shape[0], 0);
}

TEST(Memory, ArgumentsAreCheckedByNameAndAxis) {
  std::string text = program(
      R"(in "x" %x : !attn.ref<[S, D], f32>, in "w" %w : !attn.ref<[(H E), D], f32>,
                                out "y" %y : !attn.ref<[S], f32>)",
      "<S = x.0>, <D = x.1>, <H = 4>, <E = w.0 / H>", "", "<D = 4 * E>");
  auto with = [&](Buffer x, Buffer w) {
    return failureOf(text, {{"x", x}, {"w", w}});
  };
  Buffer x = Buffer::zeros(Dtype::F32, {2, 8}),
         w = Buffer::zeros(Dtype::F32, {8, 8});
  EXPECT_EQ(with(x, w), "no error");
  EXPECT_EQ(failureOf(text, {{"x", x}}), "argument w is not given");
  EXPECT_EQ(failureOf(text, {{"x", x}, {"w", w}, {"z", w}}),
            "p has no argument z");
  EXPECT_EQ(with(Buffer::zeros(Dtype::F32, {2}), w),
            "x: has 1 dimensions, 2 are declared");
  EXPECT_EQ(with(Buffer::zeros(Dtype::F16, {2, 8}), w),
            "x: holds f16, f32 is declared");
  EXPECT_EQ(with(x, Buffer::zeros(Dtype::F32, {6, 8})),
            "axis E: w.0 / H: 6 is not divisible by 4");
  EXPECT_EQ(with(x, Buffer::zeros(Dtype::F32, {4, 8})),
            "axis D is 8, but E * 4 is 4");
  EXPECT_EQ(with(x, Buffer::zeros(Dtype::F32, {8, 9})),
            "w: dimension 1 is 9, D needs 8");
}

TEST(Memory, RequirementsAreChecked) {
  std::string text =
      program(std::string(R"(in "len" %len : !attn.ref<[S], i64>, )") + kXandY,
              "<S = x.0>", R"(
    %s = attn.index "S" : ~S:i64~
    %n = attn.read %len[%s] : (!attn.ref<[S], i64>, ~S:i64~) -> ~S:i64~
    %c = attn.map(%n) : (~S:i64~) -> ~S:i1~ {
    ^bb0(%a: i64):
      %zero = arith.constant 0 : i64
      %r = arith.cmpi slt, %zero, %a : i64
      attn.yield %r : i1
    }
    attn.require %c, "0 < len[s]" : ~S:i1~
  )");
  auto with = [&](int64_t length) {
    return failureOf(text, {{"x", numbers({2}, {0, 0})},
                            {"len", integers({2}, {5, length})}});
  };
  EXPECT_EQ(with(1), "no error");
  EXPECT_NE(with(0).find("requirement not met: 0 < len[s] at s=1"),
            std::string::npos);
}

TEST(Memory, ErrorsNameTheirPlace) {
  EXPECT_EQ(failureOf(append(), appended({1, 1}, {1, 1})).substr(0, 2), "-:");
}
