//===- ParserTest.cpp -------------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Source.h"
#include <gtest/gtest.h>

using namespace attn::language;
using namespace attn::language::ast;

namespace {
/// An expression with every operator's operands in parentheses.
std::string shape(const Expr *expr) {
  expr = stripped(expr);
  if (auto *binary = llvm::dyn_cast<BinaryExpr>(expr))
    return "(" + shape(binary->left) + " " + binary->op.text.str() + " " + shape(binary->right) + ")";
  if (auto *unary = llvm::dyn_cast<UnaryExpr>(expr))
    return "(" + unary->op.str() + " " + shape(unary->operand) + ")";
  if (auto *chain = llvm::dyn_cast<CompareExpr>(expr)) {
    std::string text = "{" + shape(chain->operands[0]);
    for (size_t i = 0; i < chain->ops.size(); ++i)
      text += " " + chain->ops[i].text.str() + " " + shape(chain->operands[i + 1]);
    return text + "}";
  }
  return textOf(expr->range).str();
}

std::string shapeOf(const std::string &text) {
  Source source("def f(a) = " + text);
  File file = parseFile(source.text(), source.diagnostics);
  return file.items.empty() ? "refused" : shape(file.items[0].def->body);
}

bool isRefused(const std::string &text) {
  Source source(text);
  parseFile(source.text(), source.diagnostics);
  return source.diagnostics.hasErrors();
}
} // namespace

TEST(Parser, OrdersOperatorsByStrength) {
  EXPECT_EQ(shapeOf("a or b and not c < d | e ^ f & g << h + i * -j"),
            "(a or (b and (not {c < (d | (e ^ (f & (g << (h + (i * (- j)))))))})))");
}

TEST(Parser, AssociatesToTheLeft) {
  EXPECT_EQ(shapeOf("a - b - c"), "((a - b) - c)");
  EXPECT_EQ(shapeOf("a / b % c * d"), "(((a / b) % c) * d)");
}

TEST(Parser, ChainsComparisons) { EXPECT_EQ(shapeOf("0 <= s - t < W"), "{0 <= (s - t) < W}"); }

TEST(Parser, SubscriptsBindStrongest) { EXPECT_EQ(shapeOf("-x[a, b][T: c] * y"), "((- x[a, b][T: c]) * y)"); }

TEST(Parser, TellsProductsFromParenthesesInDimensions) {
  Source source("attention a(x : f32[(H (N + R) 3), (C + R) * 2, (E), 4]) -> (y : f32[H]) { }");
  File file = parseFile(source.text(), source.diagnostics);
  ASSERT_TRUE(source.messages.empty());
  const std::vector<Dim> &dims = file.items[0].attention->params[0].dims;
  ASSERT_EQ(dims.size(), 4u);
  EXPECT_EQ(dims[0].factors.size(), 3u);
  EXPECT_TRUE(dims[0].isProduct);
  EXPECT_FALSE(dims[1].isProduct);
  EXPECT_FALSE(dims[2].isProduct);
}

TEST(Parser, ReadsEveryKindOfFact) {
  Source source("attention a(x : f32[S]) -> (y : f32[S]) where E = D / H, T[b, h] = n[b, h], U <= T { }");
  File file = parseFile(source.text(), source.diagnostics);
  ASSERT_TRUE(source.messages.empty());
  const std::vector<Fact> &facts = file.items[0].attention->facts;
  ASSERT_EQ(facts.size(), 3u);
  EXPECT_EQ(facts[0].kind, Fact::Kind::Extent);
  EXPECT_EQ(facts[1].kind, Fact::Kind::Ragged);
  EXPECT_EQ(facts[1].indices.size(), 2u);
  EXPECT_EQ(facts[2].kind, Fact::Kind::Requirement);
}

TEST(Parser, NeedsNoSeparatorsBetweenStatements) {
  Source source("attention a(x : f32[S]) -> (y : f32[S]) { p = x q[s] = p with S as T, D as E where true y = q }");
  File file = parseFile(source.text(), source.diagnostics);
  ASSERT_TRUE(source.messages.empty());
  const std::vector<Statement> &body = file.items[0].attention->body;
  ASSERT_EQ(body.size(), 3u);
  EXPECT_EQ(body[1].renames.size(), 2u);
  EXPECT_NE(body[1].condition, nullptr);
}

TEST(Parser, RefusesDepthsThatWouldOverflowTheStack) {
  std::string deep(100000, '(');
  EXPECT_TRUE(isRefused("def f(a) = " + deep));
  std::string minus(100000, '-');
  EXPECT_TRUE(isRefused("def f(a) = " + minus + "a"));
  std::string sum = "a";
  for (int i = 0; i < 100000; ++i)
    sum += " + a";
  EXPECT_TRUE(isRefused("def f(a) = " + sum));
  std::string places = "a";
  for (int i = 0; i < 100000; ++i)
    places += "[a]";
  EXPECT_TRUE(isRefused("def f(a) = " + places));
}

TEST(Parser, EndsOnEveryPrefixOfAProgram) {
  std::string text = "// c\nprecise attention a(inout x : f32[(H E), 3], k : i32) -> (y : f32[S])\n"
                     "where T[b] = k, S <= 3\n{\n  x[h, 0] = -softmax(x, over: (S T), where: not a) with S as T\n}\n";
  for (size_t length = 0; length < text.size(); ++length) {
    Source source(llvm::StringRef(text).take_front(length));
    parseFile(source.text(), source.diagnostics);
  }
}
