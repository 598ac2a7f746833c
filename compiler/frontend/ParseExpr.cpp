//===- ParseExpr.cpp - expressions ------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operators from the weakest (`or`) to the strongest (`[...]`).
//===----------------------------------------------------------------------===//
#include "compiler/frontend/Parser.h"

using namespace attn::language;
using namespace attn::language::ast;
using llvm::StringRef;

/// Recursion over a tree of this height fits any stack.
static constexpr unsigned maxHeight = 400;

const Expr *ast::stripped(const Expr *expr) {
  while (auto *paren = llvm::dyn_cast<ParenExpr>(expr))
    expr = paren->inner;
  return expr;
}

StringRef ast::textOf(llvm::SMRange range) {
  return StringRef(range.Start.getPointer(), range.End.getPointer() - range.Start.getPointer());
}

Expr *Parser::finish(Expr *expr, llvm::ArrayRef<Expr *> children) {
  for (Expr *child : children)
    expr->height = std::max(expr->height, child->height + 1);
  if (expr->height <= maxHeight)
    return expr;
  diagnostics.error(expr->range, "the expression is nested too deeply; give parts of it a name");
  return nullptr;
}

/// Operators that associate to the left, by level; `not` and comparisons stand between 1 and 2.
static llvm::ArrayRef<StringRef> operatorsAt(unsigned level) {
  static const StringRef or_[] = {"or"}, and_[] = {"and"}, ior[] = {"|"}, xor_[] = {"^"}, band[] = {"&"};
  static const StringRef shift[] = {"<<", ">>"}, sum[] = {"+", "-"}, term[] = {"*", "/", "%"};
  static const llvm::ArrayRef<StringRef> levels[] = {or_, and_, ior, xor_, band, shift, sum, term};
  return levels[level];
}
static constexpr unsigned andLevel = 1, termLevel = 7;

Expr *Parser::parseExpr() {
  if (depth >= maxHeight)
    return failExpr("the expression is nested too deeply; give parts of it a name");
  ++depth;
  Expr *expr = parseBinary(0);
  --depth;
  return expr;
}

Expr *Parser::parseBinary(unsigned level) {
  auto operand = [&]() -> Expr * {
    if (level == andLevel)
      return parseNot();
    return level == termLevel ? parseUnary() : parseBinary(level + 1);
  };
  Expr *left = operand();
  while (left && llvm::any_of(operatorsAt(level), [&](StringRef op) { return peek().is(op); })) {
    Word op{next().text};
    if ((op.text == "&" || op.text == "|") && peek().is(op.text) && peek().start() == tokens[at - 1].end())
      return failExpr(op.text == "&" ? "conditions are joined by `and`, not `&&`"
                                     : "conditions are joined by `or`, not `||`");
    Expr *right = operand();
    if (!right)
      return nullptr;
    auto *binary = file.create<BinaryExpr>({left->range.Start, right->range.End});
    binary->op = op;
    binary->left = left;
    binary->right = right;
    left = finish(binary, {left, right});
  }
  return left;
}

/// `op` before an operand of the same level, or what stands below that level.
Expr *Parser::parsePrefix(StringRef op, Expr *(Parser::*same)(), Expr *(Parser::*below)()) {
  if (!peek().is(op))
    return (this->*below)();
  if (depth >= maxHeight)
    return failExpr("the expression is nested too deeply; give parts of it a name");
  const Token &token = next();
  ++depth;
  Expr *operand = (this->*same)();
  --depth;
  if (!operand)
    return nullptr;
  auto *unary = file.create<UnaryExpr>({token.start(), operand->range.End});
  unary->op = token.text;
  unary->operand = operand;
  return finish(unary, {operand});
}

Expr *Parser::parseNot() { return parsePrefix("not", &Parser::parseNot, &Parser::parseComparison); }

Expr *Parser::parseComparison() {
  static const StringRef comparisons[] = {"<", "<=", ">", ">=", "==", "!="};
  Expr *first = parseBinary(andLevel + 1);
  auto atComparison = [&] { return llvm::any_of(comparisons, [&](StringRef op) { return peek().is(op); }); };
  if (!first || !atComparison())
    return first;
  auto *chain = file.create<CompareExpr>(first->range);
  chain->operands.push_back(first);
  while (atComparison()) {
    chain->ops.push_back({next().text});
    Expr *operand = parseBinary(andLevel + 1);
    if (!operand)
      return nullptr;
    chain->operands.push_back(operand);
  }
  chain->range.End = chain->operands.back()->range.End;
  return finish(chain, chain->operands);
}

Expr *Parser::parseUnary() { return parsePrefix("-", &Parser::parseUnary, &Parser::parsePostfix); }

Expr *Parser::parsePostfix() {
  Expr *expr = parsePrimary();
  while (expr && peek().is("["))
    expr = parseSubscript(expr);
  return expr;
}

Expr *Parser::parseSubscript(Expr *base) {
  next();
  if (peek().is("]"))
    return failExpr("an index is missing; a scalar is written without brackets");
  if (!peek().is(Token::Kind::Axis) || !peek(1).is(":")) {
    auto *place = file.create<PlaceExpr>(base->range);
    place->base = base;
    if (!parseExprList(place->indices, "]"))
      return nullptr;
    place->range = from(base->range.Start);
    llvm::SmallVector<Expr *> children(llvm::ArrayRef<Expr *>{place->indices});
    children.push_back(base);
    return finish(place, children);
  }
  auto *byName = file.create<ByNameExpr>(base->range);
  byName->base = base;
  do {
    Word axis;
    if (!expectWord(Token::Kind::Axis, axis, "an axis; `[...]` is either by place or by name throughout") ||
        !expect(":", "after the axis"))
      return nullptr;
    Expr *index = parseExpr();
    if (!index)
      return nullptr;
    byName->axes.push_back(axis);
    byName->indices.push_back(index);
  } while (accept(","));
  if (!expect("]", "behind the indices"))
    return nullptr;
  byName->range = from(base->range.Start);
  llvm::SmallVector<Expr *> children(llvm::ArrayRef<Expr *>{byName->indices});
  children.push_back(base);
  return finish(byName, children);
}

bool Parser::parseExprList(llvm::SmallVectorImpl<Expr *> &into, StringRef close) {
  do {
    Expr *expr = parseExpr();
    if (!expr)
      return false;
    into.push_back(expr);
  } while (accept(","));
  return expect(close, "behind the indices");
}

Expr *Parser::parsePrimary() {
  const Token &token = peek();
  if (token.is(Token::Kind::Number))
    return parseNumber();
  if (token.is("("))
    return parseParen();
  if (token.is(Token::Kind::Name))
    return parseNameOrCall();
  if (token.is(Token::Kind::Axis)) {
    auto *axis = file.create<AxisExpr>(next().range());
    axis->name = token.text;
    return axis;
  }
  if (token.is("inf") || token.is("true") || token.is("false")) {
    auto *literal = file.create<LiteralExpr>(next().range());
    literal->text = token.text;
    return literal;
  }
  if (token.is("not"))
    return failExpr("`not` binds weaker than this operator; put it in parentheses");
  return failExpr("expected an expression, found " + found());
}

Expr *Parser::parseNumber() {
  const Token &token = next();
  auto *number = file.create<NumberExpr>(token.range());
  number->text = token.text;
  number->isInteger = token.text.find_first_of(".eE") == StringRef::npos;
  bool bad = number->isInteger ? token.text.getAsInteger(10, number->integer)
                               : token.text.getAsDouble(number->real, /*AllowInexact=*/true);
  if (!bad)
    return number;
  diagnostics.error(token.range(), number->isInteger ? "the integer does not fit in 64 bits" : "not a number");
  return nullptr;
}

Expr *Parser::parseParen() {
  llvm::SMLoc start = next().start();
  Expr *inner = parseExpr();
  if (!inner || !expect(")", "to close the parenthesis"))
    return nullptr;
  auto *paren = file.create<ParenExpr>(from(start));
  paren->inner = inner;
  return finish(paren, {inner});
}

Expr *Parser::parseNameOrCall() {
  if (peek(1).is("("))
    return parseCall();
  const Token &token = next();
  auto *name = file.create<NameExpr>(token.range());
  name->name = token.text;
  return name;
}

Expr *Parser::parseCall() {
  const Token &callee = next();
  next();
  auto *call = file.create<CallExpr>(callee.range());
  call->callee = {callee.text};
  while (!peek().is(")")) {
    bool isOption = (peek().is(Token::Kind::Name) || peek().is("where")) && peek(1).is(":");
    if (isOption) {
      if (!parseOption(call))
        return nullptr;
    } else if (!call->options.empty()) {
      return failExpr("a plain argument after a named one; put it in front");
    } else {
      Expr *arg = parseExpr();
      if (!arg)
        return nullptr;
      call->args.push_back(arg);
    }
    if (!accept(","))
      break;
  }
  if (!expect(")", "behind the arguments of `" + callee.text + "`"))
    return nullptr;
  call->range = from(callee.start());
  llvm::SmallVector<Expr *> children(llvm::ArrayRef<Expr *>{call->args});
  for (const Option &option : call->options)
    if (option.value)
      children.push_back(option.value);
  return finish(call, children);
}

bool Parser::parseOption(CallExpr *call) {
  Option option;
  const Token &name = next();
  option.name = {name.text};
  next();
  if (call->find(name.text))
    return fail("`" + name.text + ":` is given twice");
  if (name.text == "over") {
    if (!parseOver(option))
      return false;
  } else if (!(option.value = parseExpr())) {
    return false;
  }
  option.range = from(name.start());
  call->options.push_back(option);
  return true;
}

bool Parser::parseOver(Option &option) {
  if (!accept("(")) {
    option.axes.emplace_back();
    return expectWord(Token::Kind::Axis, option.axes.back(), "an axis after `over:`");
  }
  while (!peek().is(")")) {
    if (peek().is(","))
      return fail("axes after `over:` are separated by spaces, as in `over: (I J)`");
    option.axes.emplace_back();
    if (!expectWord(Token::Kind::Axis, option.axes.back(), "an axis after `over:`"))
      return false;
  }
  if (option.axes.size() < 2)
    return fail("parentheses after `over:` hold two axes or more");
  next();
  return true;
}
