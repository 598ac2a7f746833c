//===- Format.cpp - the one layout of a spec --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/frontend/Format.h"
#include "compiler/frontend/Parser.h"
#include "llvm/ADT/StringExtras.h"

using namespace attn::language;
using namespace attn::language::ast;
using llvm::StringRef;

namespace {
class Formatter {
public:
  Formatter(const File &file, StringRef source) : file(file), source(source), printed(source.begin()) {}
  std::string run();

private:
  void line(const llvm::Twine &text) { lines.push_back({text.str(), "", 0}); }
  void blankLine(const char *start);
  void commentsBefore(const char *place, unsigned indent);
  void commentsInside(llvm::SMRange range, unsigned indent);
  void trailingComment(const char *end);

  void printImport(const Import &import);
  void printDef(const Def &def);
  void printAttention(const Attention &attention);
  void printParams(const Attention &attention);
  void printRow(llvm::ArrayRef<Decl> row, size_t nameWidth);
  void printResults(const Attention &attention);
  void printFacts(const Attention &attention);
  void printStatement(const Statement &statement, size_t nameWidth);
  std::vector<size_t> alignNames(llvm::ArrayRef<Statement> body) const;
  bool areNeighbours(const Statement &above, const Statement &below) const;

  const File &file;
  StringRef source;
  size_t nextComment = 0;
  /// The end, in the source, of what was printed last.
  const char *printed;
  /// A block has just begun: no blank line here.
  bool isFresh = true;
  std::vector<FormattedLine> lines;
};
} // namespace

//===----------------------------------------------------------------------===//
// Comments and blank lines
//===----------------------------------------------------------------------===//

static size_t newlinesBetween(const char *from, const char *to) {
  return from < to ? StringRef(from, to - from).count('\n') : 0;
}

/// Keeps one blank line of the source in front of `start`.
void Formatter::blankLine(const char *start) {
  if (!isFresh && newlinesBetween(printed, start) > 1)
    line("");
  isFresh = false;
}

void Formatter::commentsBefore(const char *place, unsigned indent) {
  for (; nextComment < file.comments.size() && file.comments[nextComment].text.begin() < place; ++nextComment) {
    StringRef comment = file.comments[nextComment].text;
    blankLine(comment.begin());
    line(std::string(indent, ' ') + comment);
    printed = comment.end();
  }
}

/// Comments in the middle of what is printed as a whole go in front of it.
void Formatter::commentsInside(llvm::SMRange range, unsigned indent) {
  commentsBefore(range.Start.getPointer(), indent);
  blankLine(range.Start.getPointer());
  printed = range.Start.getPointer();
  isFresh = true;
  commentsBefore(range.End.getPointer(), indent);
  isFresh = false;
}

/// A comment on the source line where something ends goes behind the last line.
void Formatter::trailingComment(const char *end) {
  printed = end;
  if (nextComment == file.comments.size())
    return;
  const Comment &comment = file.comments[nextComment];
  if (comment.startsLine || newlinesBetween(end, comment.text.begin()))
    return;
  lines.back().comment = comment.text.str();
  lines.back().commentColumn = source.take_front(comment.text.begin() - source.begin()).size() -
                               (source.take_front(comment.text.begin() - source.begin()).rfind('\n') + 1);
  printed = comment.text.end();
  ++nextComment;
}

std::string attn::language::joinLines(llvm::ArrayRef<FormattedLine> lines) {
  std::string text;
  while (!lines.empty()) {
    size_t count = lines.take_while([](const FormattedLine &line) { return !line.comment.empty(); }).size();
    llvm::ArrayRef<FormattedLine> run = lines.take_front(std::max<size_t>(count, 1));
    size_t column = run.front().commentColumn, needed = 0;
    for (const FormattedLine &line : run) {
      needed = std::max(needed, line.text.size() + 2);
      column = line.commentColumn == column ? column : 0;
    }
    column = std::max(column, needed);
    for (const FormattedLine &line : run) {
      text += line.text;
      if (!line.comment.empty())
        text += std::string(column - line.text.size(), ' ') + line.comment;
      text += '\n';
    }
    lines = lines.drop_front(run.size());
  }
  return text;
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

std::string Formatter::run() {
  for (const Item &item : file.items) {
    bool isFirst = &item == &file.items.front();
    bool isApart = item.attention || (!isFirst && ((&item)[-1].attention || bool((&item)[-1].import) != bool(item.import)));
    if (!isFirst && isApart) {
      line("");
      isFresh = true;
    }
    commentsBefore(item.range().Start.getPointer(), 0);
    blankLine(item.range().Start.getPointer());
    if (item.import)
      printImport(*item.import);
    else
      item.def ? printDef(*item.def) : printAttention(*item.attention);
  }
  commentsBefore(source.end(), 0);
  return joinLines(lines);
}

void Formatter::printImport(const Import &import) {
  commentsInside(import.range, 0);
  line("import \"" + import.file.text + "\"");
  trailingComment(import.range.End.getPointer());
}

void Formatter::printDef(const Def &def) {
  commentsInside(def.range, 0);
  std::string head = "def " + def.name.text.str() + "(";
  llvm::ListSeparator comma;
  for (const Word &param : def.params)
    head += (StringRef(comma) + param.text).str();
  llvm::SmallVector<Piece> pieces;
  appendPieces(def.body, pieces);
  for (std::string &text : layOut(head + ") = ", pieces))
    line(text);
  trailingComment(def.range.End.getPointer());
}

void Formatter::printAttention(const Attention &attention) {
  printParams(attention);
  printResults(attention);
  printFacts(attention);
  const char *open = attention.bodyStart.getPointer();
  commentsBefore(open, 0);
  line("{");
  trailingComment(open + 1);
  isFresh = true;
  std::vector<size_t> widths = alignNames(attention.body);
  for (auto [statement, width] : llvm::zip(attention.body, widths))
    printStatement(statement, width);
  const char *end = attention.range.End.getPointer();
  commentsBefore(end - 1, 4);
  line("}");
  trailingComment(end);
}

//===----------------------------------------------------------------------===//
// Signatures
//===----------------------------------------------------------------------===//

static std::string exprText(const Expr *expr) {
  llvm::SmallVector<Piece> pieces;
  appendPieces(expr, pieces);
  std::string text;
  for (const Piece &piece : pieces)
    text += (piece.spaceBefore ? " " : "") + piece.text;
  return text;
}

static std::string typeText(const Decl &decl) {
  std::string text = decl.dtype.text.str();
  llvm::ListSeparator comma;
  for (const Dim &dim : decl.dims) {
    text += decl.dims.front().range.Start == dim.range.Start ? "[" : "";
    text += StringRef(comma);
    llvm::ListSeparator space(" ");
    text += dim.isProduct ? "(" : "";
    for (const Expr *factor : dim.factors)
      text += (StringRef(space) + exprText(factor)).str();
    text += dim.isProduct ? ")" : "";
  }
  return text + (decl.dims.empty() ? "" : "]");
}

static std::string nameText(const Decl &decl) { return (decl.isInout ? "inout " : "") + decl.name.text.str(); }
static std::string declText(const Decl &decl) { return nameText(decl) + " : " + typeText(decl); }

/// The rows of the source; what was one row and is too long has one declaration a row.
static std::vector<llvm::ArrayRef<Decl>> rowsOf(llvm::ArrayRef<Decl> decls) {
  bool anyRow = llvm::any_of(decls, [](const Decl &decl) { return decl.startsLine; });
  std::vector<llvm::ArrayRef<Decl>> rows;
  for (size_t first = 0; first < decls.size();) {
    size_t end = first + 1;
    while (anyRow && end < decls.size() && !decls[end].startsLine)
      ++end;
    rows.push_back(decls.slice(first, end - first));
    first = end;
  }
  return rows;
}

/// Names at the beginning of neighbouring rows are padded to one width when they nearly have it.
static std::vector<size_t> rowWidths(llvm::ArrayRef<llvm::ArrayRef<Decl>> rows) {
  std::vector<size_t> widths;
  for (size_t first = 0; first < rows.size();) {
    size_t end = first, widest = 0;
    auto width = [&](size_t row) { return nameText(rows[row].front()).size(); };
    do
      widest = std::max(widest, width(end++));
    while (end < rows.size() && width(end) <= width(end - 1) + 1 && width(end - 1) <= width(end) + 1);
    widths.resize(end, widest);
    first = end;
  }
  return widths;
}

void Formatter::printRow(llvm::ArrayRef<Decl> row, size_t nameWidth) {
  commentsBefore(row.back().range.End.getPointer(), 4);
  std::string text = "    ";
  for (const Decl &decl : row) {
    bool isFirst = &decl == row.begin();
    std::string name = nameText(decl);
    std::string padding(isFirst ? nameWidth - name.size() : 0, ' ');
    text += (isFirst ? "" : "  ") + name + padding + " : " + typeText(decl) + ",";
  }
  line(text);
  trailingComment(row.back().range.End.getPointer());
}

void Formatter::printParams(const Attention &attention) {
  std::string head = (attention.precise ? "precise attention " : "attention ") + attention.name.text.str() + "(";
  llvm::ArrayRef<Decl> params(attention.params);
  std::string inOneLine = head;
  llvm::ListSeparator comma;
  for (const Decl &param : params)
    inOneLine += (StringRef(comma) + declText(param)).str();
  bool anyRow = llvm::any_of(params, [](const Decl &param) { return param.startsLine; });
  if (!anyRow && inOneLine.size() + 4 <= lineLimit)
    return line(inOneLine + ") -> (");
  line(head);
  trailingComment(attention.name.text.end());
  isFresh = true;
  std::vector<llvm::ArrayRef<Decl>> rows = rowsOf(params);
  for (auto [row, width] : llvm::zip(rows, rowWidths(rows)))
    printRow(row, width);
  commentsBefore(attention.results.front().range.Start.getPointer(), 4);
  line(") -> (");
}

/// Behind what stands in the last line.
void Formatter::printResults(const Attention &attention) {
  for (const Decl &result : attention.results) {
    bool isFirst = &result == &attention.results.front();
    std::string text = declText(result);
    bool breaks = result.startsLine || lines.back().text.size() + text.size() + 3 > lineLimit;
    if (isFirst || !breaks) {
      lines.back().text += (isFirst ? "" : ", ") + text;
    } else {
      lines.back().text += ",";
      commentsBefore(result.range.Start.getPointer(), 6);
      line("      " + text);
    }
  }
  lines.back().text += ")";
  trailingComment(attention.results.back().range.End.getPointer());
}

void Formatter::printFacts(const Attention &attention) {
  for (const Fact &fact : attention.facts) {
    bool isFirst = &fact == &attention.facts.front();
    std::string text = fact.axis.text.str();
    if (fact.kind == Fact::Kind::Ragged) {
      llvm::ListSeparator comma;
      text += "[";
      for (const Word &index : fact.indices)
        text += (StringRef(comma) + index.text).str();
      text += "]";
    }
    text += (fact.kind == Fact::Kind::Requirement ? "" : " = ") + exprText(fact.value);
    bool breaks = fact.startsLine || lines.back().text.size() + text.size() + 3 > lineLimit;
    if (isFirst || breaks) {
      lines.back().text += isFirst ? "" : ",";
      isFresh = true;
      commentsBefore(fact.range.Start.getPointer(), isFirst ? 0 : 6);
      line((isFirst ? "where " : "      ") + text);
    } else {
      lines.back().text += ", " + text;
    }
    bool endsRow = &fact == &attention.facts.back() || (&fact)[1].startsLine;
    if (endsRow)
      trailingComment(fact.range.End.getPointer());
  }
}

//===----------------------------------------------------------------------===//
// Statements
//===----------------------------------------------------------------------===//

/// On neighbouring lines of the source, with nothing between.
bool Formatter::areNeighbours(const Statement &above, const Statement &below) const {
  const char *from = above.range.End.getPointer(), *to = below.range.Start.getPointer();
  if (newlinesBetween(from, to) > 1)
    return false;
  return llvm::none_of(file.comments, [&](const Comment &comment) {
    const char *at = comment.text.begin();
    bool isBehindAbove = !comment.startsLine && newlinesBetween(from, at) == 0;
    return from <= at && at < below.range.End.getPointer() && !isBehindAbove;
  });
}

/// The width to which each name is padded: neighbours share one, unless a name is longer by
/// far than those above it.
std::vector<size_t> Formatter::alignNames(llvm::ArrayRef<Statement> body) const {
  static constexpr size_t farLonger = 4;
  std::vector<size_t> widths;
  for (size_t first = 0; first < body.size();) {
    size_t end = first + 1, widest = body[first].name.text.size();
    while (end < body.size() && !body[first].hasPlace && !body[end].hasPlace &&
           areNeighbours(body[end - 1], body[end]) && body[end].name.text.size() < widest + farLonger)
      widest = std::max(widest, body[end++].name.text.size());
    widths.resize(end, body[first].hasPlace ? 0 : widest);
    first = end;
  }
  return widths;
}

void Formatter::printStatement(const Statement &statement, size_t nameWidth) {
  commentsInside(statement.range, 4);
  std::string head = "    " + statement.name.text.str();
  if (statement.hasPlace) {
    llvm::ListSeparator comma;
    head += "[";
    for (const Expr *index : statement.place)
      head += (StringRef(comma) + exprText(index)).str();
    head += "]";
  } else {
    head += std::string(nameWidth - statement.name.text.size(), ' ');
  }
  llvm::SmallVector<Piece> pieces;
  appendPieces(statement.value, pieces);
  for (const Rename &rename : statement.renames) {
    bool isFirst = &rename == &statement.renames.front();
    pieces.push_back({((isFirst ? "with " : "") + rename.from.text + " as " + rename.to.text +
                       (&rename == &statement.renames.back() ? "" : ","))
                          .str(),
                      true, 0u});
  }
  if (statement.condition) {
    pieces.push_back({"where", true, 0u});
    size_t first = pieces.size();
    appendPieces(statement.condition, pieces);
    pieces[first].spaceBefore = true;
  }
  for (std::string &text : layOut(head + " = ", pieces))
    line(text);
  trailingComment(statement.range.End.getPointer());
}

std::optional<std::string> attn::language::formatSpec(llvm::SourceMgr &sources) {
  Diagnostics diagnostics(sources);
  StringRef source = sources.getMemoryBuffer(sources.getMainFileID())->getBuffer();
  File file = parseFile(source, diagnostics);
  if (diagnostics.hasErrors())
    return std::nullopt;
  return Formatter(file, source).run();
}
