//===- Session.cpp - what each subcommand starts with ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/attnc/Session.h"

#include "tools/attnc/Options.h"
#include "llvm/Support/FileSystem.h"

using namespace attnc;

static llvm::cl::opt<std::string> route(
    "route", llvm::cl::desc("Who generates the code of attentions and products: mlir, halide, or auto, what measured faster (default)"),
    llvm::cl::value_desc("name"), llvm::cl::sub(compileCommand()), llvm::cl::sub(runCommand()),
    llvm::cl::sub(checkCommand()), llvm::cl::sub(inspectCommand()), llvm::cl::sub(benchCommand()));

std::optional<Session> attnc::loadSpec() {
  auto options = driverOptions();
  if (!options) {
    printError(options.takeError());
    return std::nullopt;
  }
  if (!llvm::sys::fs::is_regular_file(specPath)) {
    printError(specPath + (llvm::sys::fs::exists(specPath) ? " is not a file" : " does not exist"));
    return std::nullopt;
  }
  Session session;
  session.driver = std::make_unique<attn::Driver>(std::move(*options));
  auto module = session.driver->load(specPath);
  if (failed(module))
    return std::nullopt;
  session.module = std::move(*module);
  if (route.getNumOccurrences()) // It travels with the program, through every stage.
    (*session.module)->setAttr("attn.route", mlir::StringAttr::get(session.module->getContext(), route));
  return session;
}
