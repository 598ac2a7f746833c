//===- Names.h - what a kernel may be called --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel's name becomes a function of the program that links it. It knows C's names, and none of ours but `attn_`.
//===----------------------------------------------------------------------===//
#ifndef ATTN_COMPILER_EMIT_NAMES_H
#define ATTN_COMPILER_EMIT_NAMES_H

#include "llvm/ADT/StringRef.h"
#include <string>

namespace attn {

/// Words of C11 and of C++20, and the macros of the headers that ours includes.
bool isWordOfC(llvm::StringRef name);

/// Why no kernel may have this name, and what to do; empty when it may.
std::string whyNoSymbol(llvm::StringRef name);

} // namespace attn

#endif // ATTN_COMPILER_EMIT_NAMES_H
