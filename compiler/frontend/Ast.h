//===- Ast.h - what was written ---------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The syntax tree: everything that the grammar knows, parentheses included, so that the
// formatter can print it again. Names are not resolved here.
//===----------------------------------------------------------------------===//
#ifndef ATTN_COMPILER_FRONTEND_AST_H
#define ATTN_COMPILER_FRONTEND_AST_H

#include "compiler/frontend/Lexer.h"
#include "llvm/ADT/SmallVector.h"
#include <memory>

namespace attn::language::ast {

/// A word and where it stands.
struct Word {
  llvm::StringRef text;

  llvm::SMRange range() const {
    return {llvm::SMLoc::getFromPointer(text.begin()), llvm::SMLoc::getFromPointer(text.end())};
  }
};

struct Expr {
  enum class Kind { Number, Literal, Axis, Name, Paren, Unary, Binary, Compare, Place, ByName, Call };

  virtual ~Expr() = default;
  Kind kind;
  llvm::SMRange range;
  /// Height of the tree; the parser bounds it so that recursion is safe.
  unsigned height = 1;

protected:
  Expr(Kind kind, llvm::SMRange range) : kind(kind), range(range) {}
};

/// Gives each node its `classof`.
template <Expr::Kind K>
struct ExprOf : Expr {
  explicit ExprOf(llvm::SMRange range) : Expr(K, range) {}
  static bool classof(const Expr *expr) { return expr->kind == K; }
};

/// An integer or a decimal number, spelled `text`.
struct NumberExpr : ExprOf<Expr::Kind::Number> {
  using ExprOf::ExprOf;
  llvm::StringRef text;
  bool isInteger = false;
  int64_t integer = 0;
  double real = 0;
};

/// `inf`, `true` or `false`.
struct LiteralExpr : ExprOf<Expr::Kind::Literal> {
  using ExprOf::ExprOf;
  llvm::StringRef text;
};

struct AxisExpr : ExprOf<Expr::Kind::Axis> {
  using ExprOf::ExprOf;
  llvm::StringRef name;
};

struct NameExpr : ExprOf<Expr::Kind::Name> {
  using ExprOf::ExprOf;
  llvm::StringRef name;
};

struct ParenExpr : ExprOf<Expr::Kind::Paren> {
  using ExprOf::ExprOf;
  Expr *inner = nullptr;
};

/// `-x` or `not x`.
struct UnaryExpr : ExprOf<Expr::Kind::Unary> {
  using ExprOf::ExprOf;
  llvm::StringRef op;
  Expr *operand = nullptr;
};

struct BinaryExpr : ExprOf<Expr::Kind::Binary> {
  using ExprOf::ExprOf;
  Word op;
  Expr *left = nullptr, *right = nullptr;
};

/// A chain: `0 <= s - t < W` has three operands and two operators.
struct CompareExpr : ExprOf<Expr::Kind::Compare> {
  using ExprOf::ExprOf;
  llvm::SmallVector<Expr *, 3> operands;
  llvm::SmallVector<Word, 2> ops;
};

/// `x[i, j]`.
struct PlaceExpr : ExprOf<Expr::Kind::Place> {
  using ExprOf::ExprOf;
  Expr *base = nullptr;
  llvm::SmallVector<Expr *, 4> indices;
};

/// `v[A: i]`.
struct ByNameExpr : ExprOf<Expr::Kind::ByName> {
  using ExprOf::ExprOf;
  Expr *base = nullptr;
  llvm::SmallVector<Word, 2> axes;
  llvm::SmallVector<Expr *, 2> indices;
};

/// `name: value` in a call; `over` has axes instead of a value.
struct Option {
  Word name;
  Expr *value = nullptr;
  llvm::SmallVector<Word, 2> axes;
  llvm::SMRange range;
};

struct CallExpr : ExprOf<Expr::Kind::Call> {
  using ExprOf::ExprOf;
  Word callee;
  llvm::SmallVector<Expr *, 3> args;
  llvm::SmallVector<Option, 3> options;

  const Option *find(llvm::StringRef name) const {
    for (const Option &option : options)
      if (option.name.text == name)
        return &option;
    return nullptr;
  }
};

/// One stored dimension: an expression, or the factors of a row-major product.
struct Dim {
  llvm::SmallVector<Expr *, 3> factors;
  bool isProduct = false;
  llvm::SMRange range;
};

struct Decl {
  Word name, dtype;
  bool isInout = false;
  /// Begins a line, which the formatter keeps.
  bool startsLine = false;
  std::vector<Dim> dims;
  llvm::SMRange range;
};

/// `A = expr`, `A[b] = expr` or a condition.
struct Fact {
  enum class Kind { Extent, Ragged, Requirement };
  Kind kind = Kind::Requirement;
  Word axis;
  llvm::SmallVector<Word, 2> indices;
  Expr *value = nullptr;
  bool startsLine = false;
  llvm::SMRange range;
};

struct Rename {
  Word from, to;
};

struct Statement {
  Word name;
  bool hasPlace = false;
  llvm::SmallVector<Expr *, 4> place;
  Expr *value = nullptr;
  std::vector<Rename> renames;
  Expr *condition = nullptr;
  llvm::SMRange range;
};

struct Attention {
  Word name;
  bool precise = false;
  std::vector<Decl> params, results;
  std::vector<Fact> facts;
  std::vector<Statement> body;
  llvm::SMRange range;
  llvm::SMLoc bodyStart;
};

struct Def {
  Word name;
  std::vector<Word> params;
  Expr *body = nullptr;
  llvm::SMRange range;
};

/// `import "masks.attn"`.
struct Import {
  /// Between the quotes.
  Word file;
  llvm::SMRange range;
};

/// What stands at the top of a file, in order: exactly one of the three.
struct Item {
  std::unique_ptr<Import> import;
  std::unique_ptr<Def> def;
  std::unique_ptr<Attention> attention;
  llvm::SMRange range() const { return import ? import->range : def ? def->range : attention->range; }
};

struct File {
  std::vector<Item> items;
  std::vector<Comment> comments;
  std::vector<std::unique_ptr<Expr>> pool;

  template <typename T>
  T *create(llvm::SMRange range) {
    auto node = std::make_unique<T>(range);
    T *raw = node.get();
    pool.push_back(std::move(node));
    return raw;
  }
};

/// The expression without parentheses around it.
const Expr *stripped(const Expr *expr);

/// The text that a range covers.
llvm::StringRef textOf(llvm::SMRange range);

} // namespace attn::language::ast

#endif // ATTN_COMPILER_FRONTEND_AST_H
