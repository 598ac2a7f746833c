//===- Memory.h - what a kernel needs memory for ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ATTN_TOOLS_ATTNC_MEMORY_H
#define ATTN_TOOLS_ATTNC_MEMORY_H

#include "tools/attnc/Session.h"

namespace attnc {

/// Prints, for each kernel at the extents of --set, the elements of its caches and the bytes of its workspace.
llvm::Error printMemory(Session &session);

} // namespace attnc

#endif // ATTN_TOOLS_ATTNC_MEMORY_H
