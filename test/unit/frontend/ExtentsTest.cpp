//===- ExtentsTest.cpp ------------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Source.h"
#include <gtest/gtest.h>

using namespace attn::language;

namespace {
std::string extentsOf(const std::string &params, const std::string &facts, const FixedExtents &fixed = {}) {
  Source source("attention a(" + params + ") -> (y : f32)" + (facts.empty() ? "" : " where " + facts) + " { y = 0 }");
  return source.check(fixed) ? source.extents() : source.messages.front();
}

/// What makes `expr = v` true, for the axis 0.
std::string solved(const Extent &expr) {
  std::optional<Extent> found = solveFor(0, expr, Extent::dim(0, 0));
  auto axis = [](unsigned i) { return std::string(1, "ABC"[i]); };
  return found ? found->str(axis, [](unsigned) { return "v"; }) : "nothing";
}
using Kind = Extent::Kind;
Extent axis(unsigned i) { return Extent::axis(i); }
Extent number(int64_t value) { return Extent::constant(value); }
} // namespace

TEST(Extents, FoldsWhatIsExact) {
  EXPECT_EQ(Extent::binary(Kind::Div, number(12), number(4)).getConstant(), 3);
  EXPECT_EQ(Extent::binary(Kind::Div, number(13), number(4)).getConstant(), std::nullopt);
  EXPECT_EQ(Extent::binary(Kind::Mod, number(-1), number(4)).getConstant(), 3);
  EXPECT_EQ(Extent::binary(Kind::Mul, number(INT64_MAX), number(2)).getConstant(), std::nullopt);
}

TEST(Extents, SolvesForOneUnknown) {
  EXPECT_EQ(solved(Extent::binary(Kind::Add, axis(0), axis(1))), "v.0 - B");
  EXPECT_EQ(solved(Extent::binary(Kind::Sub, axis(1), axis(0))), "B - v.0");
  EXPECT_EQ(solved(Extent::binary(Kind::Mul, axis(1), axis(0))), "v.0 / B");
  EXPECT_EQ(solved(Extent::binary(Kind::Div, axis(0), number(2))), "v.0 * 2");
  EXPECT_EQ(solved(Extent::binary(Kind::Sub, Extent::binary(Kind::Mul, number(2), axis(0)), number(1))),
            "(v.0 + 1) / 2");
}

TEST(Extents, SolvesForAnUnknownThatStandsTwice) {
  EXPECT_EQ(solved(Extent::binary(Kind::Add, axis(0), Extent::binary(Kind::Mul, axis(0), axis(1)))), "v.0 / (1 + B)");
  EXPECT_EQ(solved(Extent::binary(Kind::Mul, axis(0), axis(0))), "nothing");
  EXPECT_EQ(solved(Extent::binary(Kind::Sub, axis(0), axis(0))), "nothing");
}

TEST(Extents, ComeFromTheFirstDimensionThatIsTheAxisAlone) {
  EXPECT_EQ(extentsOf("x : f32[(H E)], y0 : f32[H], z : f32[H]", ""), "H=y0.0; E=x.0 / H; ");
}

TEST(Extents, ComeFromFactsBeforeDimensions) {
  EXPECT_EQ(extentsOf("x : f32[S, D], w : f32[(H E), D]", "D = 64, H = 4, E = D / H, T = S"),
            "D=64; H=4; E=16; S=x.0; T=S; ");
}

TEST(Extents, AreCheckedWhereTheyAreMentionedAgain) {
  EXPECT_EQ(extentsOf("x : f32[S], k : f32[T], z : f32[U]", "T = S, U = S + T, U = 2 * S"),
            "S=x.0; T=S; U=S + T; check U=2 * S; ");
}

TEST(Extents, SolveFactsBackwards) {
  EXPECT_EQ(extentsOf("x : f32[U]", "U = 2 * E, W = E - 1"), "U=x.0; E=U / 2; W=E - 1; ");
}

TEST(Extents, AreFixedFromOutside) {
  EXPECT_EQ(extentsOf("x : f32[W]", "", {{"W", 4096}}), "W=4096; ");
  EXPECT_EQ(extentsOf("x : f32[W]", "W = 8", {{"W", 4}}), "W is 4 and 8 at once; an axis has one extent");
}

TEST(Extents, OfRaggedAxesComeLast) {
  EXPECT_EQ(extentsOf("x : f32[(B T)], n : i32[B]", "T[b] = n[b]"), "B=n.0; T=ragged; ");
}

TEST(Extents, RefuseWhatHasNoSolution) {
  EXPECT_NE(extentsOf("x : f32[S]", "A = 2 * B").find("nothing gives the extent of A and B"), std::string::npos);
  EXPECT_NE(extentsOf("x : f32[(A B)]", "").find("nothing gives the extent"), std::string::npos);
  EXPECT_NE(extentsOf("x : f32[S]", "D = 64, H = 3, E = D / H").find("64 is not divisible by 3"), std::string::npos);
  EXPECT_NE(extentsOf("x : f32[S]", "D = 8 / (S - S)").find("D"), std::string::npos);
}
