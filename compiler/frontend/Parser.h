//===- Parser.h - from tokens to the syntax tree ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Recursive descent on the grammar of the language reference. Reports what is not in the
// grammar and goes on at the next statement, declaration or attention.
//===----------------------------------------------------------------------===//
#ifndef ATTN_COMPILER_FRONTEND_PARSER_H
#define ATTN_COMPILER_FRONTEND_PARSER_H

#include "compiler/frontend/Ast.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace attn::language {

/// Lexes and parses one buffer. When errors were reported, the tree holds what could be read;
/// after errors of the lexer, nothing.
ast::File parseFile(llvm::StringRef text, Diagnostics &diagnostics);

class Parser {
public:
  Parser(llvm::ArrayRef<Token> tokens, ast::File &file, Diagnostics &diagnostics)
      : tokens(tokens), file(file), diagnostics(diagnostics) {}
  void parseItems();

private:
  // Parser.cpp: files, signatures, statements. `false` says that an error was reported.
  bool parseImport(ast::Import &import);
  bool parseDef(ast::Def &def);
  bool parseAttention(ast::Attention &attention);
  bool parseSignature(ast::Attention &attention);
  bool parseDecls(std::vector<ast::Decl> &decls, bool inoutAllowed);
  bool parseDecl(ast::Decl &decl, bool inoutAllowed);
  bool parseDim(ast::Dim &dim);
  bool parseProduct(ast::Dim &dim);
  bool parseFacts(std::vector<ast::Fact> &facts);
  bool parseFact(ast::Fact &fact);
  bool parseStatements(ast::Attention &attention);
  bool parseStatement(ast::Statement &statement);
  bool parseRenames(ast::Statement &statement);
  bool looksLikeProduct() const;
  bool atStatement() const;
  void skipToStatement();
  void skipToItem();

  // ParseExpr.cpp: expressions. Null says that an error was reported.
  ast::Expr *parseExpr();
  ast::Expr *parseBinary(unsigned level);
  ast::Expr *parsePrefix(llvm::StringRef op, ast::Expr *(Parser::*same)(), ast::Expr *(Parser::*below)());
  ast::Expr *parseNot();
  ast::Expr *parseComparison();
  ast::Expr *parseUnary();
  ast::Expr *parsePostfix();
  ast::Expr *parsePrimary();
  ast::Expr *parseNumber();
  ast::Expr *parseParen();
  ast::Expr *parseNameOrCall();
  ast::Expr *parseCall();
  bool parseOption(ast::CallExpr *call);
  bool parseOver(ast::Option &option);
  ast::Expr *parseSubscript(ast::Expr *base);
  bool parseExprList(llvm::SmallVectorImpl<ast::Expr *> &into, llvm::StringRef close);
  /// Sets the height and refuses trees too high for recursion.
  ast::Expr *finish(ast::Expr *expr, llvm::ArrayRef<ast::Expr *> children);

  const Token &peek(unsigned ahead = 0) const { return tokens[std::min<size_t>(at + ahead, tokens.size() - 1)]; }
  const Token &next();
  bool accept(llvm::StringRef spelling);
  bool expect(llvm::StringRef spelling, const llvm::Twine &purpose);
  bool expectWord(Token::Kind kind, ast::Word &word, const llvm::Twine &what);
  bool fail(const llvm::Twine &message);
  ast::Expr *failExpr(const llvm::Twine &message);
  std::string found() const;
  llvm::SMRange from(llvm::SMLoc start) const { return {start, tokens[at ? at - 1 : 0].end()}; }

  llvm::ArrayRef<Token> tokens;
  ast::File &file;
  Diagnostics &diagnostics;
  size_t at = 0;
  unsigned depth = 0;
};

} // namespace attn::language

#endif // ATTN_COMPILER_FRONTEND_PARSER_H
