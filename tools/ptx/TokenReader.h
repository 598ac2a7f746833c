// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A place in the tokens, and what stands there most often: numbers and operands.
#ifndef ATTN_TOOLS_PTX_TOKENREADER_H
#define ATTN_TOOLS_PTX_TOKENREADER_H

#include "tools/ptx/Lexer.h"
#include "tools/ptx/Source.h"

namespace attn::ptx {

class TokenReader {
public:
  explicit TokenReader(std::vector<Token> tokens) : tokens(std::move(tokens)) {}

protected:
  const Token &now() const { return tokens[position]; }
  const Token &following() const { return tokens[std::min(position + 1, tokens.size() - 1)]; }
  /// The token here, which is passed; the end stays.
  Token next() { return tokens[now().kind == Token::End ? position : position++]; }
  bool eat(llvm::StringRef text);
  llvm::Error expect(llvm::StringRef text);
  /// `message`, and what stands here instead.
  llvm::Error fail(const llvm::Twine &message) const;
  void skipLine();
  /// Behind the next `text`.
  void skipTo(llvm::StringRef text);

  /// A number with any number of signs.
  llvm::Error constant(SourceOperand &operand);
  llvm::Error operand(SourceOperand &operand);

private:
  std::vector<Token> tokens;
  size_t position = 0;

  llvm::Error list(SourceOperand &operand, llvm::StringRef end);
};

} // namespace attn::ptx

#endif
