// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Fundamental types and state spaces of PTX.
#ifndef ATTN_TOOLS_PTX_TYPE_H
#define ATTN_TOOLS_PTX_TYPE_H

#include "llvm/ADT/StringRef.h"
#include <cstdint>

namespace attn::ptx {

enum class Type : uint8_t {
  None,
  Pred,
  B8,
  B16,
  B32,
  B64,
  U8,
  U16,
  U32,
  U64,
  S8,
  S16,
  S32,
  S64,
  F16,
  BF16,
  F32,
  F64,
  F16x2,
  BF16x2,
  TF32,
};

/// By its name without the dot; None when it isn't a type.
Type typeNamed(llvm::StringRef name);
llvm::StringRef typeName(Type type);
/// What an element takes in memory. A predicate takes 1.
unsigned typeBytes(Type type);

inline bool isSigned(Type type) { return type >= Type::S8 && type <= Type::S64; }
inline bool isUnsigned(Type type) { return type >= Type::U8 && type <= Type::U64; }
inline bool isBits(Type type) { return type >= Type::B8 && type <= Type::B64; }
inline bool isFloat(Type type) { return type >= Type::F16; }
/// Two 16-bit floats in one register.
inline bool isPacked(Type type) { return type == Type::F16x2 || type == Type::BF16x2; }

/// Where a variable lives. `Param` is what a kernel is given; a function's own .param variables are Local.
enum class Space : uint8_t { Generic, Register, Global, Shared, Local, Const, Param };
llvm::StringRef spaceName(Space space);

} // namespace attn::ptx

#endif
