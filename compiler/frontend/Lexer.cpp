//===- Lexer.cpp - from text to tokens --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/frontend/Lexer.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace attn::language;
using llvm::StringRef;

bool attn::language::isAxisName(StringRef word) { return !word.empty() && llvm::isUpper(word.front()); }

static bool isWordCharacter(char c) { return llvm::isAlnum(c) || c == '_'; }

static bool isKeyword(StringRef word) {
  return llvm::StringSwitch<bool>(word)
      .Cases({"attention", "inout", "where", "with", "as"}, true)
      .Cases({"and", "or", "not", "inf", "true", "false"}, true)
      .Default(false);
}

namespace {
class Lexer {
public:
  Lexer(StringRef text, Diagnostics &diagnostics) : rest(text), diagnostics(diagnostics) {}

  LexedFile run() {
    while (!rest.empty())
      step();
    add(Token::Kind::End, 0);
    return std::move(file);
  }

private:
  void step() {
    char c = rest.front();
    if (c == '\n') {
      lineIsFresh = true;
      rest = rest.drop_front();
    } else if (llvm::isSpace(c)) {
      rest = rest.drop_front();
    } else if (rest.starts_with("//")) {
      comment();
    } else if (llvm::isDigit(c)) {
      number();
    } else if (llvm::isAlpha(c)) {
      word();
    } else if (c == '"') {
      string();
    } else {
      symbol();
    }
  }

  void add(Token::Kind kind, size_t length) {
    file.tokens.push_back({kind, rest.take_front(length), lineIsFresh});
    rest = rest.drop_front(length);
    lineIsFresh = false;
  }

  void comment() {
    StringRef text = rest.take_until([](char c) { return c == '\n'; });
    file.comments.push_back({text.rtrim(), lineIsFresh});
    rest = rest.drop_front(text.size());
  }

  size_t digitsFrom(size_t position) const {
    while (position < rest.size() && llvm::isDigit(rest[position]))
      ++position;
    return position;
  }

  /// digits [. digits] [e [sign] digits]
  void number() {
    size_t length = digitsFrom(0);
    if (length < rest.size() && rest[length] == '.')
      length = digitsFrom(length + 1);
    if (length < rest.size() && (rest[length] == 'e' || rest[length] == 'E')) {
      size_t exponent = length + 1;
      if (exponent < rest.size() && (rest[exponent] == '+' || rest[exponent] == '-'))
        ++exponent;
      if (digitsFrom(exponent) > exponent)
        length = digitsFrom(exponent);
    }
    add(Token::Kind::Number, length);
  }

  void word() {
    StringRef text = rest.take_while(isWordCharacter);
    if (isAxisName(text) && text.contains('_'))
      complain(text.size(), "an axis has letters and digits only; write `" + withoutUnderscores(text) + "`");
    add(isKeyword(text) ? Token::Kind::Keyword : isAxisName(text) ? Token::Kind::Axis : Token::Kind::Name, text.size());
  }

  static std::string withoutUnderscores(StringRef text) {
    std::string plain;
    for (char c : text)
      if (c != '_')
        plain += c;
    return plain;
  }

  void string() {
    size_t end = rest.find_first_of("\"\n", 1);
    bool closed = end != StringRef::npos && rest[end] == '"';
    size_t length = closed ? end + 1 : std::min(end, rest.size());
    if (!closed)
      complain(length, "the string does not end on its line");
    add(Token::Kind::String, length);
  }

  void symbol() {
    for (StringRef two : {"->", "<=", ">=", "==", "!=", "<<", ">>"})
      if (rest.starts_with(two))
        return add(Token::Kind::Symbol, 2);
    if (StringRef("-+*/%&|^<>=()[]{},:").contains(rest.front()))
      return add(Token::Kind::Symbol, 1);
    unknown();
  }

  /// One message for a run of characters that mean nothing.
  void unknown() {
    if (rest.front() == ';')
      complain(1, "a statement needs no `;` at its end");
    else if (rest.front() == '!')
      complain(1, "`!` means nothing here; write `not`");
    else if (rest.front() == '.')
      complain(1, "a number begins with a digit; write `0.5`, not `.5`");
    else if (rest.front() == '_')
      complain(1, "a name begins with a letter");
    else
      return strange();
    rest = rest.drop_front();
  }

  void strange() {
    StringRef known("-+*/%&|^<>=()[]{},:!;._\"");
    size_t length = 1;
    while (length < rest.size() && !isWordCharacter(rest[length]) && !llvm::isSpace(rest[length]) &&
           !known.contains(rest[length]))
      ++length;
    complain(length, "`" + rest.take_front(length) + "` means nothing in a spec");
    rest = rest.drop_front(length);
  }

  void complain(size_t length, const llvm::Twine &message) {
    Token token{Token::Kind::Symbol, rest.take_front(length), false};
    diagnostics.error(token.range(), message);
  }

  StringRef rest;
  Diagnostics &diagnostics;
  LexedFile file;
  bool lineIsFresh = true;
};
} // namespace

LexedFile attn::language::lex(StringRef text, Diagnostics &diagnostics) { return Lexer(text, diagnostics).run(); }
