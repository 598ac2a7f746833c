// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Loops over lanes, for the files of instructions.
#ifndef ATTN_TOOLS_PTX_LANES_H
#define ATTN_TOOLS_PTX_LANES_H

#include "tools/ptx/Form.h"
#include "tools/ptx/Machine.h"
#include <type_traits>

namespace attn::ptx {

/// `f` with a zero of the C++ type that holds `type`, an integer; null for another.
template <typename F>
Handler byInteger(Type type, F f) {
  switch (type) {
  case Type::B8:
  case Type::U8:
    return f(uint8_t(0));
  case Type::B16:
  case Type::U16:
    return f(uint16_t(0));
  case Type::B32:
  case Type::U32:
    return f(uint32_t(0));
  case Type::B64:
  case Type::U64:
    return f(uint64_t(0));
  case Type::S8:
    return f(int8_t(0));
  case Type::S16:
    return f(int16_t(0));
  case Type::S32:
    return f(int32_t(0));
  case Type::S64:
    return f(int64_t(0));
  default:
    return nullptr;
  }
}

/// to[0] = Op::run(from[0], …), each of type T.
template <typename T, typename Op>
void unary(Warp &warp, const Instruction &in, uint32_t active) {
  uint64_t *d = warp.row(in.to[0]);
  const uint64_t *a = warp.row(in.from[0]);
  eachLane(active, [&](unsigned i) { d[i] = toBits(Op::template run<T>(fromBits<T>(a[i]))); });
}
template <typename T, typename Op>
void binary(Warp &warp, const Instruction &in, uint32_t active) {
  uint64_t *d = warp.row(in.to[0]);
  const uint64_t *a = warp.row(in.from[0]), *b = warp.row(in.from[1]);
  eachLane(active, [&](unsigned i) { d[i] = toBits(Op::template run<T>(fromBits<T>(a[i]), fromBits<T>(b[i]))); });
}
/// The operands are given as bits.
template <typename T, typename Op>
void ternary(Warp &warp, const Instruction &in, uint32_t active) {
  uint64_t *d = warp.row(in.to[0]);
  const uint64_t *a = warp.row(in.from[0]), *b = warp.row(in.from[1]), *c = warp.row(in.from[2]);
  eachLane(active, [&](unsigned i) { d[i] = toBits(Op::template run<T>(a[i], b[i], c[i])); });
}

template <typename Op>
Handler unaryOf(Type type) {
  return byInteger(type, [](auto zero) -> Handler { return unary<decltype(zero), Op>; });
}
template <typename Op>
Handler binaryOf(Type type) {
  return byInteger(type, [](auto zero) -> Handler { return binary<decltype(zero), Op>; });
}
template <typename Op>
Handler ternaryOf(Type type) {
  return byInteger(type, [](auto zero) -> Handler { return ternary<decltype(zero), Op>; });
}

/// `d, a, b, …`: one result and `sources` operands, all of `type`.
inline void takeOperands(Form &form, Type type, unsigned sources) {
  form.instruction.type = type;
  form.expected = sources + 1;
  form.dest(0);
  for (unsigned i = 1; i <= sources; ++i)
    form.source(i, type);
}

/// What `!p` says of the operand read last.
inline void takePredicate(Form &form, unsigned index) {
  form.source(index, Type::Pred);
  form.instruction.negated = form.operand(index).negated;
}

inline void setHandler(Form &form, Handler handler) {
  form.instruction.run = handler;
  if (!handler)
    form.fail("not for ." + typeName(form.instruction.type));
}

} // namespace attn::ptx

#endif
