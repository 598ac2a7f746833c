// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/ptx/Type.h"
#include <iterator>

namespace attn::ptx {

namespace {
struct Row {
  llvm::StringLiteral name;
  unsigned bytes;
};
/// In the order of the enumeration.
constexpr Row kTypes[] = {
    {"", 0},    {"pred", 1}, {"b8", 1},  {"b16", 2}, {"b32", 4},   {"b64", 8},    {"u8", 1},
    {"u16", 2}, {"u32", 4},  {"u64", 8}, {"s8", 1},  {"s16", 2},   {"s32", 4},    {"s64", 8},
    {"f16", 2}, {"bf16", 2}, {"f32", 4}, {"f64", 8}, {"f16x2", 4}, {"bf16x2", 4}, {"tf32", 4},
};
} // namespace

Type typeNamed(llvm::StringRef name) {
  for (unsigned i = 1; i < std::size(kTypes); ++i)
    if (kTypes[i].name == name)
      return static_cast<Type>(i);
  return Type::None;
}

llvm::StringRef typeName(Type type) { return kTypes[static_cast<unsigned>(type)].name; }
unsigned typeBytes(Type type) { return kTypes[static_cast<unsigned>(type)].bytes; }

llvm::StringRef spaceName(Space space) {
  constexpr llvm::StringLiteral names[] = {"generic", "register", "global", "shared", "local", "const", "param"};
  return names[static_cast<unsigned>(space)];
}

} // namespace attn::ptx
