// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Loads and stores, copies, atomics, barriers, and what is counted of them.
#include "Snippet.h"

using namespace attn::ptx;

TEST(Memory, WidthsAndSigns) {
  EXPECT_EQ(compute("ld.global.s8 %r0, [%in];", {0x80}).r, 0xffffff80u);
  EXPECT_EQ(compute("ld.global.u8 %r0, [%in];", {0x80}).r, 0x80u);
  EXPECT_EQ(compute("ld.global.nc.L1::no_allocate.s16 %d0, [%in];", {0x8000}).d, uint64_t(-0x8000));
  EXPECT_EQ(compute("ld.global.ca.b64 %d0, [%in+8];", {0, 0x123456789abcdef0}).d, 0x123456789abcdef0u);
  EXPECT_EQ(compute("ld.volatile.global.v2.u16 {%h1, %h0}, [%in];", {0x56781234}).h, 0x5678);
}

TEST(Memory, SpacesThroughGenericAddresses) {
  EXPECT_EQ(compute(".shared .align 4 .b32 word; mov.u64 %d1, word; cvta.shared.u64 %d2, %d1; st.b32 [%d2], %ra;"
                    "cvta.to.shared.u64 %d3, %d2; ld.shared.b32 %r0, [%d3]; isspacep.shared %p0, %d2;",
                    {42})
                .r,
            42u);
  Result local =
      compute(".local .align 8 .b8 depot[16]; mov.u64 %d1, depot; cvta.local.u64 %d2, %d1; st.b32 [%d2+4], %ra;"
              "ld.local.b32 %r0, [depot+4]; isspacep.global %p0, %d2;",
              {43});
  EXPECT_EQ(local.r, 43u);
  EXPECT_FALSE(local.p);
}

TEST(Memory, PackingAndUnpacking) {
  EXPECT_EQ(compute("mov.b32 %r0, {%ha, %hb};", {0x1111, 0x2222}).r, 0x22221111u);
  EXPECT_EQ(compute("mov.b64 %d0, {%ra, %rb};", {1, 2}).d, 0x200000001u);
  EXPECT_EQ(compute("mov.b64 {%r1, %r0}, %da;", {0x200000001}).r, 2u);
  EXPECT_EQ(compute("mov.b32 {%h0, _}, %ra;", {0x22221111}).h, 0x1111);
}

TEST(Memory, ModuleVariables) {
  std::string head = ".global .align 4 .u32 table[4] = {10, 0x14, 30};\n.const .align 4 .f32 half = 0f3F000000;\n"
                     ".global .align 8 .u64 pointer = generic(table)+4;\n";
  std::string text =
      "ld.param.u64 %out, [out]; ld.global.u32 %r0, [table+8]; ld.const.f32 %r1, [half]; ld.global.u64 %d0, "
      "[pointer]; ld.u32 %r2, [%d0]; ld.global.u32 %r3, [table+12]; st.global.v4.b32 [%out], {%r0,%r1,%r2,%r3}; ret;";
  Outcome run = runText(kernel(text, head), {}, 16);
  ASSERT_EQ(run.error, "");
  EXPECT_TRUE(run.report.clean());
  EXPECT_EQ(run.at<uint32_t>(0), 30u);
  EXPECT_EQ(run.at<float>(1), 0.5f);
  EXPECT_EQ(run.at<uint32_t>(2), 20u);
  EXPECT_EQ(run.at<uint32_t>(3), 0u);
}

TEST(Memory, DynamicSharedMemoryFollowsTheStatic) {
  std::string head = ".extern .shared .align 16 .b8 dynamic[];\n";
  std::string text =
      ".shared .align 4 .b8 fixed[20]; ld.param.u64 %out, [out]; mov.u32 %r0, fixed; mov.u32 %r1, dynamic;\n"
      "mov.u32 %r2, %dynamic_smem_size; st.shared.b32 [%r1+60], %r2; ld.shared.b32 %r3, [dynamic+60];\n"
      "st.global.v4.b32 [%out], {%r0,%r1,%r2,%r3}; ret;";
  Shape shape;
  shape.dynamicShared = 64;
  Outcome run = runText(kernel(text, head), {}, 16, shape);
  ASSERT_EQ(run.error, "");
  EXPECT_TRUE(run.report.clean());
  EXPECT_GE(run.at<uint32_t>(1), run.at<uint32_t>(0) + 20);
  EXPECT_EQ(run.at<uint32_t>(1) % 16, 0u);
  EXPECT_EQ(run.at<uint32_t>(2), 64u);
  EXPECT_EQ(run.at<uint32_t>(3), 64u);
  shape.dynamicShared = 60;
  EXPECT_TRUE(runText(kernel(text, head), {}, 16, shape).report.has(FaultKind::OutOfBounds));
}

TEST(Memory, CopiesFillWithZeros) {
  std::string text =
      ".shared .align 16 .b8 tile[16]; ld.param.u64 %out, [out]; ld.param.u64 %in, [in]; mov.u32 %r0, tile;\n"
      "mov.u32 %r1, SIZE; cp.async.cg.shared.global [%r0], [%in], 16, %r1; cp.async.wait_all;\n"
      "ld.shared.v4.b32 {%r2,%r3,%r4,%r5}, [%r0]; st.global.v4.b32 [%out], {%r2,%r3,%r4,%r5}; ret;";
  std::vector<uint32_t> in = {1, 2, 3, 4};
  for (unsigned size : {0u, 8u, 16u}) {
    std::string sized = text;
    sized.replace(sized.find("SIZE"), 4, std::to_string(size));
    Outcome run = runText(kernel(sized), bytesOf(in).take_front(size ? size : 4), 16);
    ASSERT_EQ(run.error, "");
    EXPECT_TRUE(run.report.clean());
    for (unsigned i = 0; i < 4; ++i)
      EXPECT_EQ(run.at<uint32_t>(i), 4 * i < size ? i + 1 : 0);
  }
}

TEST(Memory, Atomics) {
  std::string text =
      ".shared .align 8 .b8 cell[8]; ld.param.u64 %out, [out]; mov.u32 %me, %tid.x; setp.eq.u32 %p0, %me, 0;\n"
      "mov.b64 %d0, START; @%p0 st.shared.b64 [cell], %d0; bar.sync 0; OPERATION bar.sync 0;\n"
      "ld.shared.b64 %d0, [cell]; @%p0 st.global.b64 [%out], %d0; ret;";
  auto after = [&](const std::string &operation, uint64_t start) {
    std::string full = text;
    full.replace(full.find("START"), 5, std::to_string(start));
    full.replace(full.find("OPERATION"), 9, operation);
    Shape shape;
    shape.block = {64, 1, 1};
    Outcome run = runText(kernel(full), {}, 8, shape);
    EXPECT_EQ(run.error, "");
    EXPECT_TRUE(run.error.empty() && run.report.clean()) << operation;
    return run.error.empty() ? run.at<uint64_t>(0) : 0;
  };
  EXPECT_EQ(after("red.shared.add.u32 [cell], %me;", 1), 2017u);
  EXPECT_EQ(after("atom.shared.max.s32 %r0, [cell], %me;", 0xffffffff), 63u);
  EXPECT_EQ(after("atom.shared.inc.u32 %r0, [cell], 9;", 0), 4u);
  EXPECT_EQ(after("atom.shared.cas.b32 %r0, [cell], 5, 8;", 5), 8u);
  EXPECT_EQ(after("atom.relaxed.cta.shared.exch.b64 %d1, [cell], 77;", 5), 77u);
  EXPECT_EQ(after("red.shared.add.f32 [cell], 0f3F800000;", 0), bits(64.0f));
  EXPECT_EQ(after("red.shared.or.b32 [cell], %me;", 0), 63u);
}

TEST(Memory, BarriersReduce) {
  std::string text = "ld.param.u64 %out, [out]; mov.u32 %me, %tid.x; setp.lt.u32 %p0, %me, 40;\n"
                     "bar.red.popc.u32 %r0, 0, %p0; bar.red.and.pred %p1, 0, %p0; bar.red.or.pred %p2, 0, !%p0;\n"
                     "selp.b32 %r1, 1, 0, %p1; selp.b32 %r2, 1, 0, %p2; setp.eq.u32 %p3, %me, 0;\n"
                     "@%p3 st.global.v4.b32 [%out], {%r0,%r1,%r2,%me}; ret;";
  Shape shape;
  shape.block = {64, 1, 1};
  Outcome run = runText(kernel(text), {}, 16, shape);
  ASSERT_EQ(run.error, "");
  EXPECT_TRUE(run.report.clean());
  EXPECT_EQ(run.at<uint32_t>(0), 40u);
  EXPECT_EQ(run.at<uint32_t>(1), 0u);
  EXPECT_EQ(run.at<uint32_t>(2), 1u);
}

namespace {
/// The passes that 32 lanes need whose words lie `stride` bytes apart.
Traffic sharedTraffic(unsigned stride, const std::string &store) {
  std::string text = ".shared .align 16 .b8 tile[8192]; mov.u32 %me, %tid.x; mul.lo.s32 %r0, %me, " +
                     std::to_string(stride) + ";\nmov.u32 %r1, tile; add.s32 %r0, %r0, %r1; mov.b32 %r2, 0;\n" + store +
                     "\nret;";
  Shape shape;
  shape.block = {32, 1, 1};
  Outcome run = runText(kernel(text), {}, 16, shape);
  EXPECT_EQ(run.error, "");
  return run.report.counters.shared;
}
} // namespace

TEST(Counters, BankConflicts) {
  EXPECT_EQ(sharedTraffic(4, "st.shared.b32 [%r0], %r2;").conflicts, 0u);
  EXPECT_EQ(sharedTraffic(8, "st.shared.b32 [%r0], %r2;").conflicts, 1u);
  EXPECT_EQ(sharedTraffic(128, "st.shared.b32 [%r0], %r2;").conflicts, 31u);
  EXPECT_EQ(sharedTraffic(132, "st.shared.b32 [%r0], %r2;").conflicts, 0u);
  // Two lanes share a word.
  EXPECT_EQ(sharedTraffic(2, "st.shared.b16 [%r0], %h0;").conflicts, 0u);
  // 16 bytes a lane take four passes; rows of 128 bytes put the eight lanes of a pass on the same banks.
  Traffic dense = sharedTraffic(16, "st.shared.v4.b32 [%r0], {%r2,%r2,%r2,%r2};");
  EXPECT_EQ(dense.units, 4u);
  EXPECT_EQ(dense.conflicts, 0u);
  EXPECT_EQ(dense.storedBytes, 512u);
  EXPECT_EQ(sharedTraffic(128, "st.shared.v4.b32 [%r0], {%r2,%r2,%r2,%r2};").conflicts, 28u);
}

TEST(Counters, SectorsAndClasses) {
  std::string text =
      "ld.param.u64 %out, [out]; mov.u32 %me, %tid.x; mul.wide.u32 %place, %me, 64; add.s64 %out, %out, %place;\n"
      "mov.b32 %r0, 0f3F800000; fma.rn.f32 %r1, %r0, %r0, %r0; ex2.approx.f32 %r1, %r1; st.global.b32 [%out], %r1; "
      "ret;";
  Shape shape;
  shape.block = {32, 1, 1};
  Outcome run = runText(kernel(text), {}, 2048, shape);
  ASSERT_EQ(run.error, "");
  const Counters &counters = run.report.counters;
  EXPECT_EQ(counters.global.units, 32u);
  EXPECT_EQ(counters.global.storedBytes, 128u);
  EXPECT_EQ(counters.byClass[unsigned(Class::Fma)], 1u);
  EXPECT_EQ(counters.byClass[unsigned(Class::Special)], 1u);
  EXPECT_EQ(counters.byClass[unsigned(Class::Store)], 1u);
  EXPECT_EQ(counters.warpInstructions, 9u);
  EXPECT_EQ(counters.laneInstructions, 9u * 32);
}
