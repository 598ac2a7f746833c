//===- Parser.cpp - files, signatures, statements ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/frontend/Parser.h"

using namespace attn::language;
using namespace attn::language::ast;
using llvm::StringRef;

//===----------------------------------------------------------------------===//
// Tokens
//===----------------------------------------------------------------------===//

const Token &Parser::next() {
  const Token &token = peek();
  if (!token.is(Token::Kind::End))
    ++at;
  return token;
}

bool Parser::accept(StringRef spelling) {
  if (!peek().is(spelling))
    return false;
  next();
  return true;
}

std::string Parser::found() const {
  return peek().is(Token::Kind::End) ? "the end of the file" : ("`" + peek().text + "`").str();
}

bool Parser::fail(const llvm::Twine &message) {
  diagnostics.error(peek().range(), message);
  return false;
}

Expr *Parser::failExpr(const llvm::Twine &message) {
  fail(message);
  return nullptr;
}

bool Parser::expect(StringRef spelling, const llvm::Twine &purpose) {
  return accept(spelling) || fail("expected `" + spelling + "` " + purpose + ", found " + found());
}

bool Parser::expectWord(Token::Kind kind, Word &word, const llvm::Twine &what) {
  if (!peek().is(kind))
    return fail("expected " + what + ", found " + found());
  word = {next().text};
  return true;
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

ast::File attn::language::parseFile(StringRef text, Diagnostics &diagnostics) {
  Diagnostics::Watch watch(diagnostics);
  LexedFile lexed = lex(text, diagnostics);
  ast::File file;
  file.comments = std::move(lexed.comments);
  if (!watch.sawErrors())
    Parser(lexed.tokens, file, diagnostics).parseItems();
  return file;
}

static bool beginsItem(const Token &token) {
  bool word = token.is(Token::Kind::Name) && (token.text == "def" || token.text == "precise" || token.text == "import");
  return token.startsLine && (word || token.is("attention"));
}

void Parser::skipToItem() {
  while (!peek().is(Token::Kind::End) && !beginsItem(peek()))
    next();
}

void Parser::parseItems() {
  while (!peek().is(Token::Kind::End)) {
    size_t before = at;
    Item item;
    bool ok = true;
    if (peek().is(Token::Kind::Name) && peek().text == "def") {
      item.def = std::make_unique<Def>();
      ok = parseDef(*item.def);
    } else if (peek().is(Token::Kind::Name) && peek().text == "import") {
      item.import = std::make_unique<Import>();
      ok = parseImport(*item.import);
    } else {
      item.attention = std::make_unique<Attention>();
      ok = parseAttention(*item.attention);
    }
    if (ok) {
      file.items.push_back(std::move(item));
      continue;
    }
    if (at == before)
      next();
    skipToItem();
  }
}

bool Parser::parseImport(Import &import) {
  if (!file.items.empty() && !file.items.back().import)
    return fail("imports stand at the top of a file, before its first `def` or `attention`");
  llvm::SMLoc start = next().start();
  if (!peek().is(Token::Kind::String))
    return fail("expected a file in double quotes, as in `import \"masks.attn\"`, found " + found());
  import.file = {next().text.drop_front().drop_back()};
  import.range = from(start);
  return true;
}

bool Parser::parseDef(Def &def) {
  llvm::SMLoc start = next().start();
  if (!expectWord(Token::Kind::Name, def.name, "a name after `def`") || !expect("(", "before the parameters"))
    return false;
  do {
    Word param;
    if (!expectWord(Token::Kind::Name, param, "the name of a parameter"))
      return false;
    def.params.push_back(param);
  } while (accept(","));
  if (!expect(")", "behind the parameters") || !expect("=", "before the expression"))
    return false;
  def.body = parseExpr();
  def.range = from(start);
  return def.body != nullptr;
}

bool Parser::parseAttention(Attention &attention) {
  llvm::SMLoc start = peek().start();
  if (peek().is(Token::Kind::Name) && peek().text == "precise" && peek(1).is("attention")) {
    next();
    attention.precise = true;
  }
  if (!peek().is("attention"))
    return fail("expected `attention`, `def` or `import`, found " + found());
  next();
  bool signatureOk = parseSignature(attention);
  while (!signatureOk && !peek().is("{") && !peek().is(Token::Kind::End) && !beginsItem(peek()))
    next();
  attention.bodyStart = peek().start();
  if (!signatureOk && !peek().is("{"))
    return false;
  if (!expect("{", "before the statements") || !parseStatements(attention))
    return false;
  attention.range = from(start);
  return signatureOk;
}

//===----------------------------------------------------------------------===//
// Signatures
//===----------------------------------------------------------------------===//

bool Parser::parseSignature(Attention &attention) {
  if (!expectWord(Token::Kind::Name, attention.name, "a name in lower case after `attention`") ||
      !expect("(", "before the arguments") || !parseDecls(attention.params, true) ||
      !expect(")", "behind the arguments") || !expect("->", "before the results") || !expect("(", "before the results"))
    return false;
  if (peek().is(")"))
    return fail("an attention has a result at least, as in `-> (y : f32[B, S, D])`");
  if (!parseDecls(attention.results, false) || !expect(")", "behind the results"))
    return false;
  return !accept("where") || parseFacts(attention.facts);
}

bool Parser::parseDecls(std::vector<Decl> &decls, bool inoutAllowed) {
  while (!peek().is(")")) {
    decls.emplace_back();
    if (!parseDecl(decls.back(), inoutAllowed))
      return false;
    if (!accept(","))
      break;
  }
  return true;
}

bool Parser::parseDecl(Decl &decl, bool inoutAllowed) {
  llvm::SMLoc start = peek().start();
  decl.startsLine = peek().startsLine;
  if (peek().is("inout") && !inoutAllowed)
    return fail("a result is not `inout`; declare it among the arguments");
  decl.isInout = accept("inout");
  if (peek().is(Token::Kind::Axis))
    return fail("`" + peek().text + "` is spelled like an axis; a tensor's name begins with a lower-case letter");
  if (!expectWord(Token::Kind::Name, decl.name, "the name of a tensor") ||
      !expect(":", "between the name and its dtype") ||
      !expectWord(Token::Kind::Name, decl.dtype, "a dtype such as f32"))
    return false;
  if (accept("[")) {
    if (peek().is("]"))
      return fail("a scalar is written without brackets");
    do {
      decl.dims.emplace_back();
      if (!parseDim(decl.dims.back()))
        return false;
    } while (accept(","));
    if (!expect("]", "behind the dimensions"))
      return false;
  }
  decl.range = from(start);
  return true;
}

/// In front of a parenthesis: is it `(H E)`, or an expression such as `(C + R) * 2`?
bool Parser::looksLikeProduct() const {
  if (!peek().is("("))
    return false;
  auto startsFactor = [&](unsigned i) {
    return peek(i).is(Token::Kind::Axis) || peek(i).is(Token::Kind::Number) || peek(i).is("(");
  };
  if (!startsFactor(1))
    return false;
  unsigned behind = 2;
  if (peek(1).is("("))
    for (unsigned open = 1; open && !peek(behind).is(Token::Kind::End); ++behind)
      open += peek(behind).is("(") ? 1 : peek(behind).is(")") ? -1 : 0;
  return startsFactor(behind);
}

bool Parser::parseDim(Dim &dim) {
  llvm::SMLoc start = peek().start();
  dim.isProduct = looksLikeProduct();
  if (!dim.isProduct)
    dim.factors.push_back(parseExpr());
  if (dim.isProduct ? !parseProduct(dim) : !dim.factors.front())
    return false;
  dim.range = from(start);
  return true;
}

bool Parser::parseProduct(Dim &dim) {
  next();
  while (!peek().is(")")) {
    bool isFactor = peek().is(Token::Kind::Axis) || peek().is(Token::Kind::Number) || peek().is("(");
    if (!isFactor)
      return fail("a product such as `(H E)` holds axes, integers and expressions in parentheses; found " + found());
    Expr *factor = parsePrimary();
    if (!factor)
      return false;
    dim.factors.push_back(factor);
  }
  next();
  return true;
}

bool Parser::parseFacts(std::vector<Fact> &facts) {
  do {
    facts.emplace_back();
    if (!parseFact(facts.back()))
      return false;
  } while (accept(","));
  return true;
}

bool Parser::parseFact(Fact &fact) {
  llvm::SMLoc start = peek().start();
  fact.startsLine = peek().startsLine;
  if (peek().is(Token::Kind::Axis) && peek(1).is("=")) {
    fact.kind = Fact::Kind::Extent;
    fact.axis = {next().text};
  } else if (peek().is(Token::Kind::Axis) && peek(1).is("[")) {
    fact.kind = Fact::Kind::Ragged;
    fact.axis = {next().text};
    next();
    do {
      fact.indices.emplace_back();
      if (!expectWord(Token::Kind::Name, fact.indices.back(), "the index that the extent depends on, as in `T[b]`"))
        return false;
    } while (accept(","));
    if (!expect("]", "behind the indices"))
      return false;
  }
  if (fact.kind != Fact::Kind::Requirement && !expect("=", "before the extent"))
    return false;
  fact.value = parseExpr();
  fact.range = from(start);
  return fact.value != nullptr;
}

//===----------------------------------------------------------------------===//
// Statements
//===----------------------------------------------------------------------===//

bool Parser::atStatement() const {
  return peek().is("}") || (peek().startsLine && peek().is(Token::Kind::Name) && (peek(1).is("=") || peek(1).is("[")));
}

void Parser::skipToStatement() {
  while (!peek().is(Token::Kind::End) && !atStatement() && !beginsItem(peek()))
    next();
}

bool Parser::parseStatements(Attention &attention) {
  while (!accept("}")) {
    bool isOpen = beginsItem(peek()) && !peek(1).is("=") && !peek(1).is("[");
    if (peek().is(Token::Kind::End) || isOpen)
      return fail("expected `}` behind the statements of `" + attention.name.text + "`, found " + found());
    size_t before = at;
    Statement statement;
    if (parseStatement(statement)) {
      attention.body.push_back(std::move(statement));
      continue;
    }
    if (at == before)
      next();
    skipToStatement();
  }
  return true;
}

bool Parser::parseStatement(Statement &statement) {
  llvm::SMLoc start = peek().start();
  if (peek().is(Token::Kind::Axis))
    return fail("`" + peek().text + "` is an axis and can't be assigned; its extent stands in the `where` clause");
  if (!peek().is(Token::Kind::Name) || !(peek(1).is("=") || peek(1).is("[")))
    return fail("expected a statement `name = ...`, found " + found());
  statement.name = {next().text};
  statement.hasPlace = accept("[");
  if (statement.hasPlace) {
    if (peek().is(Token::Kind::Axis) && peek(1).is(":"))
      return fail("a write names its place in declared order, as in `cache[b, g, pos, e] = k`");
    if (!parseExprList(statement.place, "]"))
      return false;
  }
  if (!expect("=", "before the value"))
    return false;
  statement.value = parseExpr();
  if (!statement.value || (accept("with") && !parseRenames(statement)))
    return false;
  if (accept("where") && !(statement.condition = parseExpr()))
    return false;
  statement.range = from(start);
  return true;
}

bool Parser::parseRenames(Statement &statement) {
  do {
    Rename rename;
    if (!expectWord(Token::Kind::Axis, rename.from, "an axis after `with`, as in `with S as T`") ||
        !expect("as", "between the two axes") || !expectWord(Token::Kind::Axis, rename.to, "an axis after `as`"))
      return false;
    statement.renames.push_back(rename);
  } while (accept(","));
  return true;
}
