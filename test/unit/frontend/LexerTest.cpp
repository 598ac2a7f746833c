//===- LexerTest.cpp --------------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Source.h"
#include <gtest/gtest.h>

using namespace attn::language;

namespace {
/// Spellings with a letter for the kind: Number, Axis, name, keyword, symbol, string.
std::string tokens(llvm::StringRef text) {
  Source source(text);
  std::string all;
  for (const Token &token : lex(source.text(), source.diagnostics).tokens) {
    const char *kinds[] = {"N:", "A:", "n:", "k:", "s:", "\":", "end"};
    all += kinds[static_cast<int>(token.kind)] + token.text.str() + " ";
  }
  return all;
}
} // namespace

TEST(Lexer, TellsAxesNamesAndKeywordsApart) {
  EXPECT_EQ(tokens("S kv_len2 where Whereas over inf"), "A:S n:kv_len2 k:where A:Whereas n:over k:inf end ");
}

TEST(Lexer, ReadsNumbersAsFarAsTheyGo) {
  EXPECT_EQ(tokens("8 8.0 1e-6 2.5E+3 7e x"), "N:8 N:8.0 N:1e-6 N:2.5E+3 N:7 n:e n:x end ");
}

TEST(Lexer, PrefersLongSymbols) {
  EXPECT_EQ(tokens("<= << < = == -> ->"), "s:<= s:<< s:< s:= s:== s:-> s:-> end ");
  EXPECT_EQ(tokens("a<-b"), "n:a s:< s:- n:b end ");
}

TEST(Lexer, KeepsCommentsApartFromTokens) {
  Source source("// one\nx // two  \n// three");
  LexedFile lexed = lex(source.text(), source.diagnostics);
  ASSERT_EQ(lexed.comments.size(), 3u);
  EXPECT_TRUE(lexed.comments[0].startsLine);
  EXPECT_FALSE(lexed.comments[1].startsLine);
  EXPECT_EQ(lexed.comments[1].text, "// two");
  EXPECT_EQ(lexed.tokens.size(), 2u);
}

TEST(Lexer, ReportsStrangeCharactersOnceForARun) {
  Source source("x = \xc3\xa9\xc3\xa9 $$ y");
  lex(source.text(), source.diagnostics);
  EXPECT_EQ(source.messages.size(), 2u);
}

TEST(Lexer, TakesAnEmptyFile) { EXPECT_EQ(tokens(""), "end "); }
