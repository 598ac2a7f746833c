//===- Loader.h - kernels of an object in this process ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Links the bytes of an object file into this process, as a program that links the file would, and calls kernels
// with arguments that are known only now. It knows the C interface, and nothing of how the object was made.
//===----------------------------------------------------------------------===//
#ifndef ATTN_COMPILER_LOADER_H
#define ATTN_COMPILER_LOADER_H

#include "attn/runtime.h"
#include "dialects/attn/Attn.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"
#include <memory>

namespace llvm::orc {
class LLJIT;
}

namespace attn {

class LoadedObject {
public:
  static llvm::Expected<std::unique_ptr<LoadedObject>> load(std::unique_ptr<llvm::MemoryBuffer> object);
  ~LoadedObject();

  /// One kernel, called through pointers: `arguments[i]` points to a DLTensor, or to the value of a scalar.
  struct Kernel {
    attn_status (*call)(attn_context *context, const void *const *arguments);
    attn_status (*workspace)(attn_context *context, const void *const *arguments, size_t *bytes);
  };
  llvm::Expected<Kernel> find(const Signature &signature);

private:
  explicit LoadedObject(std::unique_ptr<llvm::orc::LLJIT> jit);
  std::unique_ptr<llvm::orc::LLJIT> jit;
  llvm::StringMap<Kernel> found;
};

} // namespace attn

#endif // ATTN_COMPILER_LOADER_H
