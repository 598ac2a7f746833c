// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the simulator must report: for each kind of fault a kernel that has it, and one beside it that has not.
#include "Snippet.h"

using namespace attn::ptx;

namespace {
const char *const kHead =
    "ld.param.u64 %out, [out]; ld.param.u64 %in, [in]; mov.u32 %me, %tid.x;\n"
    ".shared .align 16 .b8 tile[1024]; mov.u32 %r0, tile; mul.wide.u32 %place, %me, 4; shl.b32 %r1, %me, 2;\n"
    "add.s32 %r0, %r0, %r1; mov.b32 %r2, 7;\n";

/// 64 threads and a tile of 1024 bytes; %r0 is the thread's word of the tile, %place its byte in the buffers of 256.
Outcome run(const std::string &text, unsigned threads = 64, uint64_t seed = 0) {
  std::vector<uint32_t> in(64);
  for (unsigned i = 0; i < 64; ++i)
    in[i] = i;
  Shape shape;
  shape.block = {threads, 1, 1};
  shape.seed = seed;
  Outcome run = runText(kernel(kHead + text + "\nret;"), bytesOf(in), 256, shape);
  EXPECT_EQ(run.error, "") << text;
  return run;
}

testing::AssertionResult has(const std::string &text, FaultKind kind, const std::string &words, unsigned threads = 64) {
  for (uint64_t seed : {0, 1, 2}) {
    Outcome found = run(text, threads, seed);
    if (!found.report.has(kind))
      return testing::AssertionFailure() << "nothing is reported with seed " << seed;
    for (const Fault &fault : found.report.faults)
      if (fault.kind != kind || (seed == 0 && fault.text.find(words) == std::string::npos))
        return testing::AssertionFailure() << faultName(fault.kind).str() << ": " << fault.text;
  }
  return testing::AssertionSuccess();
}

testing::AssertionResult isClean(const std::string &text, unsigned threads = 64) {
  for (uint64_t seed : {0, 1, 2}) {
    Outcome found = run(text, threads, seed);
    for (const Fault &fault : found.report.faults)
      return testing::AssertionFailure() << fault.line << ": " << faultName(fault.kind).str() << ": " << fault.text;
  }
  return testing::AssertionSuccess();
}
} // namespace

TEST(Fault, OutOfBounds) {
  EXPECT_TRUE(isClean("add.s64 %out, %out, %place; st.global.b32 [%out], %r2;"));
  EXPECT_TRUE(has("add.s64 %out, %out, %place; st.global.b32 [%out+4], %r2;", FaultKind::OutOfBounds,
                  "writes 4 bytes at global out+256; 'out' has 256"));
  EXPECT_TRUE(has("ld.global.b32 %r2, [%in+-4];", FaultKind::OutOfBounds, "reads 4 bytes"));
  EXPECT_TRUE(isClean("st.shared.b32 [%r0+768], %r2;"));
  EXPECT_TRUE(has("st.shared.b32 [%r0+772], %r2;", FaultKind::OutOfBounds, "shared tile+1024, where no variable lies"));
  EXPECT_TRUE(has("ld.param.b32 %r2, [out+16];", FaultKind::OutOfBounds, "the kernel has fewer"));
  EXPECT_TRUE(has(".local .align 4 .b8 depot[8]; mov.b64 %d0, depot; st.local.b32 [%d0+8], %r2;",
                  FaultKind::OutOfBounds, "a thread has 8"));
}

TEST(Fault, Misaligned) {
  EXPECT_TRUE(isClean("ld.global.v2.b32 {%r2, %r3}, [%in+8];"));
  EXPECT_TRUE(has("ld.global.v2.b32 {%r2, %r3}, [%in+4];", FaultKind::Misaligned, "reads 8 bytes at global in+4"));
  EXPECT_TRUE(has("cp.async.ca.shared.global [%r0], [%in+2], 4;", FaultKind::Misaligned, "copies 4 bytes from"));
}

TEST(Fault, ReadOnly) {
  EXPECT_TRUE(
      has("setp.eq.u32 %p0, %me, 0; @%p0 st.global.b32 [%in], %r2;", FaultKind::ReadOnly, "writes global in+0"));
}

TEST(Fault, NonCoherentLoadOfWhatIsWritten) {
  const std::string store = "add.s64 %out, %out, %place; st.global.b32 [%out], %r2; ";
  EXPECT_TRUE(isClean(store + "ld.global.nc.b32 %r3, [%in]; ld.global.b32 %r3, [%out];"));
  EXPECT_TRUE(has(store + "ld.global.nc.b32 %r3, [%out];", FaultKind::ReadOnly, "through .nc"));
}

TEST(Fault, Uninitialised) {
  EXPECT_TRUE(isClean("st.shared.b32 [%r0], %r2; ld.shared.b32 %r3, [%r0];"));
  EXPECT_TRUE(has("st.shared.b16 [%r0], %h0; ld.shared.b32 %r3, [%r0];", FaultKind::Uninitialised,
                  "reads shared tile+2, which nothing has written"));
  EXPECT_TRUE(
      has("add.s64 %out, %out, %place; ld.global.b32 %r3, [%out];", FaultKind::Uninitialised, "reads global out+0"));
  EXPECT_TRUE(has(".local .align 4 .b8 depot[8]; mov.b64 %d0, depot; ld.local.b32 %r3, [%d0];",
                  FaultKind::Uninitialised, "reads local depot+0"));
}

TEST(Fault, RaceBetweenWarps) {
  const std::string other = "xor.b32 %r3, %r1, 128; mov.u32 %r4, tile; add.s32 %r3, %r3, %r4; ";
  const std::string store = "st.shared.b32 [%r0], %r2; ", load = "ld.shared.b32 %r5, [%r3]; ", barrier = "bar.sync 0; ";
  EXPECT_TRUE(isClean(other + store + barrier + load));
  EXPECT_TRUE(isClean(other + store + barrier + load + barrier + store));
  // Written, then read by the other warp.
  Outcome missing = run(other + store + load);
  EXPECT_TRUE(missing.report.has(FaultKind::Race) || missing.report.has(FaultKind::Uninitialised));
  EXPECT_TRUE(has(other + store + barrier + load + store, FaultKind::Race, "with no barrier between"));
  EXPECT_TRUE(has("mov.u32 %r0, tile; st.shared.b32 [%r0], %r2;", FaultKind::Race, "wrote at line"));
}

TEST(Fault, RaceWithinAWarp) {
  const std::string other = "xor.b32 %r3, %r1, 4; mov.u32 %r4, tile; add.s32 %r3, %r3, %r4; ";
  EXPECT_TRUE(isClean(other + "st.shared.b32 [%r0], %r2; bar.warp.sync -1; ld.shared.b32 %r5, [%r3];"));
  EXPECT_TRUE(
      has(other + "st.shared.b32 [%r0], %r2; ld.shared.b32 %r5, [%r3];", FaultKind::Race, "with no barrier between"));
  // Two warps need more than bar.warp.sync.
  EXPECT_TRUE(
      has("xor.b32 %r3, %r1, 128; mov.u32 %r4, tile; add.s32 %r3, %r3, %r4; st.shared.b32 [%r0], %r2; bar.sync 0;"
          "ld.shared.b32 %r5, [%r3]; bar.warp.sync -1; st.shared.b32 [%r0], %r2;",
          FaultKind::Race, "with no barrier between"));
}

TEST(Fault, RaceOfSecondReader) {
  // Both warps read word 0; thread 0, who read it first or last, writes it.
  EXPECT_TRUE(has("setp.eq.u32 %p0, %me, 0; @%p0 st.shared.b32 [tile], %r2; bar.sync 0; ld.shared.b32 %r5, [tile];"
                  "bar.warp.sync -1; @%p0 st.shared.b32 [tile], %r2;",
                  FaultKind::Race, "with no barrier between"));
}

TEST(Fault, NamedBarriersOrderOnlyTheirWarps) {
  // 96 threads; warps 0 and 1 meet at barrier 1, warp 2 is not asked.
  const std::string head =
      "mov.u32 %r4, tile; mov.u32 %r6, %warpid; setp.eq.u32 %p0, %me, 0; @%p0 st.shared.b32 [tile], %r2;"
      "setp.eq.u32 %p1, %r6, 2; @%p1 bra LAST; bar.sync 1, 64; ";
  EXPECT_TRUE(isClean(head + "ld.shared.b32 %r5, [tile]; LAST: bar.sync 0;", 96));
  EXPECT_TRUE(isClean(head + "LAST: bar.sync 0; ld.shared.b32 %r5, [tile];", 96));
  Outcome late = run(head + "LAST: ld.shared.b32 %r5, [tile];", 96);
  EXPECT_TRUE(late.report.has(FaultKind::Race));
}

TEST(Fault, RaceInGlobalMemory) {
  EXPECT_TRUE(has("st.global.b32 [%out], %me;", FaultKind::Race, "writes global out+0"));
  Shape shape;
  shape.grid = {2, 1, 1};
  Outcome two =
      runText(kernel("ld.param.u64 %out, [out]; mov.b32 %r2, 1; st.global.b32 [%out], %r2; ret;"), {}, 4, shape);
  EXPECT_TRUE(two.report.has(FaultKind::Race));
}

TEST(Fault, CopiesInFlight) {
  const std::string copy =
      "add.s64 %in, %in, %place; cp.async.ca.shared.global [%r0], [%in], 4; cp.async.commit_group; ";
  const std::string second = "cp.async.ca.shared.global [%r0+256], [%in], 4; cp.async.commit_group; ";
  const std::string load = "ld.shared.b32 %r5, [%r0]; ";
  EXPECT_TRUE(isClean(copy + "cp.async.wait_group 0; " + load));
  EXPECT_TRUE(isClean(copy + "cp.async.wait_all; " + load));
  EXPECT_TRUE(isClean(copy + second + "cp.async.wait_group 1; " + load));
  EXPECT_TRUE(has(copy + load, FaultKind::InFlight, "to which an asynchronous copy is on its way"));
  EXPECT_TRUE(has(copy + "cp.async.wait_group 1; " + load, FaultKind::InFlight, "reads shared tile+"));
  EXPECT_TRUE(has(copy + second + "cp.async.wait_group 1; ld.shared.b32 %r5, [%r0+256];", FaultKind::InFlight, ""));
  // The wait is the thread's own: others need a barrier.
  const std::string other = "xor.b32 %r3, %r1, 4; mov.u32 %r4, tile; add.s32 %r3, %r3, %r4; ";
  EXPECT_TRUE(isClean(other + copy + "cp.async.wait_all; bar.sync 0; ld.shared.b32 %r5, [%r3];"));
  EXPECT_TRUE(has(other + copy + "cp.async.wait_all; ld.shared.b32 %r5, [%r3];", FaultKind::Race, "wrote at line"));
  // A copy into what another warp may still read.
  const std::string far = "xor.b32 %r3, %r1, 128; mov.u32 %r4, tile; add.s32 %r3, %r3, %r4; ";
  EXPECT_TRUE(
      has(far + "st.shared.b32 [%r0], %r2; bar.sync 0; ld.shared.b32 %r5, [%r3]; " + copy + "cp.async.wait_all;",
          FaultKind::Race, "with no barrier between"));
}

TEST(Fault, DivergentBarrier) {
  EXPECT_TRUE(isClean("setp.lt.u32 %p0, %me, 32; @%p0 bra NEXT; mov.b32 %r2, 1; NEXT: bar.sync 0;"));
  // Whoever has left is not waited for.
  EXPECT_TRUE(isClean("setp.lt.u32 %p0, %me, 7; @%p0 ret; bar.sync 0;"));
  EXPECT_TRUE(isClean("setp.lt.u32 %p0, %me, 32; @%p0 ret; bar.sync 0;"));
  EXPECT_TRUE(isClean("setp.lt.u32 %p0, %me, 7; @%p0 bra OUT; bar.sync 0; OUT: ret;"));
  EXPECT_TRUE(isClean("setp.lt.u32 %p0, %me, 7; @!%p0 bra ON; ret; ON: bar.sync 0;"));
  Outcome diverged = run("setp.lt.u32 %p0, %me, 7; @%p0 bra NEXT; bar.sync 0; NEXT: mov.b32 %r2, 1;");
  EXPECT_TRUE(diverged.report.has(FaultKind::DivergentBarrier));
  EXPECT_TRUE(run("setp.lt.u32 %p0, %me, 7; @%p0 bar.warp.sync -1;").report.has(FaultKind::DivergentBarrier));
}

TEST(Fault, Deadlock) {
  EXPECT_TRUE(has("bar.sync 1, 128;", FaultKind::Deadlock, "64 of 128 threads are there"));
  EXPECT_TRUE(has("setp.lt.u32 %p0, %me, 32; @%p0 bra OTHER; bar.sync 1; bra END; OTHER: bar.sync 2; END:",
                  FaultKind::Deadlock, "is never complete"));
  EXPECT_TRUE(
      isClean("setp.lt.u32 %p0, %me, 32; @%p0 bra OTHER; bar.sync 1, 64; bra END; OTHER: bar.arrive 1, 64; END:"));
}

TEST(Fault, Exchange) {
  EXPECT_TRUE(isClean("setp.lt.u32 %p0, %me, 32; @%p0 shfl.sync.bfly.b32 %r5, %r2, 1, 31, -1;"));
  EXPECT_TRUE(has("setp.lt.u32 %p0, %me, 3; @%p0 shfl.sync.bfly.b32 %r5, %r2, 1, 31, 7;", FaultKind::Exchange,
                  "reads lane 3, which does not take part"));
  EXPECT_TRUE(has("setp.lt.u32 %p0, %me, 3; @%p0 vote.sync.ballot.b32 %r5, %p0, -1;", FaultKind::Exchange,
                  "the mask names this lane, which goes another way"));
  EXPECT_TRUE(has("setp.lt.u32 %p0, %me, 3; @%p0 redux.sync.add.u32 %r5, %r2, 3;", FaultKind::Exchange,
                  "the mask does not name this lane itself"));
  EXPECT_TRUE(has("setp.lt.u32 %p0, %me, 3; @%p0 movmatrix.sync.aligned.m8n8.trans.b16 %r5, %r2;", FaultKind::Exchange,
                  "does not take part in a matrix instruction"));
}

TEST(Fault, TrapAndEndlessLoop) {
  EXPECT_TRUE(run("trap;").report.has(FaultKind::Trap));
  EXPECT_TRUE(run("LOOP: bra LOOP;").report.has(FaultKind::NoProgress));
}

TEST(Fault, OneLineIsOneFaultAndTheListEnds) {
  Outcome once = run("add.s64 %out, %out, %place; st.global.b32 [%out+256], %r2;");
  ASSERT_EQ(once.report.faults.size(), 1u);
  EXPECT_EQ(once.report.faults[0].times, 64u);
  EXPECT_EQ(once.report.faults[0].thread, (std::array<unsigned, 3>{0, 0, 0}));
  std::string many;
  for (unsigned i = 0; i < 25; ++i)
    many += "ld.global.b32 %r2, [%in+" + std::to_string(1024 + 4 * i) + "];\n";
  Outcome cut = run(many);
  EXPECT_EQ(cut.report.faults.size(), 20u);
  EXPECT_GT(cut.report.unlisted, 0u);
}
