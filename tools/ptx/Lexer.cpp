// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/ptx/Lexer.h"
#include "tools/ptx/Source.h"
#include "llvm/ADT/StringExtras.h"
#include <cstring>

namespace attn::ptx {

using llvm::StringRef;

namespace {
bool startsWord(char c) { return llvm::isAlpha(c) || c == '_' || c == '$' || c == '%' || c == '.'; }
/// `:` joins only as `::`, as in `shared::cta`.
bool continuesWord(char c) { return llvm::isAlnum(c) || c == '_' || c == '$' || c == '.'; }

class Lexer {
public:
  explicit Lexer(StringRef text) : rest(text) {}

  llvm::Expected<std::vector<Token>> run() {
    std::vector<Token> tokens;
    for (;;) {
      if (!skipBlank())
        return errorAt(line, "this comment does not end");
      if (rest.empty())
        break;
      Token token;
      token.line = line;
      if (startsWord(rest[0]))
        word(token);
      else if (llvm::isDigit(rest[0])) {
        if (!number(token))
          return errorAt(line, "'" + token.text + "' is not a number");
      } else if (rest[0] == '"') {
        size_t end = rest.find('"', 1);
        if (end == StringRef::npos)
          return errorAt(line, "this string does not end");
        token.kind = Token::String;
        take(token, end + 1);
      } else {
        token.kind = Token::Mark;
        take(token, 1);
      }
      tokens.push_back(token);
    }
    Token end;
    end.line = line;
    tokens.push_back(end);
    return tokens;
  }

private:
  StringRef rest;
  unsigned line = 1;

  void take(Token &token, size_t size) {
    token.text = rest.take_front(size);
    line += token.text.count('\n');
    rest = rest.drop_front(size);
  }

  bool skipBlank() {
    for (;;) {
      size_t size = rest.find_first_not_of(" \t\r\n\f\v");
      StringRef blank = rest.take_front(size);
      line += blank.count('\n');
      rest = rest.drop_front(blank.size());
      if (rest.starts_with("//")) {
        rest = rest.drop_front(std::min(rest.find('\n'), rest.size()));
      } else if (rest.starts_with("/*")) {
        size_t end = rest.find("*/", 2);
        if (end == StringRef::npos)
          return false;
        line += rest.take_front(end).count('\n');
        rest = rest.drop_front(end + 2);
      } else {
        return true;
      }
    }
  }

  void word(Token &token) {
    token.kind = Token::Word;
    size_t size = 1;
    for (; size < rest.size(); ++size) {
      if (continuesWord(rest[size]))
        continue;
      if (rest.substr(size, 2) == "::" && size + 2 < rest.size() && llvm::isAlpha(rest[size + 2])) {
        ++size;
        continue;
      }
      break;
    }
    take(token, size);
  }

  bool number(Token &token) {
    take(token, std::min(rest.find_if_not([](char c) { return llvm::isAlnum(c); }), rest.size()));
    StringRef digits = token.text;
    if (digits.starts_with_insensitive("0f") || digits.starts_with_insensitive("0d")) {
      bool single = digits[1] == 'f' || digits[1] == 'F';
      token.kind = single ? Token::Single : Token::Double;
      return digits.size() == (single ? 10u : 18u) && !digits.drop_front(2).getAsInteger(16, token.bits);
    }
    token.kind = Token::Integer;
    if (digits.ends_with("U"))
      digits = digits.drop_back();
    return !digits.getAsInteger(0, token.bits);
  }
};
} // namespace

llvm::Expected<std::vector<Token>> lex(StringRef text) { return Lexer(text).run(); }

} // namespace attn::ptx
