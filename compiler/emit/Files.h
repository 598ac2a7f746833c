//===- Files.h - libraries and dependency files -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Makes files out of an object's bytes. It knows nothing of what the object holds.
//===----------------------------------------------------------------------===//
#ifndef ATTN_COMPILER_EMIT_FILES_H
#define ATTN_COMPILER_EMIT_FILES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/TargetParser/Triple.h"

namespace attn {

/// Writes the whole file or leaves the old one: builds may be interrupted, and run side by side.
llvm::Error writeFile(llvm::StringRef path, llvm::StringRef bytes);

/// A static library with the object as its one member.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> makeArchive(llvm::MemoryBufferRef object, llvm::StringRef member);

/// Links the object into the shared library `path`, whose soname is its file name, by lld or the system's linker.
llvm::Error linkSharedLibrary(llvm::MemoryBufferRef object, const llvm::Triple &triple, llvm::StringRef path);

/// A rule for make and ninja: `outputs: inputs`.
std::string makeDependencyRule(llvm::ArrayRef<std::string> outputs, llvm::ArrayRef<std::string> inputs);

} // namespace attn

#endif // ATTN_COMPILER_EMIT_FILES_H
