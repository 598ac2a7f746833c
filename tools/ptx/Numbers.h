// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Binary floats of PTX as doubles: every f16, bf16, tf32 and f32 is one exactly.
#ifndef ATTN_TOOLS_PTX_NUMBERS_H
#define ATTN_TOOLS_PTX_NUMBERS_H

#include "tools/ptx/Type.h"
#include <cmath>
#include <cstring>

namespace attn::ptx {

/// .rn, .rz, .rm, .rp, .rna; on integers .rni, .rzi, .rmi, .rpi.
enum class Rounding : uint8_t { Nearest, Zero, Down, Up, Away };

/// Bits of the low bytes of a register as a C++ value, and back with zeros above.
template <typename T>
inline T fromBits(uint64_t bits) {
  T value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}
template <typename T>
inline uint64_t toBits(T value) {
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  return bits;
}

/// The value of bits of an f16, bf16, tf32, f32 or f64.
double decodeFloat(Type type, uint64_t bits);
float halfToFloat(uint16_t bits);
inline float bfloatToFloat(uint16_t bits) { return fromBits<float>(uint64_t(bits) << 16); }

/// `value` rounded to `type`, as bits. NaN is the canonical one, which in PTX has all but the sign set.
uint64_t encodeFloat(Type type, double value, Rounding rounding = Rounding::Nearest);

/// `value` rounded to a whole number.
double roundToInteger(double value, Rounding rounding);

/// A result with its last bit set if it isn't exact, so that rounding it again to a type of at most 51 bits rounds only
/// once.
double addToOdd(double a, double b);
double divideToOdd(double a, double b);
double rootToOdd(double a);

} // namespace attn::ptx

#endif
