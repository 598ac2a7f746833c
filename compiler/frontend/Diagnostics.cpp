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
  sources.PrintMessage(where.Start, kind, message, where);
  if (place.use.isValid())
    sources.PrintMessage(place.text.Start, SourceMgr::DK_Note, "here, in `" + place.inlined + "`", place.text);
  for (const Note &note : notes)
    sources.PrintMessage(note.where.Start, SourceMgr::DK_Note, note.text, note.where);
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
