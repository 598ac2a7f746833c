//===- Format.h - the one layout of a spec ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prints a syntax tree in the layout of the language reference. Keeps comments, blank lines
// and the rows of a signature; what it has printed, it prints again unchanged.
//===----------------------------------------------------------------------===//
#ifndef ATTN_COMPILER_FRONTEND_FORMAT_H
#define ATTN_COMPILER_FRONTEND_FORMAT_H

#include "compiler/frontend/Ast.h"
#include <optional>

namespace attn::language {

/// The main buffer of `sources`, formatted; nothing after syntax errors, which have been printed.
std::optional<std::string> formatSpec(llvm::SourceMgr &sources);

/// One line of output and the comment behind it.
struct FormattedLine {
  std::string text;
  std::string comment;
  /// Where the comment stood in the source, from 0.
  unsigned commentColumn = 0;
};

/// Joins the lines; comments behind neighbouring lines stand in one column.
std::string joinLines(llvm::ArrayRef<FormattedLine> lines);

/// The text of an expression, and where a line may be broken inside of it.
struct Piece {
  std::string text;
  bool spaceBefore = false;
  /// Nesting of the place before this piece, when a line may end there.
  std::optional<unsigned> breakDepth;
};
void appendPieces(const ast::Expr *expr, llvm::SmallVectorImpl<Piece> &pieces);

/// Puts pieces behind `head`; lines that would be too long continue indented.
std::vector<std::string> layOut(llvm::StringRef head, llvm::ArrayRef<Piece> pieces);

inline constexpr unsigned lineLimit = 120;

} // namespace attn::language

#endif // ATTN_COMPILER_FRONTEND_FORMAT_H
