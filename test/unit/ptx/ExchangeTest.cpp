// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What lanes exchange, and how a warp diverges and joins.
#include "Snippet.h"

using namespace attn::ptx;

namespace {
std::vector<uint32_t> lanes() {
  return byLane([](unsigned i) { return i; });
}
} // namespace

TEST(Shuffle, OutOfRangeKeepsTheOwnValue) {
  auto up = computeWarp("shfl.sync.up.b32 %r0, %ra, 3, 0, -1;", lanes());
  auto down = computeWarp("shfl.sync.down.b32 %r0, %ra, 3, 31, -1;", lanes());
  for (unsigned i = 0; i < 32; ++i) {
    EXPECT_EQ(up[i], i < 3 ? i : i - 3);
    EXPECT_EQ(down[i], i > 28 ? i : i + 3);
  }
}

TEST(Shuffle, PredicateSaysWhetherInRange) {
  auto within = computeWarp("shfl.sync.down.b32 %r1|%p0, %ra, 8, 31, -1; selp.b32 %r0, 1, 0, %p0;", lanes());
  for (unsigned i = 0; i < 32; ++i)
    EXPECT_EQ(within[i], i < 24);
}

TEST(Shuffle, ButterflyAndIndex) {
  auto butterfly = computeWarp("shfl.sync.bfly.b32 %r0, %ra, 16, 31, -1;", lanes());
  auto index = computeWarp("shfl.sync.idx.b32 %r0, %ra, 5, 31, -1;", lanes());
  for (unsigned i = 0; i < 32; ++i) {
    EXPECT_EQ(butterfly[i], i ^ 16);
    EXPECT_EQ(index[i], 5u);
  }
}

TEST(Shuffle, SegmentsOfEight) {
  // c has the segment mask 0b11000 above the clamp 31, or 0 when going up.
  auto index = computeWarp("shfl.sync.idx.b32 %r0, %ra, 2, 0x181f, -1;", lanes());
  auto down = computeWarp("shfl.sync.down.b32 %r0, %ra, 1, 0x181f, -1;", lanes());
  auto up = computeWarp("shfl.sync.up.b32 %r0, %ra, 1, 0x1800, -1;", lanes());
  for (unsigned i = 0; i < 32; ++i) {
    EXPECT_EQ(index[i], (i & 24) + 2);
    EXPECT_EQ(down[i], i % 8 == 7 ? i : i + 1);
    EXPECT_EQ(up[i], i % 8 == 0 ? i : i - 1);
  }
}

TEST(Vote, OfAllLanes) {
  EXPECT_EQ(computeWarp("setp.lt.u32 %p0, %ra, 4; vote.sync.ballot.b32 %r0, %p0, -1;", lanes())[9], 0xfu);
  EXPECT_EQ(computeWarp("setp.lt.u32 %p0, %ra, 4; vote.sync.ballot.b32 %r0, !%p0, -1;", lanes())[9], ~0xfu);
  const char *vote = "setp.lt.u32 %p0, %ra, 4; vote.sync.MODE.pred %p1, %p0, -1; selp.b32 %r0, 1, 0, %p1;";
  for (auto [mode, expected] : {std::pair("all", 0u), std::pair("any", 1u), std::pair("uni", 0u)}) {
    std::string text = vote;
    EXPECT_EQ(computeWarp(text.replace(text.find("MODE"), 4, mode), lanes())[0], expected) << mode;
  }
}

TEST(Vote, ReductionsAndMatches) {
  EXPECT_EQ(computeWarp("redux.sync.add.u32 %r0, %ra, -1;", lanes())[3], 496u);
  EXPECT_EQ(computeWarp("sub.s32 %ra, %ra, 7; redux.sync.min.s32 %r0, %ra, -1;", lanes())[3], uint32_t(-7));
  EXPECT_EQ(computeWarp("and.b32 %ra, %ra, 7; match.any.sync.b32 %r0, %ra, -1;", lanes())[1], 0x02020202u);
  EXPECT_EQ(computeWarp("activemask.b32 %r0;", lanes())[1], 0xffffffffu);
}

TEST(Divergence, BranchesJoinAtThePostDominator) {
  const char *text = R"(
    setp.lt.u32 %p0, %ra, 10;
    @%p0 bra LOW;
    mov.b32 %r0, 100;
    bra.uni JOIN;
  LOW:
    mov.b32 %r0, 200;
  JOIN:
    activemask.b32 %r1;
    popc.b32 %r1, %r1;
    add.s32 %r0, %r0, %r1;)";
  auto values = computeWarp(text, lanes());
  for (unsigned i = 0; i < 32; ++i)
    EXPECT_EQ(values[i], i < 10 ? 232u : 132u);
}

TEST(Divergence, LanesLeaveALoopOneByOne) {
  const char *text = R"(
    mov.b32 %r1, 0;
  LOOP:
    add.s32 %r0, %r0, %r1;
    add.s32 %r1, %r1, 1;
    setp.le.u32 %p0, %r1, %ra;
    @%p0 bra LOOP;
    activemask.b32 %r2;
    setp.ne.b32 %p1, %r2, -1;
    @%p1 mov.b32 %r0, 0;)";
  auto values = computeWarp(text, lanes());
  for (unsigned i = 0; i < 32; ++i)
    EXPECT_EQ(values[i], i * (i + 1) / 2);
}

TEST(Divergence, NestedBranchesAndBreaks) {
  // The Collatz steps of lane + 1, left by a branch from the middle of the loop.
  const char *text = R"(
    add.s32 %r1, %ra, 1;
  LOOP:
    setp.eq.s32 %p0, %r1, 1;
    @%p0 bra END;
    add.s32 %r0, %r0, 1;
    and.b32 %r2, %r1, 1;
    setp.eq.s32 %p1, %r2, 0;
    @%p1 bra EVEN;
    mad.lo.s32 %r1, %r1, 3, 1;
    bra LOOP;
  EVEN:
    shr.u32 %r1, %r1, 1;
    bra LOOP;
  END:)";
  auto values = computeWarp(text, lanes());
  for (unsigned i = 0; i < 32; ++i) {
    unsigned steps = 0;
    for (unsigned n = i + 1; n != 1; ++steps)
      n = n % 2 ? 3 * n + 1 : n / 2;
    EXPECT_EQ(values[i], steps);
  }
}

TEST(Divergence, BranchesByTable) {
  const char *text = R"(
    and.b32 %r1, %ra, 3;
  TABLE: .branchtargets A, B, A, C;
    brx.idx %r1, TABLE;
  A: mov.b32 %r0, 10; bra JOIN;
  B: mov.b32 %r0, 20; bra JOIN;
  C: mov.b32 %r0, 30;
  JOIN: activemask.b32 %r2; popc.b32 %r2, %r2; add.s32 %r0, %r0, %r2;)";
  auto values = computeWarp(text, lanes());
  for (unsigned i = 0; i < 32; ++i)
    EXPECT_EQ(values[i], (i % 2 == 0 ? 10 : i % 4 == 1 ? 20 : 30) + 32u);
}

TEST(Divergence, GuardsMaskSingleInstructions) {
  auto values =
      computeWarp("setp.lt.u32 %p0, %ra, 4; mov.b32 %r0, 1; @%p0 mov.b32 %r0, 2; @!%p0 add.s32 %r0, %r0, 8;", lanes());
  EXPECT_EQ(values[3], 2u);
  EXPECT_EQ(values[4], 9u);
}

TEST(Calls, RunWithRegistersOfTheirOwn) {
  std::string head = R"(
.func (.param .b32 result) twice(.param .b32 value)
{
  .reg .b32 %r<3>; .reg .pred %p0;
  ld.param.b32 %r1, [value];
  setp.gt.u32 %p0, %r1, 20;
  @%p0 bra BIG;
  shl.b32 %r1, %r1, 1;
  st.param.b32 [result], %r1;
  ret;
BIG:
  st.param.b32 [result], 0;
  ret;
})";
  std::string text = R"(
  ld.param.u64 %out, [out];
  mov.u32 %me, %tid.x;
  mov.b32 %r1, 1000;
  { .param .b32 p0; .param .b32 r0;
    st.param.b32 [p0], %me;
    call.uni (r0), twice, (p0);
    ld.param.b32 %r0, [r0]; }
  { .param .b32 p0; .param .b32 r0;
    st.param.b32 [p0], %r0;
    call.uni (r0), twice, (p0);
    ld.param.b32 %r0, [r0]; }
  add.s32 %r0, %r0, %r1;
  mul.wide.u32 %place, %me, 4; add.s64 %out, %out, %place;
  st.global.b32 [%out], %r0;
  ret;)";
  Shape shape;
  shape.block = {32, 1, 1};
  Outcome run = runText(kernel(text, head), {}, 128, shape);
  ASSERT_EQ(run.error, "");
  EXPECT_TRUE(run.report.clean());
  for (unsigned i = 0; i < 32; ++i)
    EXPECT_EQ(run.at<uint32_t>(i), 1000 + (i > 10 ? 0 : 4 * i));
}

TEST(Registers, Special) {
  std::string text = R"(
  ld.param.u64 %out, [out];
  mov.u32 %r0, %tid.x; mov.u32 %r1, %ntid.x; mov.u32 %r2, %tid.y; mad.lo.s32 %r3, %r2, %r1, %r0;
  mov.u32 %r4, %ctaid.x; mov.u32 %r5, %ntid.y; mul.lo.s32 %r6, %r5, %r1; mad.lo.s32 %r3, %r4, %r6, %r3;
  mul.wide.u32 %place, %r3, 16; add.s64 %out, %out, %place;
  mov.u32 %r0, %laneid; mov.u32 %r1, %warpid; mov.u32 %r2, %nctaid.x; mov.u32 %r4, %lanemask_lt;
  st.global.v4.b32 [%out], {%r0, %r1, %r2, %r4};
  ret;)";
  Shape shape;
  shape.grid = {2, 1, 1};
  shape.block = {16, 3, 1};
  Outcome run = runText(kernel(text), {}, 96 * 16, shape);
  ASSERT_EQ(run.error, "");
  EXPECT_TRUE(run.report.clean());
  for (unsigned i = 0; i < 96; ++i) {
    EXPECT_EQ(run.at<uint32_t>(4 * i), i % 48 % 32);
    EXPECT_EQ(run.at<uint32_t>(4 * i + 1), i % 48 / 32);
    EXPECT_EQ(run.at<uint32_t>(4 * i + 2), 2u);
    EXPECT_EQ(run.at<uint32_t>(4 * i + 3), (1u << i % 48 % 32) - 1);
  }
}
