//===- Lexer.h - from text to tokens ----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tokens and comments of one file. Knows spelling, not grammar.
//===----------------------------------------------------------------------===//
#ifndef ATTN_COMPILER_FRONTEND_LEXER_H
#define ATTN_COMPILER_FRONTEND_LEXER_H

#include "compiler/frontend/Diagnostics.h"
#include "llvm/ADT/StringRef.h"

namespace attn::language {

struct Token {
  enum class Kind { Number, Axis, Name, Keyword, Symbol, String, End };
  Kind kind;
  llvm::StringRef text;
  /// No other token stands before it on its line.
  bool startsLine;

  bool is(Kind wanted) const { return kind == wanted; }
  /// A keyword or a symbol with this spelling.
  bool is(llvm::StringRef spelling) const {
    return (kind == Kind::Symbol || kind == Kind::Keyword) && text == spelling;
  }
  llvm::SMLoc start() const { return llvm::SMLoc::getFromPointer(text.begin()); }
  llvm::SMLoc end() const { return llvm::SMLoc::getFromPointer(text.end()); }
  llvm::SMRange range() const { return {start(), end()}; }
};

struct Comment {
  /// From `//` to the end of the line, without white space behind.
  llvm::StringRef text;
  bool startsLine;
};

struct LexedFile {
  std::vector<Token> tokens;
  std::vector<Comment> comments;
};

/// Lexes the whole buffer; what cannot be read is reported and skipped. The last token is `End`.
LexedFile lex(llvm::StringRef text, Diagnostics &diagnostics);

/// The word is spelled like an axis: it begins with an upper-case letter.
bool isAxisName(llvm::StringRef word);

} // namespace attn::language

#endif // ATTN_COMPILER_FRONTEND_LEXER_H
