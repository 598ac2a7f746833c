//===- Session.h - what each subcommand starts with -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The spec of the command line as a module, and what the interpreter says about it.
//===----------------------------------------------------------------------===//
#ifndef ATTN_TOOLS_ATTNC_SESSION_H
#define ATTN_TOOLS_ATTNC_SESSION_H

#include "compiler/Driver.h"
#include "dialects/attn/Attn.h"
#include "dialects/reference/Result.h"
#include <optional>

namespace attnc {

struct Session {
  std::unique_ptr<attn::Driver> driver;
  /// At the first stage.
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

/// The spec that the command line names; nothing after a diagnostic.
std::optional<Session> loadSpec();

/// Which part of its elements a condition of a program keeps.
llvm::Expected<double> densityOf(const attn::Signature &signature, const attn::reference::Buffers &inputs,
                                 mlir::Value condition);

} // namespace attnc

#endif // ATTN_TOOLS_ATTNC_SESSION_H
