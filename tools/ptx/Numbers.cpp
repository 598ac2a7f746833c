// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/ptx/Numbers.h"
#include <array>

namespace attn::ptx {

namespace {
struct Format {
  int mantissa, least, greatest;
  uint64_t nan;
  /// Zero bits below the mantissa.
  int shift;
};

constexpr Format formatOf(Type type) {
  switch (type) {
  case Type::F16:
    return {10, -14, 15, 0x7fff, 0};
  case Type::BF16:
    return {7, -126, 127, 0x7fff, 0};
  case Type::TF32:
    return {10, -126, 127, 0x7fffffff, 13};
  default:
    return {23, -126, 127, 0x7fffffff, 0};
  }
}

/// Of a value that isn't an f64.
double decode(const Format &format, uint64_t bits) {
  bits >>= format.shift;
  int exponentBits = format.greatest == 15 ? 5 : 8;
  uint64_t fraction = bits & ((1ull << format.mantissa) - 1);
  int exponent = (bits >> format.mantissa) & ((1 << exponentBits) - 1);
  bool negative = bits >> (format.mantissa + exponentBits) & 1;
  double value;
  if (exponent == (1 << exponentBits) - 1)
    value = fraction ? std::nan("") : INFINITY;
  else if (exponent == 0)
    value = std::ldexp(double(fraction), format.least - format.mantissa);
  else
    value = std::ldexp(double(fraction + (1ull << format.mantissa)), exponent - 1 + format.least - format.mantissa);
  return negative ? -value : value;
}

/// `value` one step towards `direction`'s sign if its last bit is even: it isn't exact.
double stickTo(double value, double error) {
  if (error == 0 || !std::isfinite(value) || value == 0)
    return value;
  uint64_t bits = toBits(value);
  if (bits & 1)
    return value;
  return fromBits<double>((error > 0) == (value > 0) ? bits + 1 : bits - 1);
}
} // namespace

float halfToFloat(uint16_t bits) {
  static const std::array<float, 65536> table = [] {
    std::array<float, 65536> table;
    for (unsigned i = 0; i < table.size(); ++i)
      table[i] = float(decode(formatOf(Type::F16), i));
    return table;
  }();
  return table[bits];
}

double decodeFloat(Type type, uint64_t bits) {
  switch (type) {
  case Type::F64:
    return fromBits<double>(bits);
  case Type::F32:
    return fromBits<float>(bits);
  case Type::TF32:
    return fromBits<float>(bits & ~0x1fffull);
  case Type::BF16:
    return bfloatToFloat(uint16_t(bits));
  default:
    return halfToFloat(uint16_t(bits));
  }
}

double roundToInteger(double value, Rounding rounding) {
  switch (rounding) {
  case Rounding::Nearest: {
    double below = std::floor(value), rest = value - below;
    bool up = rest > 0.5 || (rest == 0.5 && std::fmod(below, 2) != 0);
    return std::copysign(up ? below + 1 : below, value);
  }
  case Rounding::Zero:
    return std::trunc(value);
  case Rounding::Down:
    return std::floor(value);
  case Rounding::Up:
    return std::ceil(value);
  case Rounding::Away:
    return std::round(value);
  }
  return value;
}

uint64_t encodeFloat(Type type, double value, Rounding rounding) {
  if (type == Type::F64)
    return toBits(value);
  Format format = formatOf(type);
  if (std::isnan(value))
    return format.nan;
  if (type == Type::F32 && rounding == Rounding::Nearest)
    return toBits(float(value));
  int exponentBits = format.greatest == 15 ? 5 : 8;
  uint64_t sign = std::signbit(value) ? 1ull << (format.mantissa + exponentBits) : 0;
  uint64_t infinity = ((1ull << exponentBits) - 1) << format.mantissa;
  double magnitude = std::fabs(value);
  if (magnitude == 0 || std::isinf(magnitude))
    return (sign | (magnitude == 0 ? 0 : infinity)) << format.shift;
  if (sign && rounding >= Rounding::Down && rounding <= Rounding::Up)
    rounding = rounding == Rounding::Down ? Rounding::Up : Rounding::Down;
  int exponent = std::max(std::ilogb(magnitude), format.least);
  double whole = roundToInteger(std::ldexp(magnitude, format.mantissa - exponent), rounding);
  // A carry out of the mantissa lands in the exponent; without the hidden bit the number is subnormal.
  uint64_t bits = (uint64_t(exponent - format.least) << format.mantissa) + uint64_t(whole);
  if (exponent > format.greatest || bits >= infinity)
    bits = rounding == Rounding::Zero || rounding == Rounding::Down ? infinity - 1 : infinity;
  return (sign | bits) << format.shift;
}

double addToOdd(double a, double b) {
  double sum = a + b;
  if (!std::isfinite(sum))
    return sum;
  double part = sum - a;
  return stickTo(sum, (a - (sum - part)) + (b - part));
}

double divideToOdd(double a, double b) {
  double quotient = a / b;
  if (!std::isfinite(quotient) || quotient == 0 || std::isinf(b))
    return quotient;
  double rest = std::fma(-quotient, b, a);
  return stickTo(quotient, b > 0 ? rest : -rest);
}

double rootToOdd(double a) {
  double root = std::sqrt(a);
  return a > 0 && std::isfinite(root) ? stickTo(root, std::fma(-root, root, a)) : root;
}

} // namespace attn::ptx
