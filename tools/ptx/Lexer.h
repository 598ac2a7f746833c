// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Words of PTX text.
#ifndef ATTN_TOOLS_PTX_LEXER_H
#define ATTN_TOOLS_PTX_LEXER_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <vector>

namespace attn::ptx {

struct Token {
  /// A word is an identifier, a directive, or a mnemonic with its modifiers: `%r1`, `.reg`, `ld.global.f32`.
  enum Kind { Word, Integer, Single, Double, String, Mark, End } kind = End;
  llvm::StringRef text;
  unsigned line = 1;
  /// Of a number: its value, for floats the bits.
  uint64_t bits = 0;

  bool is(llvm::StringRef wanted) const { return (kind == Word || kind == Mark) && text == wanted; }
};

/// The tokens of `text`, the last one End. They point into it.
llvm::Expected<std::vector<Token>> lex(llvm::StringRef text);

} // namespace attn::ptx

#endif
