//===- Format.cpp - attnc format ------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/frontend/Format.h"
#include "compiler/emit/Files.h"
#include "tools/attnc/Options.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"

namespace cl = llvm::cl;
using namespace attnc;

static cl::opt<bool> inPlace("i", cl::desc("Write the file instead of printing"), cl::sub(formatCommand()));

int attnc::runFormat() {
  if (specPath.empty()) {
    printError("no spec is given: write the path of an .attn file");
    return couldNotRun;
  }
  auto text = llvm::MemoryBuffer::getFileOrSTDIN(specPath, /*IsText=*/true);
  if (!text) {
    printError(specPath + ": " + text.getError().message());
    return couldNotRun;
  }
  std::string before = (*text)->getBuffer().str();
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(*text), llvm::SMLoc());
  std::optional<std::string> formatted = attn::language::formatSpec(sources);
  if (!formatted)
    return failure;
  if (!inPlace || specPath == "-") {
    llvm::outs() << *formatted;
    return success;
  }
  if (*formatted == before)
    return success;
  if (llvm::Error error = attn::writeFile(specPath, *formatted)) {
    printError(std::move(error));
    return couldNotRun;
  }
  return success;
}
