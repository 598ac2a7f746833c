//===- Session.cpp - what each subcommand starts with ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/attnc/Session.h"

#include "tools/attnc/Options.h"
#include "llvm/Support/FileSystem.h"

using namespace attnc;

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
  return session;
}
