//===- Interpret.cpp - attnc interpret ------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/reference/Interpreter.h"
#include "tools/attnc/Arguments.h"
#include "tools/attnc/Options.h"
#include "tools/attnc/Session.h"

using namespace attnc;

static llvm::Error interpret(mlir::ModuleOp module) {
  auto program = onlyProgram(module);
  if (!program)
    return program.takeError();
  auto inputs = gatherInputs(*program);
  if (!inputs)
    return inputs.takeError();
  auto results = attn::reference::interpret(program->body->getParentOp(), *inputs);
  if (!results)
    return results.takeError();
  attn::reference::Buffers rounded;
  for (auto &[name, result] : *results)
    rounded[name] = std::move(result.rounded);
  return writeResults(rounded);
}

int attnc::runInterpret() {
  auto session = loadSpec();
  if (!session)
    return failure;
  if (llvm::Error error = interpret(*session->module)) {
    printError(std::move(error));
    return failure;
  }
  return success;
}
