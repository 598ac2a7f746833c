// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Floating-point arithmetic. It is computed in double: the exactly rounded operations through a double rounded to odd,
// so that the one rounding is that to the type; the approximate ones as the nearest value, which lies within every
// bound of the manual. Results that are NaN are the canonical NaN, but for f64.
#include "tools/ptx/Lanes.h"

namespace attn::ptx {

namespace {
template <Type type>
constexpr bool isWide = type == Type::F64;

template <Type type>
double add(double a, double b, double) {
  return isWide<type> ? a + b : addToOdd(a, b);
}
template <Type type>
double subtract(double a, double b, double) {
  return isWide<type> ? a - b : addToOdd(a, -b);
}
template <Type type>
double multiply(double a, double b, double) {
  return a * b;
}
template <Type type>
double fuse(double a, double b, double c) {
  return isWide<type> ? std::fma(a, b, c) : addToOdd(a * b, c);
}
template <Type type>
double divide(double a, double b, double) {
  return isWide<type> ? a / b : divideToOdd(a, b);
}
template <Type type>
double reciprocal(double a, double, double) {
  return divide<type>(1, a, 0);
}
template <Type type>
double root(double a, double, double) {
  return isWide<type> ? std::sqrt(a) : rootToOdd(a);
}
template <Type type>
double inverseRoot(double a, double, double) {
  return 1 / std::sqrt(a);
}
template <Type type>
double exponential(double a, double, double) {
  return std::exp2(a);
}
template <Type type>
double logarithm(double a, double, double) {
  return std::log2(a);
}
template <Type type>
double sine(double a, double, double) {
  return std::sin(a);
}
template <Type type>
double cosine(double a, double, double) {
  return std::cos(a);
}
template <Type type>
double hyperbolicTangent(double a, double, double) {
  return std::tanh(a);
}

/// One NaN gives the other operand. -0 lies below +0.
template <Type type>
double minimum(double a, double b, double) {
  if (a == b)
    return std::signbit(a) ? a : b;
  return std::isnan(b) || a < b ? a : b;
}
template <Type type>
double maximum(double a, double b, double) {
  if (a == b)
    return std::signbit(a) ? b : a;
  return std::isnan(b) || a > b ? a : b;
}
template <Type type>
double minimumOrNan(double a, double b, double) {
  return std::isnan(a) || std::isnan(b) ? std::nan("") : minimum<type>(a, b, 0);
}
template <Type type>
double maximumOrNan(double a, double b, double) {
  return std::isnan(a) || std::isnan(b) ? std::nan("") : maximum<type>(a, b, 0);
}

using Function = double (*)(double, double, double);

template <Type type>
double load(uint64_t bits, bool flush) {
  double value = decodeFloat(type, bits);
  return flush && type == Type::F32 && std::fabs(value) < 0x1p-126 ? std::copysign(0.0, value) : value;
}

template <Type type>
uint64_t store(double value, const Instruction &in) {
  if (in.saturate)
    value = value > 0 ? std::min(value, 1.0) : 0;
  if (in.relu && value < 0)
    value = 0;
  if (in.relu && std::isnan(value))
    return encodeFloat(type, value);
  uint64_t bits = encodeFloat(type, value, in.rounding);
  if (type == Type::F32 && in.flush && !(bits & 0x7f800000))
    bits &= 0x80000000;
  return bits;
}

/// One or two values of `type` in a register.
template <Type type, Function function, bool packed>
void run(Warp &warp, const Instruction &in, uint32_t active) {
  uint64_t *d = warp.row(in.to[0]);
  const uint64_t *a = warp.row(in.from[0]);
  const uint64_t *b = in.from.size() > 1 ? warp.row(in.from[1]) : a;
  const uint64_t *c = in.from.size() > 2 ? warp.row(in.from[2]) : a;
  eachLane(active, [&](unsigned i) {
    auto one = [&](unsigned shift) {
      return store<type>(function(load<type>(a[i] >> shift, in.flush), load<type>(b[i] >> shift, in.flush),
                                  load<type>(c[i] >> shift, in.flush)),
                         in);
    };
    d[i] = packed ? one(0) | one(16) << 16 : one(0);
  });
}

/// The sign bits alone. `detail`: what to clear; `count`: what to flip.
void changeSign(Warp &warp, const Instruction &in, uint32_t active) {
  uint64_t *d = warp.row(in.to[0]);
  const uint64_t *a = warp.row(in.from[0]);
  uint64_t sign = in.type == Type::F64   ? 1ull << 63
                  : in.type == Type::F32 ? 1u << 31
                  : isPacked(in.type)    ? 0x80008000
                                         : 0x8000;
  eachLane(active, [&](unsigned i) {
    uint64_t value = a[i];
    if (in.flush && in.type == Type::F32 && !(value & 0x7f800000))
      value &= 0x80000000;
    d[i] = in.detail ? value & ~sign : value ^ sign;
  });
}

/// d = the magnitude of b with the sign of a.
void copySign(Warp &warp, const Instruction &in, uint32_t active) {
  uint64_t sign = in.type == Type::F64 ? 1ull << 63 : 1u << 31;
  eachLane(active, [&](unsigned i) {
    warp.row(in.to[0])[i] = (warp.row(in.from[0])[i] & sign) | (warp.row(in.from[1])[i] & ~sign);
  });
}

#define ATTN_PTX_HANDLERS(function)                                                                                    \
  {                                                                                                                    \
    run<Type::F16, function<Type::F16>, false>, run<Type::BF16, function<Type::BF16>, false>,                          \
        run<Type::F32, function<Type::F32>, false>, run<Type::F64, function<Type::F64>, false>,                        \
        run<Type::F16, function<Type::F16>, true>, run<Type::BF16, function<Type::BF16>, true>                         \
  }

struct Row {
  llvm::StringLiteral mnemonic;
  unsigned sources;
  Class kind;
  /// By type, in the order of the enumeration from F16 on.
  Handler handlers[6];
};

const Row kRows[] = {
    {"add", 2, Class::Float, ATTN_PTX_HANDLERS(add)},
    {"sub", 2, Class::Float, ATTN_PTX_HANDLERS(subtract)},
    {"mul", 2, Class::Float, ATTN_PTX_HANDLERS(multiply)},
    {"fma", 3, Class::Fma, ATTN_PTX_HANDLERS(fuse)},
    {"mad", 3, Class::Fma, ATTN_PTX_HANDLERS(fuse)},
    {"div", 2, Class::Special, ATTN_PTX_HANDLERS(divide)},
    {"rcp", 1, Class::Special, ATTN_PTX_HANDLERS(reciprocal)},
    {"sqrt", 1, Class::Special, ATTN_PTX_HANDLERS(root)},
    {"rsqrt", 1, Class::Special, ATTN_PTX_HANDLERS(inverseRoot)},
    {"ex2", 1, Class::Special, ATTN_PTX_HANDLERS(exponential)},
    {"lg2", 1, Class::Special, ATTN_PTX_HANDLERS(logarithm)},
    {"sin", 1, Class::Special, ATTN_PTX_HANDLERS(sine)},
    {"cos", 1, Class::Special, ATTN_PTX_HANDLERS(cosine)},
    {"tanh", 1, Class::Special, ATTN_PTX_HANDLERS(hyperbolicTangent)},
    {"min", 2, Class::Float, ATTN_PTX_HANDLERS(minimum)},
    {"max", 2, Class::Float, ATTN_PTX_HANDLERS(maximum)},
    {"min.NaN", 2, Class::Float, ATTN_PTX_HANDLERS(minimumOrNan)},
    {"max.NaN", 2, Class::Float, ATTN_PTX_HANDLERS(maximumOrNan)},
};

void decodeFloatOnly(Form &form) {
  Type type = form.takeType();
  if (!isFloat(type))
    return form.fail("its type is not a float");
  decodeFloatArithmetic(form, type);
}

void takeCopySign(Form &form) {
  takeOperands(form, form.takeType(), 2);
  form.instruction.kind = Class::Float;
  form.instruction.run = copySign;
}
} // namespace

void decodeFloatArithmetic(Form &form, Type type) {
  Instruction &in = form.instruction;
  in.flush = form.take("ftz");
  in.saturate = form.take("sat");
  in.relu = form.take("relu");
  bool approximate = form.take("approx") || form.take("full");
  bool rounded = form.takeRounding();
  if (type == Type::F64 && in.rounding != Rounding::Nearest)
    return form.fail("f64 is rounded to nearest only");
  if (form.mnemonic == "neg" || form.mnemonic == "abs") {
    takeOperands(form, type, 1);
    in.kind = Class::Float;
    in.detail = form.mnemonic == "abs";
    in.run = changeSign;
    return;
  }
  std::string name = form.mnemonic.str() + (form.take("NaN") ? ".NaN" : "");
  for (const Row &row : kRows)
    if (row.mnemonic == name && type != Type::TF32) {
      if (row.kind == Class::Special && !approximate && !rounded)
        form.fail("it needs .approx or a rounding");
      takeOperands(form, type, row.sources);
      in.kind = row.kind;
      in.run = row.handlers[type == Type::F16x2 ? 4 : type == Type::BF16x2 ? 5 : unsigned(type) - unsigned(Type::F16)];
      return;
    }
  form.fail("not for ." + typeName(type));
}

void addFloatOpcodes(llvm::StringMap<Decode> &table) {
  for (llvm::StringRef mnemonic : {"fma", "rcp", "sqrt", "rsqrt", "ex2", "lg2", "sin", "cos", "tanh"})
    table[mnemonic] = decodeFloatOnly;
  table["copysign"] = takeCopySign;
}

} // namespace attn::ptx
