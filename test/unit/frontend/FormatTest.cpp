//===- FormatTest.cpp -------------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "compiler/frontend/Format.h"
#include "Source.h"
#include <gtest/gtest.h>

using namespace attn::language;

namespace {
std::string formatted(llvm::StringRef text) {
  Source source(text);
  return formatSpec(source.sources).value_or("refused: " + (source.messages.empty() ? "" : source.messages[0]));
}

/// The formatter gives `layout` for `text`, and for `layout` itself.
void expectLayout(const std::string &text, const std::string &layout) {
  EXPECT_EQ(formatted(text), layout);
  EXPECT_EQ(formatted(layout), layout);
}
} // namespace

TEST(Format, LaysOutSignaturesAndAlignsNames) {
  expectLayout("attention a(\n x:f32[B,S,D],\nwq : f32[(H   E), D], wk:f32[(H E),D]\n, inout cache:f32[M,2*E]) -> "
               "(y:f32[B,S,D])\n"
               "where D=64,H = 4, T[b]=len[b] { q=project(x,wq)\nscore = dot( q,k ,over:E)*rsqrt(E)\n"
               "y = softmax(score,over:(S T),where: not t<=s and -t<3)[S:0]\ncache[m , e/2]=y with S as T,E as F where "
               "0<=s<n\n}",
               "attention a(\n"
               "    x  : f32[B, S, D],\n"
               "    wq : f32[(H E), D],  wk : f32[(H E), D],  inout cache : f32[M, 2 * E],\n"
               ") -> (y : f32[B, S, D])\n"
               "where D = 64, H = 4, T[b] = len[b]\n"
               "{\n"
               "    q = project(x, wq)\n"
               "    score = dot(q, k, over: E) * rsqrt(E)\n"
               "    y     = softmax(score, over: (S T), where: not t <= s and -t < 3)[S: 0]\n"
               "    cache[m, e / 2] = y with S as T, E as F where 0 <= s < n\n"
               "}\n");
}

TEST(Format, KeepsCommentsAndBlankLines) {
  expectLayout(
      "// head\n\n\n\nattention a(x : f32[S]) -> (y : f32[S]) // result\n{ // open\n\n  // first\n\n\n  a = x // on a\n"
      "  bb = x +  // inside\n    a\n  c = 2 // on c\n  // last\n} // close\n// end\n",
      "// head\n\n"
      "attention a(x : f32[S]) -> (y : f32[S])  // result\n"
      "{                                        // open\n"
      "    // first\n\n"
      "    a = x  // on a\n"
      "    // inside\n"
      "    bb = x + a\n"
      "    c  = 2  // on c\n"
      "    // last\n"
      "}  // close\n"
      "// end\n");
}

TEST(Format, BreaksLongLinesAtTheOutermostOperator) {
  std::string longName(50, 'a');
  expectLayout("def f(x)=" + longName + "*(1+" + longName + ")+" + longName + "\n",
               "def f(x) = " + longName + " * (1 + " + longName + ")\n        + " + longName + "\n");
}

TEST(Format, RefusesWhatIsNoProgram) {
  EXPECT_EQ(formatted("attention"),
            "refused: expected a name in lower case after `attention`, found the end of the file");
}
