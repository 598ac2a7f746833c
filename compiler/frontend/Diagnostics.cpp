//===- Diagnostics.cpp - messages about a spec ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/frontend/Diagnostics.h"
#include "llvm/Support/raw_ostream.h"

using namespace attn::language;
using llvm::SourceMgr;

/// Behind this many errors, a file is more likely no spec at all.
static constexpr unsigned maxErrors = 20;

void Diagnostics::print(SourceMgr::DiagKind kind, const Place &place, const llvm::Twine &message,
                        const std::vector<Note> &notes) {
  llvm::SMRange where = place.reported();
  show(kind, where, message);
  if (place.use.isValid())
    show(SourceMgr::DK_Note, place.text, "here, in `" + place.inlined + "`");
  for (const Note &note : notes)
    show(SourceMgr::DK_Note, note.where, note.text);
  auto importOf = [&](llvm::SMLoc loc) {
    return loc.isValid() ? sources.getParentIncludeLoc(sources.FindBufferContainingLoc(loc)) : llvm::SMLoc();
  };
  for (llvm::SMLoc import = importOf(where.Start); import.isValid(); import = importOf(import))
    show(SourceMgr::DK_Note, {import, import}, "in a file that is imported here");
}

void Diagnostics::show(SourceMgr::DiagKind kind, llvm::SMRange where, const llvm::Twine &message) {
  llvm::SMDiagnostic diagnostic = sources.GetMessage(where.Start, kind, message, where);
  // The SourceMgr would print the imports again in front of each note.
  if (sources.getDiagHandler())
    sources.PrintMessage(llvm::errs(), diagnostic);
  else
    diagnostic.print(/*ProgName=*/nullptr, llvm::errs());
}

void Diagnostics::error(const Place &place, const llvm::Twine &message, const std::vector<Note> &notes) {
  if (!told.insert({place.reported().Start.getPointer(), message.str()}).second)
    return;
  ++errors;
  if (errors <= maxErrors)
    print(SourceMgr::DK_Error, place, message, notes);
  else if (errors == maxErrors + 1)
    print(SourceMgr::DK_Error, place, "too many errors; what follows is not shown", {});
}

void Diagnostics::errorInFile(const llvm::Twine &message) {
  ++errors;
  llvm::StringRef file = sources.getMemoryBuffer(sources.getMainFileID())->getBufferIdentifier();
  std::string text = message.str();
  sources.PrintMessage(llvm::errs(), llvm::SMDiagnostic(file, SourceMgr::DK_Error, text));
}

void Diagnostics::warning(const Place &place, const llvm::Twine &message, const std::vector<Note> &notes) {
  print(SourceMgr::DK_Warning, place, message, notes);
}
