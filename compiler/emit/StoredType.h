//===- StoredType.h - element types at the C interface ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How a stored element is called in a spec and in C, and DLPack's code for it. It knows no arguments.
//===----------------------------------------------------------------------===//
#ifndef ATTN_COMPILER_EMIT_STOREDTYPE_H
#define ATTN_COMPILER_EMIT_STOREDTYPE_H

#include "mlir/IR/Types.h"

namespace attn {

struct StoredType {
  /// The language's name.
  llvm::StringRef name;
  /// How C passes it by value. Floats narrower than 32 bits travel as their bits.
  llvm::StringRef cType;
  /// DLDataType's code and bits.
  int64_t code;
  int64_t bits;
};

/// Null for a type that no spec can store.
const StoredType *findStoredType(mlir::Type element);

} // namespace attn

#endif // ATTN_COMPILER_EMIT_STOREDTYPE_H
