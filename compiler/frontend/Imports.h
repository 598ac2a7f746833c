//===- Imports.h - a spec and the files that it imports ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds and parses imported files. Each file is read once, however often it is imported, and
// becomes a buffer of the SourceMgr that knows where it was imported first.
//===----------------------------------------------------------------------===//
#ifndef ATTN_COMPILER_FRONTEND_IMPORTS_H
#define ATTN_COMPILER_FRONTEND_IMPORTS_H

#include "compiler/frontend/Ast.h"

namespace attn::language {

/// The files of a spec: each behind those that it imports, so the main file is the last one.
struct SpecFiles {
  std::vector<std::unique_ptr<ast::File>> files;

  const ast::File &main() const { return *files.back(); }
  std::vector<const ast::File *> pointers() const;
};

/// Parses the main buffer of the diagnostics' SourceMgr and all that it imports. Imports are looked
/// for in the folder of the importing file, and then in `folders`, in order.
SpecFiles parseWithImports(llvm::ArrayRef<std::string> folders, Diagnostics &diagnostics);

} // namespace attn::language

#endif // ATTN_COMPILER_FRONTEND_IMPORTS_H
