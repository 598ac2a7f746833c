//===- TypesTest.cpp - kinds and axes of expressions ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Source.h"
#include <gtest/gtest.h>

using namespace attn::language;

namespace {
const char *const signature =
    "attention a(x : f32[B, S, D], w : f32[(H E), D], k : f32[B, T, D], n : i32[B], c : bool[B, T], p : f32,\n"
    "            table : f32[3, H]) -> (out : f32)\n"
    "where H = 2, T = S, U[b] = n[b]\n{\n";

/// The kind and the axes of an expression, `float B S`; or the first message.
std::string typeOf(const std::string &expression) {
  Source source(std::string(signature) + "v = " + expression + "\nout = 0 }");
  Program *program = source.check();
  if (!program)
    return source.messages.front();
  const Node *value = program->steps.front().value;
  const char *kinds[] = {"float ", "int ", "bool "};
  return kinds[static_cast<int>(value->kind)] + program->describe(value->axes);
}
} // namespace

TEST(Types, OfAxesAndIndices) {
  EXPECT_EQ(typeOf("S"), "int no axes");
  EXPECT_EQ(typeOf("s"), "int S");
  EXPECT_EQ(typeOf("u"), "int B U");
  EXPECT_EQ(typeOf("U"), "int B");
}

TEST(Types, OfTensors) {
  EXPECT_EQ(typeOf("x"), "float B S D");
  EXPECT_EQ(typeOf("w"), "float D H E");
  EXPECT_EQ(typeOf("n"), "int B");
  EXPECT_EQ(typeOf("c"), "bool B T");
  EXPECT_EQ(typeOf("p"), "float no axes");
  EXPECT_EQ(typeOf("table[0, h]"), "float H");
  EXPECT_EQ(typeOf("x[b, t, 0]"), "float B T");
  EXPECT_EQ(typeOf("x[S: u]"), "float B D U");
}

TEST(Types, OfOperatorsAreUnions) {
  EXPECT_EQ(typeOf("n[b] + s"), "int B S");
  EXPECT_EQ(typeOf("n[b] + s * p"), "float B S");
  EXPECT_EQ(typeOf("0 <= s - t < 4"), "bool S T");
  EXPECT_EQ(typeOf("select(c, s, 1.5)"), "float B S T");
  EXPECT_EQ(typeOf("c == (t < s) or not c"), "bool B S T");
}

TEST(Types, OfFunctions) {
  EXPECT_EQ(typeOf("dot(x, k, over: D)"), "float B S T");
  EXPECT_EQ(typeOf("project(x, w)"), "float B S H E");
  EXPECT_EQ(typeOf("softmax(dot(x, k, over: D), over: T, where: t <= s)"), "float B S T");
  EXPECT_EQ(typeOf("logsumexp(dot(x, k, over: D), over: T)"), "float B S");
  EXPECT_EQ(typeOf("max(x, over: (S D))"), "float B");
  EXPECT_EQ(typeOf("max(s, t)"), "int S T");
  EXPECT_EQ(typeOf("int(x)"), "int B S D");
  EXPECT_EQ(typeOf("exp(s)"), "float S");
  EXPECT_EQ(typeOf("random(1, s)"), "float S");
  EXPECT_EQ(typeOf("rope(x, over: D, at: s + n[b], base: 10000)"), "float B S D");
  EXPECT_EQ(typeOf("rope(x, over: D, angle: s * table[0, h])"), "float B S D");
}

TEST(Types, OfSmallQuotientsNeedNoFloat) {
  EXPECT_EQ(typeOf("x[b, s / 2, 0]"), "float B S");
  EXPECT_EQ(typeOf("p * (4 * H / 8)"), "float no axes");
  EXPECT_NE(typeOf("p * (s / 2 + 1)").find("`s / 2` is a quotient of integers"), std::string::npos);
}

TEST(Types, FloatsThatEndInAnIndexAreWide) {
  Source source(std::string(signature) + "i = int(log(s / 8.0))\nv = x[b, i, 0]\nu2 = x * 2\nout = 0 }");
  Program *program = source.check();
  ASSERT_TRUE(program);
  EXPECT_TRUE(program->steps[0].value->operands[0]->wide);
  EXPECT_FALSE(program->steps[1].value->wide);
  EXPECT_FALSE(program->steps[2].value->wide);
}

TEST(Types, ContractionsKnowTheirRole) {
  Source source(
      std::string(signature) +
      "q = project(x, w)\nscore = dot(x, k, over: D) * p\nm = dot(softmax(score, over: T), k, over: T)\nout = 0 }");
  Program *program = source.check();
  ASSERT_TRUE(program);
  EXPECT_EQ(program->steps[0].value->role, ContractRole::Project);
  EXPECT_EQ(program->steps[1].value->operands[0]->role, ContractRole::Score);
  EXPECT_EQ(program->steps[2].value->role, ContractRole::Mix);
}

TEST(Types, NestedDefinitionsEndInAMessage) {
  std::string text;
  for (int i = 1; i < 30; ++i)
    text +=
        "def f" + std::to_string(i) + "(a) = f" + std::to_string(i - 1) + "(a) + f" + std::to_string(i - 1) + "(-a)\n";
  Source source("def f0(a) = a\n" + text + "attention a(x : f32) -> (y : f32) { y = f29(x) }");
  EXPECT_EQ(source.check(), nullptr);
  EXPECT_EQ(source.messages.front(), "defs within defs make this program too large");
}
