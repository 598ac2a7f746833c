//===- Source.h - a spec in a test ------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Holds a text with its SourceMgr and collects the messages about it.
//===----------------------------------------------------------------------===//
#ifndef ATTN_TEST_UNIT_FRONTEND_SOURCE_H
#define ATTN_TEST_UNIT_FRONTEND_SOURCE_H

#include "compiler/frontend/Parser.h"
#include "compiler/frontend/Sema.h"
#include "llvm/Support/MemoryBuffer.h"

struct Source {
  explicit Source(llvm::StringRef text) : diagnostics(sources) {
    sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(text, "spec.attn"), {});
    sources.setDiagHandler(
        [](const llvm::SMDiagnostic &message, void *self) {
          static_cast<Source *>(self)->messages.push_back(message.getMessage().str());
        },
        this);
  }
  llvm::StringRef text() { return sources.getMemoryBuffer(1)->getBuffer(); }

  /// The typed program of the only attention; null when it is refused.
  attn::language::Program *check(const attn::language::FixedExtents &fixed = {}) {
    file = attn::language::parseFile(text(), diagnostics);
    if (diagnostics.hasErrors())
      return nullptr;
    defs = attn::language::collectDefs(&file, diagnostics);
    for (const attn::language::ast::Item &item : file.items)
      if (item.attention)
        program = attn::language::checkAttention(*item.attention, defs, fixed, diagnostics);
    return program.get();
  }

  /// The extents in the order in which they are computed: `D=64 S=x.1`, then the checks.
  std::string extents() const {
    std::string text;
    for (unsigned number : program->axisOrder) {
      const attn::language::Axis &axis = program->axes[number];
      text += axis.name + "=" + (axis.extent ? program->describe(*axis.extent) : "ragged") + "; ";
    }
    for (const attn::language::AxisFact &fact : program->checks)
      text += "check " + program->axisName(fact.axis) + "=" + program->describe(fact.extent) + "; ";
    return text;
  }

  llvm::SourceMgr sources;
  attn::language::Diagnostics diagnostics;
  std::vector<std::string> messages;
  attn::language::ast::File file;
  attn::language::DefTable defs;
  std::unique_ptr<attn::language::Program> program;
};

#endif // ATTN_TEST_UNIT_FRONTEND_SOURCE_H
