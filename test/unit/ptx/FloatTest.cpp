// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Floats: rounding, subnormal numbers, NaN, by the definitions of the PTX manual.
#include "Snippet.h"

using namespace attn::ptx;

namespace {
constexpr uint32_t kNan = 0x7fffffff, kInfinity = 0x7f800000;
float asFloat(uint32_t value) { return fromBits<float>(value); }
} // namespace

TEST(Float, SumsRoundAsTheySay) {
  // 1 + 2^-24 lies half way; 1 + 3·2^-25 lies above it.
  std::vector<uint64_t> tie = {bits(1.0f), bits(0x1p-24f)}, above = {bits(1.0f), bits(0x1.8p-24f)};
  EXPECT_EQ(compute("add.rn.f32 %r0, %ra, %rb;", tie).r, bits(1.0f));
  EXPECT_EQ(compute("add.f32 %r0, %ra, %rb;", above).r, bits(0x1.000002p0f));
  EXPECT_EQ(compute("add.rz.f32 %r0, %ra, %rb;", above).r, bits(1.0f));
  EXPECT_EQ(compute("add.rp.f32 %r0, %ra, %rb;", tie).r, bits(0x1.000002p0f));
  EXPECT_EQ(compute("sub.rm.f32 %r0, %ra, %rb;", {bits(-1.0f), bits(0x1p-30f)}).r, bits(-0x1.000002p0f));
  EXPECT_EQ(compute("add.f64 %d0, %da, %db;", {bits(0.1), bits(0.2)}).d, bits(0.1 + 0.2));
}

TEST(Float, FusedIsRoundedOnce) {
  float a = 1 + 0x1p-12f, expected = 0x1p-24f;
  // a² = 1 + 2^-11 + 2^-24.
  EXPECT_EQ(compute("fma.rn.f32 %r0, %ra, %ra, %rb;", {bits(a), bits(-(1 + 0x1p-11f))}).r, bits(expected));
  EXPECT_EQ(compute("mul.f32 %r0, %ra, %ra;", {bits(a)}).r, bits(1 + 0x1p-11f));
  // In f16: 2^-14 + 2^-24·(1 + a little) must not be rounded in two steps.
  EXPECT_EQ(compute("fma.rn.f16 %h0, %ha, %hb, %hc;", {0x3c01, 0x1400, 0x6400}).h, 0x6400);
  EXPECT_EQ(compute("fma.rn.f64 %d0, %da, %db, %dc;", {bits(1 + 0x1p-30), bits(1 - 0x1p-30), bits(-1.0)}).d,
            bits(-0x1p-60));
}

TEST(Float, FlushAndSaturate) {
  EXPECT_EQ(compute("add.ftz.f32 %r0, %ra, %rb;", {1, bits(0.0f)}).r, 0u);
  EXPECT_EQ(compute("mul.ftz.f32 %r0, %ra, %rb;", {bits(0x1p-100f), bits(-0x1p-30f)}).r, 0x80000000u);
  EXPECT_EQ(compute("mul.f32 %r0, %ra, %rb;", {bits(0x1p-100f), bits(0x1p-30f)}).r, bits(0x1p-130f));
  EXPECT_EQ(compute("add.sat.f32 %r0, %ra, %rb;", {bits(0.75f), bits(0.75f)}).r, bits(1.0f));
  EXPECT_EQ(compute("add.sat.f32 %r0, %ra, %rb;", {kNan, bits(0.75f)}).r, 0u);
}

TEST(Float, ExtremaOfNanAndZeros) {
  EXPECT_EQ(compute("max.f32 %r0, %ra, %rb;", {kNan, bits(-3.0f)}).r, bits(-3.0f));
  EXPECT_EQ(compute("min.f32 %r0, %ra, %rb;", {bits(-3.0f), 0xffc00000}).r, bits(-3.0f));
  EXPECT_EQ(compute("max.f32 %r0, %ra, %rb;", {kNan, 0xffc00000}).r, kNan);
  EXPECT_EQ(compute("max.NaN.f32 %r0, %ra, %rb;", {kNan, bits(-3.0f)}).r, kNan);
  EXPECT_EQ(compute("max.f32 %r0, %ra, %rb;", {0x80000000, 0}).r, 0u);
  EXPECT_EQ(compute("min.f32 %r0, %ra, %rb;", {0, 0x80000000}).r, 0x80000000u);
  EXPECT_EQ(compute("max.bf16x2 %r0, %ra, %rb;", {0x3f80c000, 0x40007fff}).r, 0x4000c000u);
  EXPECT_EQ(compute("abs.f32 %r0, %ra;", {bits(-2.0f)}).r, bits(2.0f));
  EXPECT_EQ(compute("neg.f16x2 %r0, %ra;", {0x3c008000}).r, 0xbc000000u);
  EXPECT_EQ(compute("copysign.f32 %r0, %ra, %rb;", {0x80000000, bits(3.0f)}).r, bits(-3.0f));
}

TEST(Float, Infinities) {
  EXPECT_EQ(compute("add.f32 %r0, %ra, %rb;", {kInfinity, 0xff800000}).r, kNan);
  EXPECT_EQ(compute("div.rn.f32 %r0, %ra, %rb;", {bits(1.0f), 0x80000000}).r, 0xff800000u);
  EXPECT_EQ(compute("mul.rz.f32 %r0, %ra, %rb;", {bits(0x1p127f), bits(2.0f)}).r, 0x7f7fffffu);
}

TEST(Float, RootsAndQuotients) {
  EXPECT_EQ(compute("div.rn.f32 %r0, %ra, %rb;", {bits(1.0f), bits(3.0f)}).r, bits(1.0f / 3.0f));
  EXPECT_EQ(compute("sqrt.rn.f32 %r0, %ra;", {bits(2.0f)}).r, bits(std::sqrt(2.0f)));
  EXPECT_EQ(compute("sqrt.rn.f32 %r0, %ra;", {bits(-2.0f)}).r, kNan);
  EXPECT_EQ(compute("rcp.rn.f32 %r0, %ra;", {bits(3.0f)}).r, bits(1.0f / 3.0f));
  EXPECT_EQ(compute("rcp.approx.ftz.f32 %r0, %ra;", {1}).r, kInfinity);
  EXPECT_FLOAT_EQ(asFloat(compute("rsqrt.approx.f32 %r0, %ra;", {bits(2.0f)}).r), 0.70710678f);
  EXPECT_EQ(compute("rsqrt.approx.f32 %r0, %ra;", {0x80000000}).r, 0xff800000u);
  EXPECT_EQ(compute("div.full.f32 %r0, %ra, %rb;", {bits(1.0f), bits(4.0f)}).r, bits(0.25f));
}

TEST(Float, Transcendentals) {
  EXPECT_EQ(compute("ex2.approx.f32 %r0, %ra;", {bits(-3.0f)}).r, bits(0.125f));
  EXPECT_EQ(compute("ex2.approx.ftz.f32 %r0, %ra;", {0xff800000}).r, 0u);
  EXPECT_EQ(compute("ex2.approx.ftz.f32 %r0, %ra;", {bits(-130.0f)}).r, 0u);
  EXPECT_EQ(compute("ex2.approx.f32 %r0, %ra;", {bits(-130.0f)}).r, bits(0x1p-130f));
  EXPECT_EQ(compute("lg2.approx.f32 %r0, %ra;", {bits(8.0f)}).r, bits(3.0f));
  EXPECT_EQ(compute("lg2.approx.f32 %r0, %ra;", {0}).r, 0xff800000u);
  EXPECT_FLOAT_EQ(asFloat(compute("tanh.approx.f32 %r0, %ra;", {bits(0.5f)}).r), 0.46211716f);
  EXPECT_FLOAT_EQ(asFloat(compute("sin.approx.f32 %r0, %ra;", {bits(1.0f)}).r), 0.84147098f);
  EXPECT_EQ(compute("ex2.approx.f16x2 %r0, %ra;", {0x40003c00}).r, 0x44004000u);
}

TEST(Float, HalvesRoundAndHaveSubnormals) {
  // 2048 + 1 is a tie that goes to even; 2048 + 3 goes up to even.
  EXPECT_EQ(compute("add.rn.f16 %h0, %ha, %hb;", {0x6800, 0x3c00}).h, 0x6800);
  EXPECT_EQ(compute("add.rn.f16 %h0, %ha, %hb;", {0x6800, 0x4200}).h, 0x6802);
  // Half of the least subnormal is a tie with 0, three halves go to 2.
  EXPECT_EQ(compute("mul.rn.f16 %h0, %ha, %hb;", {0x0001, 0x3800}).h, 0x0000);
  EXPECT_EQ(compute("mul.rn.f16 %h0, %ha, %hb;", {0x0003, 0x3800}).h, 0x0002);
  EXPECT_EQ(compute("add.f16 %h0, %ha, %hb;", {0x7bff, 0x7bff}).h, 0x7c00);
  EXPECT_EQ(compute("fma.rn.f16x2 %r0, %ra, %rb, %rc;", {0x3c004000, 0x40004000, 0x3c003c00}).r, 0x42004500u);
  EXPECT_EQ(compute("fma.rn.bf16x2 %r0, %ra, %rb, %rc;", {0x3f804000, 0x40004000, 0x3f803f80}).r, 0x404040a0u);
  EXPECT_EQ(compute("fma.rn.relu.f16 %h0, %ha, %hb, %hc;", {0x3c00, 0xbc00, 0x0000}).h, 0x0000);
}

TEST(Compare, NanHoldsOnlyWhereAskedFor) {
  auto holds = [](const char *compare, uint32_t a, uint32_t b) {
    return compute(std::string("setp.") + compare + ".f32 %p0, %ra, %rb;", {a, b}).p;
  };
  for (const char *compare : {"eq", "ne", "lt", "le", "gt", "ge", "num"})
    EXPECT_FALSE(holds(compare, kNan, bits(1.0f))) << compare;
  for (const char *compare : {"equ", "neu", "ltu", "leu", "gtu", "geu", "nan"})
    EXPECT_TRUE(holds(compare, kNan, bits(1.0f))) << compare;
  EXPECT_TRUE(holds("eq", 0, 0x80000000));
  EXPECT_FALSE(holds("lt", 0x80000000, 0));
  EXPECT_FALSE(holds("ltu", bits(2.0f), bits(1.0f)));
  EXPECT_FALSE(holds("nan", bits(2.0f), bits(1.0f)));
}

TEST(Compare, SignAndWidth) {
  EXPECT_TRUE(compute("setp.lt.s32 %p0, %ra, %rb;", {0xffffffff, 0}).p);
  EXPECT_FALSE(compute("setp.lt.u32 %p0, %ra, %rb;", {0xffffffff, 0}).p);
  EXPECT_TRUE(compute("setp.hi.u32 %p0, %ra, %rb;", {0xffffffff, 0}).p);
  EXPECT_TRUE(compute("setp.eq.b16 %p0, %ha, %hb;", {0x10001, 0x20001}).p);
}

TEST(Compare, SecondPredicateAndCombination) {
  EXPECT_FALSE(compute("setp.lt.s32 %p1|%p0, %ra, %rb;", {1, 2}).p);
  EXPECT_TRUE(compute("setp.lt.and.s32 %p0, %ra, %rb, %pa;", {1, 2}).p);
  EXPECT_FALSE(compute("setp.lt.and.s32 %p0, %ra, %rb, !%pa;", {1, 2}).p);
  EXPECT_FALSE(compute("setp.lt.xor.s32 %p0, %ra, %rb, %pa;", {1, 2}).p);
  // (1 < 2) is inverted before it is combined.
  EXPECT_TRUE(compute("setp.lt.or.s32 %p1|%p0, %ra, %rb, %pa;", {1, 2}).p);
  EXPECT_TRUE(compute("setp.gt.f16x2 %p1|%p0, %ra, %rb;", {0x40000000, 0x3c000000}).p);
}

TEST(Compare, Values) {
  EXPECT_EQ(compute("set.lt.u32.s32 %r0, %ra, %rb;", {1, 2}).r, 0xffffffffu);
  EXPECT_EQ(compute("set.lt.f32.s32 %r0, %ra, %rb;", {1, 2}).r, bits(1.0f));
  EXPECT_EQ(compute("set.gt.f16x2.f16x2 %r0, %ra, %rb;", {0x40003c00, 0x3c003c00}).r, 0x3c000000u);
  EXPECT_EQ(compute("selp.b32 %r0, %rb, %rc, %pa;", {1, 7, 9}).r, 7u);
  EXPECT_EQ(compute("slct.b32.s32 %r0, %ra, %rb, %rc;", {7, 9, 0xffffffff}).r, 9u);
  EXPECT_EQ(compute("slct.b32.f32 %r0, %ra, %rb, %rc;", {7, 9, 0x80000000}).r, 7u);
  EXPECT_TRUE(compute("testp.subnormal.f32 %p0, %ra;", {1}).p);
}

TEST(Convert, IntegersToIntegers) {
  EXPECT_EQ(compute("cvt.s64.s32 %d0, %ra;", {0x80000000}).d, 0xffffffff80000000ull);
  EXPECT_EQ(compute("cvt.u64.u32 %d0, %ra;", {0x80000000}).d, 0x80000000ull);
  EXPECT_EQ(compute("cvt.s32.s8 %r0, %ra;", {0x80}).r, 0xffffff80u);
  EXPECT_EQ(compute("cvt.u32.u16 %r0, %ha;", {0x8000}).r, 0x8000u);
  EXPECT_EQ(compute("cvt.sat.s8.s32 %r0, %ra;", {300}).r, 127u);
  EXPECT_EQ(compute("cvt.sat.u8.s32 %r0, %ra;", {uint32_t(-5)}).r, 0u);
  EXPECT_EQ(compute("cvt.sat.s32.u32 %r0, %ra;", {0xffffffff}).r, 0x7fffffffu);
}

TEST(Convert, FloatsToIntegersRoundAndClamp) {
  EXPECT_EQ(compute("cvt.rni.s32.f32 %r0, %ra;", {bits(2.5f)}).r, 2u);
  EXPECT_EQ(compute("cvt.rni.s32.f32 %r0, %ra;", {bits(-3.5f)}).r, uint32_t(-4));
  EXPECT_EQ(compute("cvt.rzi.s32.f32 %r0, %ra;", {bits(-2.9f)}).r, uint32_t(-2));
  EXPECT_EQ(compute("cvt.rmi.s32.f32 %r0, %ra;", {bits(-2.1f)}).r, uint32_t(-3));
  EXPECT_EQ(compute("cvt.rpi.s32.f32 %r0, %ra;", {bits(2.1f)}).r, 3u);
  EXPECT_EQ(compute("cvt.rzi.s32.f32 %r0, %ra;", {bits(1e20f)}).r, 0x7fffffffu);
  EXPECT_EQ(compute("cvt.rzi.u32.f32 %r0, %ra;", {bits(-1.0f)}).r, 0u);
  EXPECT_EQ(compute("cvt.rzi.s32.f32 %r0, %ra;", {kNan}).r, 0u);
  EXPECT_EQ(compute("cvt.rzi.s64.f32 %d0, %ra;", {kNan}).d, 1ull << 63);
  EXPECT_EQ(compute("cvt.rzi.u64.f64 %d0, %da;", {bits(0x1p63)}).d, 1ull << 63);
  EXPECT_EQ(compute("cvt.rzi.u8.f32 %r0, %ra;", {bits(300.0f)}).r, 255u);
}

TEST(Convert, IntegersToFloats) {
  EXPECT_EQ(compute("cvt.rn.f32.s32 %r0, %ra;", {0x01000001}).r, bits(16777216.0f));
  EXPECT_EQ(compute("cvt.rp.f32.s32 %r0, %ra;", {0x01000001}).r, bits(16777218.0f));
  EXPECT_EQ(compute("cvt.rn.f32.u64 %r0, %da;", {~0ull}).r, bits(0x1p64f));
  EXPECT_EQ(compute("cvt.rz.f32.s64 %r0, %da;", {uint64_t(-0x7fffffffffffffff)}).r, bits(-0x1.fffffep62f));
  EXPECT_EQ(compute("cvt.rn.f16.s32 %h0, %ra;", {uint32_t(-3)}).h, 0xc200);
  EXPECT_EQ(compute("cvt.rn.f64.s64 %d0, %da;", {uint64_t(-5)}).d, bits(-5.0));
}

TEST(Convert, FloatsToFloats) {
  EXPECT_EQ(compute("cvt.rn.f16.f32 %h0, %ra;", {bits(65519.0f)}).h, 0x7bff);
  EXPECT_EQ(compute("cvt.rn.f16.f32 %h0, %ra;", {bits(65520.0f)}).h, 0x7c00);
  EXPECT_EQ(compute("cvt.rz.f16.f32 %h0, %ra;", {bits(1e6f)}).h, 0x7bff);
  EXPECT_EQ(compute("cvt.rn.f16.f32 %h0, %ra;", {bits(0x1p-25f)}).h, 0);
  EXPECT_EQ(compute("cvt.rn.f16.f32 %h0, %ra;", {bits(0x1.8p-25f)}).h, 1);
  EXPECT_EQ(compute("cvt.rn.f16.f32 %h0, %ra;", {bits(0x1.ff8p-15f)}).h, 0x03ff);
  EXPECT_EQ(compute("cvt.rn.f16.f32 %h0, %ra;", {bits(0x1.ffcp-15f)}).h, 0x0400);
  EXPECT_EQ(compute("cvt.f32.f16 %r0, %ha;", {0x0001}).r, bits(0x1p-24f));
  EXPECT_EQ(compute("cvt.f32.bf16 %r0, %ha;", {0xc040}).r, bits(-3.0f));
  EXPECT_EQ(compute("cvt.rn.bf16.f32 %h0, %ra;", {0x3f808000}).h, 0x3f80);
  EXPECT_EQ(compute("cvt.rn.bf16.f32 %h0, %ra;", {0x3f818000}).h, 0x3f82);
  EXPECT_EQ(compute("cvt.rn.bf16.f32 %h0, %ra;", {kNan}).h, 0x7fff);
  EXPECT_EQ(compute("cvt.rna.tf32.f32 %r0, %ra;", {0x3f801000}).r, 0x3f802000u);
  EXPECT_EQ(compute("cvt.rn.f32.f64 %r0, %da;", {bits(0.1)}).r, bits(0.1f));
  EXPECT_EQ(compute("cvt.f64.f32 %d0, %ra;", {bits(0.1f)}).d, bits(double(0.1f)));
  EXPECT_EQ(compute("cvt.rni.f32.f32 %r0, %ra;", {bits(-0.5f)}).r, 0x80000000u);
  EXPECT_EQ(compute("cvt.sat.f32.f32 %r0, %ra;", {bits(-0.5f)}).r, 0u);
  EXPECT_EQ(compute("cvt.ftz.f64.f32 %d0, %ra;", {1}).d, 0u);
}

TEST(Convert, TwoFloatsIntoOneRegister) {
  // The first operand goes to the upper half.
  EXPECT_EQ(compute("cvt.rn.bf16x2.f32 %r0, %ra, %rb;", {bits(1.0f), bits(2.0f)}).r, 0x3f804000u);
  EXPECT_EQ(compute("cvt.rn.f16x2.f32 %r0, %ra, %rb;", {bits(1.0f), bits(-2.0f)}).r, 0x3c00c000u);
  EXPECT_EQ(compute("cvt.rn.relu.f16x2.f32 %r0, %ra, %rb;", {bits(1.0f), bits(-2.0f)}).r, 0x3c000000u);
}
