// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Whole numbers, logic and bit fields, by the definitions of the PTX manual.
#include "Snippet.h"

using namespace attn::ptx;

TEST(Integer, SumsWrapAndSaturateOnDemand) {
  EXPECT_EQ(compute("add.s32 %r0, %ra, %rb;", {0x7fffffff, 1}).r, 0x80000000u);
  EXPECT_EQ(compute("add.sat.s32 %r0, %ra, %rb;", {0x7fffffff, 1}).r, 0x7fffffffu);
  EXPECT_EQ(compute("sub.sat.s32 %r0, %ra, %rb;", {0x80000000, 1}).r, 0x80000000u);
  EXPECT_EQ(compute("add.u16 %h0, %ha, %hb;", {0xffff, 2}).h, 1);
  EXPECT_EQ(compute("sub.u64 %d0, %da, %db;", {0, 1}).d, ~0ull);
}

TEST(Integer, CarryChains) {
  Result sum = compute("add.cc.u32 %r0, %ra, %rb; addc.u32 %r1, 5, 6; cvt.u64.u32 %d0, %r1;", {0xffffffff, 1});
  EXPECT_EQ(sum.r, 0u);
  EXPECT_EQ(sum.d, 12u);
  Result difference = compute("sub.cc.u32 %r0, %ra, %rb; subc.u32 %r1, 9, 2; cvt.u64.u32 %d0, %r1;", {1, 2});
  EXPECT_EQ(difference.r, 0xffffffffu);
  EXPECT_EQ(difference.d, 6u);
}

TEST(Integer, ProductsHaveAHighALowAndAWideForm) {
  EXPECT_EQ(compute("mul.lo.s32 %r0, %ra, %rb;", {0x10000, 0x10001}).r, 0x10000u);
  EXPECT_EQ(compute("mul.hi.s32 %r0, %ra, %rb;", {0xffffffff, 2}).r, 0xffffffffu);
  EXPECT_EQ(compute("mul.hi.u32 %r0, %ra, %rb;", {0xffffffff, 2}).r, 1u);
  EXPECT_EQ(compute("mul.hi.u64 %d0, %da, %db;", {~0ull, ~0ull}).d, ~0ull - 1);
  EXPECT_EQ(compute("mul.wide.s32 %d0, %ra, %rb;", {0xffffffff, 3}).d, uint64_t(-3));
  EXPECT_EQ(compute("mul.wide.u32 %d0, %ra, %rb;", {0xffffffff, 3}).d, 0x2fffffffdull);
  EXPECT_EQ(compute("mul.wide.s16 %r0, %ha, %hb;", {0xffff, 3}).r, 0xfffffffdu);
  EXPECT_EQ(compute("mad.lo.s32 %r0, %ra, %rb, %rc;", {7, 6, 0xffffffff}).r, 41u);
  EXPECT_EQ(compute("mad.hi.u32 %r0, %ra, %rb, %rc;", {0x80000000, 4, 5}).r, 7u);
  EXPECT_EQ(compute("mad.wide.s32 %d0, %ra, %rb, %dc;", {0xffffffff, 4, 10}).d, 6u);
}

TEST(Integer, QuotientsTruncate) {
  EXPECT_EQ(compute("div.s32 %r0, %ra, %rb;", {uint32_t(-7), 2}).r, uint32_t(-3));
  EXPECT_EQ(compute("rem.s32 %r0, %ra, %rb;", {uint32_t(-7), 2}).r, uint32_t(-1));
  EXPECT_EQ(compute("div.u32 %r0, %ra, %rb;", {uint32_t(-7), 2}).r, 0x7ffffffcu);
  EXPECT_EQ(compute("rem.u64 %d0, %da, %db;", {~0ull, 10}).d, 5u);
}

TEST(Integer, OrderAndSign) {
  EXPECT_EQ(compute("min.s32 %r0, %ra, %rb;", {uint32_t(-1), 1}).r, 0xffffffffu);
  EXPECT_EQ(compute("min.u32 %r0, %ra, %rb;", {uint32_t(-1), 1}).r, 1u);
  EXPECT_EQ(compute("max.s16 %h0, %ha, %hb;", {0x8000, 3}).h, 3);
  EXPECT_EQ(compute("abs.s32 %r0, %ra;", {uint32_t(-5)}).r, 5u);
  EXPECT_EQ(compute("neg.s64 %d0, %da;", {5}).d, uint64_t(-5));
  EXPECT_EQ(compute("sad.s32 %r0, %ra, %rb, %rc;", {uint32_t(-3), 4, 100}).r, 107u);
}

TEST(Bits, ShiftsClampTheirAmount) {
  EXPECT_EQ(compute("shl.b32 %r0, %ra, %rb;", {1, 31}).r, 0x80000000u);
  EXPECT_EQ(compute("shl.b32 %r0, %ra, %rb;", {1, 32}).r, 0u);
  EXPECT_EQ(compute("shl.b64 %d0, %da, %rb;", {1, 40}).d, 1ull << 40);
  EXPECT_EQ(compute("shr.u32 %r0, %ra, %rb;", {0x80000000, 32}).r, 0u);
  EXPECT_EQ(compute("shr.s32 %r0, %ra, %rb;", {0x80000000, 33}).r, 0xffffffffu);
  EXPECT_EQ(compute("shr.s16 %h0, %ha, %rb;", {0x8000, 4}).h, 0xf800);
  EXPECT_EQ(compute("shr.s64 %d0, %da, %rb;", {1ull << 63, 200}).d, ~0ull);
}

TEST(Bits, FunnelShifts) {
  EXPECT_EQ(compute("shf.l.wrap.b32 %r0, %ra, %rb, %rc;", {0x80000001, 0x2, 33}).r, 0x5u);
  EXPECT_EQ(compute("shf.l.clamp.b32 %r0, %ra, %rb, %rc;", {0x80000001, 0x2, 33}).r, 0x80000001u);
  EXPECT_EQ(compute("shf.r.wrap.b32 %r0, %ra, %rb, %rc;", {0x80000000, 0x1, 4}).r, 0x18000000u);
  EXPECT_EQ(compute("shf.r.clamp.b32 %r0, %ra, %rb, %rc;", {5, 7, 40}).r, 7u);
}

TEST(Bits, FieldsAreTakenOutAndPutIn) {
  EXPECT_EQ(compute("bfe.u32 %r0, %ra, 8, 8;", {0x0012f400}).r, 0xf4u);
  EXPECT_EQ(compute("bfe.s32 %r0, %ra, 8, 8;", {0x0012f400}).r, 0xfffffff4u);
  // A field that leaves the word is filled with its top bit, an empty one is 0.
  EXPECT_EQ(compute("bfe.s32 %r0, %ra, 28, 8;", {0x90000000}).r, 0xfffffff9u);
  EXPECT_EQ(compute("bfe.u32 %r0, %ra, 28, 8;", {0x90000000}).r, 9u);
  EXPECT_EQ(compute("bfe.s32 %r0, %ra, 31, 0;", {0x90000000}).r, 0u);
  EXPECT_EQ(compute("bfe.u64 %d0, %da, 32, 16;", {0x1234567800000000}).d, 0x5678u);
  EXPECT_EQ(compute("bfi.b32 %r0, %ra, %rb, 8, 4;", {0xab, 0xffffffff}).r, 0xfffffbffu);
  EXPECT_EQ(compute("bfi.b32 %r0, %ra, %rb, 30, 8;", {3, 0}).r, 0xc0000000u);
}

TEST(Bits, CountsAndPlaces) {
  EXPECT_EQ(compute("popc.b64 %r0, %da;", {~0ull}).r, 64u);
  EXPECT_EQ(compute("clz.b32 %r0, %ra;", {1}).r, 31u);
  EXPECT_EQ(compute("clz.b32 %r0, %ra;", {0}).r, 32u);
  EXPECT_EQ(compute("brev.b32 %r0, %ra;", {1}).r, 0x80000000u);
  EXPECT_EQ(compute("bfind.u32 %r0, %ra;", {0x00800000}).r, 23u);
  EXPECT_EQ(compute("bfind.s32 %r0, %ra;", {0xffffffff}).r, 0xffffffffu);
  EXPECT_EQ(compute("bfind.shiftamt.u32 %r0, %ra;", {0x00800000}).r, 8u);
}

TEST(Bits, PermuteModes) {
  std::vector<uint64_t> bytes = {0x33221100, 0xf7665544};
  EXPECT_EQ(compute("prmt.b32 %r0, %ra, %rb, 0x5410;", bytes).r, 0x55441100u);
  EXPECT_EQ(compute("prmt.b32 %r0, %ra, %rb, 0x00f7;", bytes).r, 0x0000fff7u);
  EXPECT_EQ(compute("prmt.b32.f4e %r0, %ra, %rb, 1;", bytes).r, 0x44332211u);
  EXPECT_EQ(compute("prmt.b32.b4e %r0, %ra, %rb, 1;", bytes).r, 0x66f70011u);
  EXPECT_EQ(compute("prmt.b32.rc8 %r0, %ra, %rb, 2;", bytes).r, 0x22222222u);
  EXPECT_EQ(compute("prmt.b32.ecl %r0, %ra, %rb, 2;", bytes).r, 0x33222222u);
  EXPECT_EQ(compute("prmt.b32.ecr %r0, %ra, %rb, 1;", bytes).r, 0x11111100u);
  EXPECT_EQ(compute("prmt.b32.rc16 %r0, %ra, %rb, 1;", bytes).r, 0x33223322u);
}

TEST(Bits, Logic) {
  EXPECT_EQ(compute("lop3.b32 %r0, %ra, %rb, %rc, 0x1a;", {0xf0, 0xcc, 0xaa}).r & 0xff, 0x1au);
  EXPECT_EQ(compute("xor.b64 %d0, %da, -1;", {5}).d, ~5ull);
  EXPECT_EQ(compute("not.b16 %h0, %ha;", {0x00ff}).h, 0xff00);
  EXPECT_EQ(compute("cnot.b32 %r0, %ra;", {0}).r, 1u);
  EXPECT_TRUE(compute("and.pred %p0, %pa, %pb;", {1, 1}).p);
  EXPECT_FALSE(compute("xor.pred %p0, %pa, %pb;", {1, 1}).p);
  EXPECT_FALSE(compute("not.pred %p0, %pa;", {1}).p);
}
