//===- FormatExpr.cpp - expressions as text ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/frontend/Format.h"

using namespace attn::language;
using namespace attn::language::ast;
using llvm::StringRef;

namespace {
class ExprPrinter {
public:
  explicit ExprPrinter(llvm::SmallVectorImpl<Piece> &pieces) : pieces(pieces) {}

  void print(const Expr *expr) {
    if (auto *paren = llvm::dyn_cast<ParenExpr>(expr))
      return printParen(paren);
    if (auto *unary = llvm::dyn_cast<UnaryExpr>(expr)) {
      add(unary->op);
      space = unary->op == "not";
      return print(unary->operand);
    }
    if (auto *binary = llvm::dyn_cast<BinaryExpr>(expr)) {
      print(binary->left);
      infix(binary->op.text);
      return print(binary->right);
    }
    if (auto *chain = llvm::dyn_cast<CompareExpr>(expr))
      return printChain(chain);
    if (auto *place = llvm::dyn_cast<PlaceExpr>(expr)) {
      print(place->base);
      return printList("[", place->indices, "]");
    }
    if (auto *byName = llvm::dyn_cast<ByNameExpr>(expr))
      return printByName(byName);
    if (auto *call = llvm::dyn_cast<CallExpr>(expr))
      return printCall(call);
    add(textOf(expr->range)); // a number, a word or an axis
  }

private:
  void add(StringRef text) {
    pieces.push_back({text.str(), space, breakHere ? std::optional<unsigned>(depth) : std::nullopt});
    space = breakHere = false;
  }
  /// An operator begins the next line when it has to.
  void infix(StringRef op) {
    space = breakHere = true;
    add(op);
    space = true;
  }
  void comma() {
    add(",");
    space = breakHere = true;
  }
  void open(StringRef text) {
    add(text);
    ++depth;
  }
  void close(StringRef text) {
    --depth;
    add(text);
  }

  void printParen(const ParenExpr *paren) {
    open("(");
    print(paren->inner);
    close(")");
  }

  void printChain(const CompareExpr *chain) {
    print(chain->operands[0]);
    for (auto [op, operand] : llvm::zip(chain->ops, llvm::drop_begin(chain->operands))) {
      infix(op.text);
      print(operand);
    }
  }

  void printList(StringRef before, llvm::ArrayRef<Expr *> list, StringRef after) {
    open(before);
    for (const Expr *expr : list) {
      if (expr != list.front())
        comma();
      print(expr);
    }
    close(after);
  }

  void printByName(const ByNameExpr *byName) {
    print(byName->base);
    open("[");
    for (unsigned i = 0; i < byName->axes.size(); ++i) {
      if (i)
        comma();
      add((byName->axes[i].text + ":").str());
      space = true;
      print(byName->indices[i]);
    }
    close("]");
  }

  void printCall(const CallExpr *call) {
    add(call->callee.text);
    open("(");
    bool first = true;
    auto next = [&] {
      if (!first)
        comma();
      first = false;
    };
    for (const Expr *arg : call->args) {
      next();
      print(arg);
    }
    for (const Option &option : call->options) {
      next();
      add((option.name.text + ":").str());
      space = true;
      if (option.value)
        print(option.value);
      else
        add(axesText(option.axes));
    }
    close(")");
  }

  static std::string axesText(llvm::ArrayRef<Word> axes) {
    std::string text;
    for (const Word &axis : axes)
      text += (text.empty() ? "" : " ") + axis.text.str();
    return axes.size() > 1 ? "(" + text + ")" : text;
  }

  llvm::SmallVectorImpl<Piece> &pieces;
  unsigned depth = 0;
  bool space = false, breakHere = false;
};
} // namespace

void attn::language::appendPieces(const Expr *expr, llvm::SmallVectorImpl<Piece> &pieces) {
  ExprPrinter(pieces).print(expr);
}

/// Where the line that begins with piece `first` ends: before the outermost break that still
/// fits, else before the next break at all.
static size_t findBreak(llvm::ArrayRef<Piece> pieces, size_t first, size_t column) {
  std::optional<size_t> best;
  for (size_t i = first; i < pieces.size(); ++i) {
    bool isBreak = i > first && pieces[i].breakDepth;
    bool better = isBreak && (!best || *pieces[i].breakDepth <= *pieces[*best].breakDepth);
    if (better && column <= lineLimit)
      best = i;
    if (isBreak && column > lineLimit)
      return best ? *best : i;
    column += pieces[i].text.size() + pieces[i].spaceBefore;
  }
  return column > lineLimit && best ? *best : pieces.size();
}

std::vector<std::string> attn::language::layOut(StringRef head, llvm::ArrayRef<Piece> pieces) {
  std::vector<std::string> lines;
  std::string line = head.str();
  for (size_t at = 0; at < pieces.size();) {
    size_t end = findBreak(pieces, at, line.size());
    for (size_t i = at; i < end; ++i)
      line += (pieces[i].spaceBefore && i > at ? " " : "") + pieces[i].text;
    lines.push_back(std::move(line));
    line = std::string(8, ' ');
    at = end;
  }
  return lines;
}
