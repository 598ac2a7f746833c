//===- Words.h - functions of the language, and likely misspellings -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The table of built-in functions with what each takes, and the search for the nearest name.
//===----------------------------------------------------------------------===//
#ifndef ATTN_COMPILER_FRONTEND_WORDS_H
#define ATTN_COMPILER_FRONTEND_WORDS_H

#include "compiler/frontend/Program.h"

namespace attn::language {

struct Builtin {
  enum class Group { Elementwise, Random, Select, Reduction, Normaliser, Dot, Project, Rope, Append };
  llvm::StringRef name;
  Group group;
  Function function;
  unsigned minArgs, maxArgs;
  /// The options that it takes, separated by spaces.
  llvm::StringRef options;
};

/// Null when no function of the language has the name.
const Builtin *findBuiltin(llvm::StringRef name);
void visitBuiltins(llvm::function_ref<void(llvm::StringRef)> visit);

/// Collects candidates and keeps the one nearest to a misspelled word.
class NearestWord {
public:
  explicit NearestWord(llvm::StringRef wrong);
  void offer(llvm::StringRef candidate);
  /// `; did you mean `x`?`, or nothing.
  std::string question() const;

private:
  llvm::StringRef wrong;
  std::string best;
  unsigned distance;
};

} // namespace attn::language

#endif // ATTN_COMPILER_FRONTEND_WORDS_H
