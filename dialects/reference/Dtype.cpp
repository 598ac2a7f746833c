// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Widening and rounding of single elements. Written from the formats'
// definitions, not from any library, so that tests can hold it against APFloat.
#include "dialects/reference/Dtype.h"
#include <cmath>
#include <cstring>
#include <limits>

namespace attn::reference {

namespace {
struct Row {
  Dtype dtype;
  llvm::StringLiteral name;
  int64_t size;
};
constexpr Row kRows[] = {
    {Dtype::F32, "f32", 4},       {Dtype::F16, "f16", 2},
    {Dtype::BF16, "bf16", 2},     {Dtype::F8E4M3, "f8e4m3", 1},
    {Dtype::F8E5M2, "f8e5m2", 1}, {Dtype::I8, "i8", 1},
    {Dtype::U8, "u8", 1},         {Dtype::I32, "i32", 4},
    {Dtype::I64, "i64", 8},       {Dtype::Bool, "bool", 1},
};
constexpr Dtype kAll[] = {Dtype::F32,    Dtype::F16, Dtype::BF16, Dtype::F8E4M3,
                          Dtype::F8E5M2, Dtype::I8,  Dtype::U8,   Dtype::I32,
                          Dtype::I64,    Dtype::Bool};

const Row &row(Dtype dtype) { return kRows[static_cast<int>(dtype)]; }

template <typename T>
T read(const uint8_t *bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(T));
  return value;
}
template <typename T>
void write(T value, uint8_t *bytes) {
  std::memcpy(bytes, &value, sizeof(T));
}

int exponentBits(Dtype dtype) {
  switch (dtype) {
  case Dtype::F16:
  case Dtype::F8E5M2:
    return 5;
  case Dtype::F8E4M3:
    return 4;
  default:
    return 8;
  }
}

/// e4m3 spends its top exponent on numbers: only all ones is NaN, and there is
/// no infinity. The others follow IEEE.
bool hasInfinity(Dtype dtype) { return dtype != Dtype::F8E4M3; }

double decode(uint32_t bits, Dtype dtype) {
  FloatFormat format = floatFormat(dtype);
  int exponents = exponentBits(dtype), mantissas = format.mantissaBits;
  uint32_t mantissa = bits & ((1u << mantissas) - 1);
  uint32_t exponent = (bits >> mantissas) & ((1u << exponents) - 1);
  double sign = (bits >> (mantissas + exponents)) & 1 ? -1.0 : 1.0;
  uint32_t top = (1u << exponents) - 1;
  if (exponent == top) {
    if (hasInfinity(dtype))
      return mantissa ? std::numeric_limits<double>::quiet_NaN()
                      : sign * std::numeric_limits<double>::infinity();
    if (mantissa == (1u << mantissas) - 1)
      return std::numeric_limits<double>::quiet_NaN();
  }
  if (exponent == 0)
    return sign * std::ldexp(mantissa, format.minExponent - mantissas);
  return sign * std::ldexp(mantissa + (1u << mantissas),
                           static_cast<int>(exponent) - 1 + format.minExponent -
                               mantissas);
}

/// The bits of a value that `dtype` holds exactly.
uint32_t encode(double value, Dtype dtype) {
  FloatFormat format = floatFormat(dtype);
  int exponents = exponentBits(dtype), mantissas = format.mantissaBits;
  uint32_t sign = std::signbit(value) ? 1u << (mantissas + exponents) : 0;
  uint32_t top = (1u << exponents) - 1;
  if (std::isnan(value))
    return sign | (top << mantissas) |
           (hasInfinity(dtype) ? 1u << (mantissas - 1) : (1u << mantissas) - 1);
  double magnitude = std::fabs(value);
  if (std::isinf(magnitude))
    return sign | (top << mantissas);
  if (magnitude == 0)
    return sign;
  int exponent = std::max(std::ilogb(magnitude), format.minExponent);
  auto units =
      static_cast<uint32_t>(std::ldexp(magnitude, mantissas - exponent));
  // A denormal has units below 2^mantissas and the stored exponent 0.
  if (units < (1u << mantissas))
    return sign | units;
  return sign |
         (static_cast<uint32_t>(exponent - format.minExponent) << mantissas) +
             units;
}
} // namespace

llvm::ArrayRef<Dtype> allDtypes() { return kAll; }
llvm::StringRef dtypeName(Dtype dtype) { return row(dtype).name; }
int64_t dtypeSize(Dtype dtype) { return row(dtype).size; }

std::optional<Dtype> parseDtype(llvm::StringRef name) {
  for (const Row &row : kRows)
    if (row.name == name)
      return row.dtype;
  return std::nullopt;
}

bool isFloat(Dtype dtype) { return dtype <= Dtype::F8E5M2; }
bool isInteger(Dtype dtype) { return !isFloat(dtype) && dtype != Dtype::Bool; }

FloatFormat floatFormat(Dtype dtype) {
  switch (dtype) {
  case Dtype::F16:
    return {10, -14, 65504.0, true};
  case Dtype::BF16:
    return {7, -126, std::ldexp(255.0, 120), true};
  case Dtype::F8E4M3:
    return {3, -6, 448.0, false};
  case Dtype::F8E5M2:
    return {2, -14, 57344.0, false};
  default:
    return {23, -126, std::numeric_limits<float>::max(), true};
  }
}

int64_t integerMinimum(Dtype dtype) {
  switch (dtype) {
  case Dtype::I8:
    return std::numeric_limits<int8_t>::min();
  case Dtype::I32:
    return std::numeric_limits<int32_t>::min();
  case Dtype::I64:
    return std::numeric_limits<int64_t>::min();
  default:
    return 0;
  }
}

int64_t integerMaximum(Dtype dtype) {
  switch (dtype) {
  case Dtype::I8:
    return std::numeric_limits<int8_t>::max();
  case Dtype::U8:
    return std::numeric_limits<uint8_t>::max();
  case Dtype::I32:
    return std::numeric_limits<int32_t>::max();
  case Dtype::I64:
    return std::numeric_limits<int64_t>::max();
  default:
    return 1;
  }
}

static double roundToFloat(double value, Dtype dtype) {
  FloatFormat format = floatFormat(dtype);
  if (std::isnan(value) || value == 0)
    return value;
  double limit = format.overflowsToInfinity
                     ? std::numeric_limits<double>::infinity()
                     : format.largest;
  if (std::isinf(value))
    return std::copysign(limit, value);
  int exponent = std::max(std::ilogb(value), format.minExponent);
  // Scaling by a power of two is exact here, so the only rounding is
  // nearbyint's.
  double rounded = std::ldexp(
      std::nearbyint(std::ldexp(value, format.mantissaBits - exponent)),
      exponent - format.mantissaBits);
  return std::fabs(rounded) > format.largest ? std::copysign(limit, value)
                                             : rounded;
}

/// Doubles can't hold the largest i64, so the limits are tested before the
/// cast.
static int64_t roundToInteger(double value, Dtype dtype) {
  if (std::isnan(value))
    return 0;
  double whole = std::nearbyint(value);
  if (whole <= static_cast<double>(integerMinimum(dtype)))
    return integerMinimum(dtype);
  if (whole >= static_cast<double>(integerMaximum(dtype)))
    return integerMaximum(dtype);
  return static_cast<int64_t>(whole);
}

double roundTo(double value, Dtype dtype) {
  if (dtype == Dtype::Bool)
    return value != 0;
  if (isFloat(dtype))
    return roundToFloat(value, dtype);
  return static_cast<double>(roundToInteger(value, dtype));
}

int64_t saturate(int64_t value, Dtype dtype) {
  return std::min(std::max(value, integerMinimum(dtype)),
                  integerMaximum(dtype));
}

double loadDouble(Dtype dtype, const uint8_t *bytes) {
  switch (dtype) {
  case Dtype::F32:
    return read<float>(bytes);
  case Dtype::F16:
  case Dtype::BF16:
    return decode(read<uint16_t>(bytes), dtype);
  case Dtype::F8E4M3:
  case Dtype::F8E5M2:
    return decode(*bytes, dtype);
  default:
    return static_cast<double>(loadInteger(dtype, bytes));
  }
}

int64_t loadInteger(Dtype dtype, const uint8_t *bytes) {
  switch (dtype) {
  case Dtype::I8:
    return read<int8_t>(bytes);
  case Dtype::U8:
    return *bytes;
  case Dtype::I32:
    return read<int32_t>(bytes);
  case Dtype::I64:
    return read<int64_t>(bytes);
  case Dtype::Bool:
    return *bytes != 0;
  default:
    return roundToInteger(loadDouble(dtype, bytes), Dtype::I64);
  }
}

void storeDouble(Dtype dtype, double value, uint8_t *bytes) {
  switch (dtype) {
  case Dtype::F32:
    return write(static_cast<float>(roundToFloat(value, dtype)), bytes);
  case Dtype::F16:
  case Dtype::BF16:
    return write(
        static_cast<uint16_t>(encode(roundToFloat(value, dtype), dtype)),
        bytes);
  case Dtype::F8E4M3:
  case Dtype::F8E5M2:
    *bytes = static_cast<uint8_t>(encode(roundToFloat(value, dtype), dtype));
    return;
  case Dtype::Bool:
    *bytes = value != 0;
    return;
  default:
    return storeInteger(dtype, roundToInteger(value, dtype), bytes);
  }
}

void storeInteger(Dtype dtype, int64_t value, uint8_t *bytes) {
  switch (dtype) {
  case Dtype::I8:
  case Dtype::U8:
    *bytes = static_cast<uint8_t>(saturate(value, dtype));
    return;
  case Dtype::I32:
    return write(static_cast<int32_t>(saturate(value, dtype)), bytes);
  case Dtype::I64:
    return write(value, bytes);
  case Dtype::Bool:
    *bytes = value != 0;
    return;
  default:
    return storeDouble(dtype, static_cast<double>(value), bytes);
  }
}

} // namespace attn::reference
