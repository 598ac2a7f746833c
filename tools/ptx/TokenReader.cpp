// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/ptx/TokenReader.h"

namespace attn::ptx {

using llvm::Error;
using llvm::StringRef;

bool TokenReader::eat(StringRef text) {
  if (!now().is(text))
    return false;
  next();
  return true;
}

Error TokenReader::expect(StringRef text) {
  if (eat(text))
    return Error::success();
  return fail("'" + text + "' expected");
}

Error TokenReader::fail(const llvm::Twine &message) const {
  return errorAt(now().line, message + ", found " +
                                 (now().kind == Token::End ? "the end of the file" : ("'" + now().text + "'").str()));
}

void TokenReader::skipLine() {
  unsigned line = now().line;
  while (now().kind != Token::End && now().line == line)
    next();
}

void TokenReader::skipTo(StringRef text) {
  while (now().kind != Token::End && !eat(text))
    next();
}

Error TokenReader::constant(SourceOperand &operand) {
  bool negative = false;
  while (now().is("-") || now().is("+"))
    negative ^= next().text == "-";
  bool flipped = eat("~");
  Token token = now();
  if (token.kind < Token::Integer || token.kind > Token::Double || (token.kind != Token::Integer && negative))
    return fail("a number expected");
  next();
  operand.kind = token.kind == Token::Integer  ? SourceOperand::Integer
                 : token.kind == Token::Single ? SourceOperand::Single
                                               : SourceOperand::Double;
  operand.bits = flipped ? ~token.bits : token.bits;
  if (negative)
    operand.bits = -operand.bits;
  return Error::success();
}

Error TokenReader::list(SourceOperand &operand, StringRef end) {
  operand.kind = SourceOperand::Vector;
  while (!eat(end)) {
    if (now().is("{") || now().is("(") || now().is("["))
      return fail("a register or a number expected");
    if (Error error = this->operand(operand.elements.emplace_back()))
      return error;
    if (!eat(",") && !now().is(end))
      return fail("'" + end + "' expected");
  }
  return Error::success();
}

Error TokenReader::operand(SourceOperand &operand) {
  if (eat("{"))
    return list(operand, "}");
  if (eat("("))
    return list(operand, ")");
  if (eat("[")) {
    operand.kind = SourceOperand::Address;
    if (now().kind == Token::Word)
      operand.name = next().text;
    if (!now().is("]")) {
      SourceOperand offset;
      if (Error error = constant(offset))
        return error;
      operand.bits = offset.bits;
    }
    return expect("]");
  }
  operand.negated = eat("!");
  if (now().kind != Token::Word)
    return constant(operand);
  operand.name = next().text;
  if (eat("|")) {
    operand.pair = true;
    SourceOperand &second = operand.elements.emplace_back();
    if (now().kind != Token::Word)
      return fail("a predicate expected");
    second.name = next().text;
  } else if (now().is("+") || now().is("-")) {
    // `symbol+4`
    SourceOperand offset;
    if (Error error = constant(offset))
      return error;
    operand.bits = offset.bits;
  }
  return Error::success();
}

} // namespace attn::ptx
