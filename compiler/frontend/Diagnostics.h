//===- Diagnostics.h - messages about a spec --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Errors, warnings and notes at places of the source text, printed through the SourceMgr.
// Knows nothing of the language.
//===----------------------------------------------------------------------===//
#ifndef ATTN_COMPILER_FRONTEND_DIAGNOSTICS_H
#define ATTN_COMPILER_FRONTEND_DIAGNOSTICS_H

#include "llvm/ADT/Twine.h"
#include "llvm/Support/SMLoc.h"
#include "llvm/Support/SourceMgr.h"
#include <set>
#include <string>
#include <vector>

namespace attn::language {

/// A stretch of source text. Text in the body of a `def` also knows the outermost use of
/// that def: a message stands at the use, with a note at the text itself.
struct Place {
  llvm::SMRange text;
  llvm::SMRange use;
  std::string inlined;

  Place() = default;
  Place(llvm::SMRange text) : text(text) {}
  llvm::SMRange reported() const { return use.isValid() ? use : text; }
};

class Diagnostics {
public:
  struct Note {
    llvm::SMRange where;
    std::string text;
  };

  /// Tells whether errors were reported since it was made.
  class Watch {
  public:
    explicit Watch(const Diagnostics &diagnostics) : diagnostics(diagnostics), before(diagnostics.errors) {}
    bool sawErrors() const { return diagnostics.errors != before; }

  private:
    const Diagnostics &diagnostics;
    unsigned before;
  };

  explicit Diagnostics(llvm::SourceMgr &sources) : sources(sources) {}

  void error(const Place &place, const llvm::Twine &message, const std::vector<Note> &notes = {});
  void warning(const Place &place, const llvm::Twine &message, const std::vector<Note> &notes = {});
  /// About the file as a whole, or about what the command line says of it.
  void errorInFile(const llvm::Twine &message);
  bool hasErrors() const { return errors != 0; }
  llvm::SourceMgr &getSources() { return sources; }

private:
  void print(llvm::SourceMgr::DiagKind kind, const Place &place, const llvm::Twine &message,
             const std::vector<Note> &notes);
  void show(llvm::SourceMgr::DiagKind kind, llvm::SMRange where, const llvm::Twine &message);

  llvm::SourceMgr &sources;
  unsigned errors = 0;
  /// The body of a def may be checked many times; each mistake in it is told once per use.
  std::set<std::pair<const char *, std::string>> told;
};

} // namespace attn::language

#endif // ATTN_COMPILER_FRONTEND_DIAGNOSTICS_H
