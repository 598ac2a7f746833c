// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Scalar operations on floats, and between floats and integers.
#include "dialects/reference/Lanes.h"
#include "dialects/reference/Philox.h"

namespace attn::reference {

namespace {
/// A correctly rounded operation of two numbers.
template <Number (*f)(Number, Number)>
void arithmetic(mlir::Operation *, Operands in, Lanes &out, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    Number x = f(in[0]->number(i), in[1]->number(i));
    out.set(i, out.single ? rounded(x) : x);
  }
}

/// An operation that never rounds.
template <Number (*f)(Number, Number)>
void choice(mlir::Operation *, Operands in, Lanes &out, size_t n) {
  for (size_t i = 0; i < n; ++i)
    out.set(i, f(in[0]->number(i), in[1]->number(i)));
}

bool isPowerOfTwo(double x) {
  int exponent;
  return std::fabs(std::frexp(x, &exponent)) == 0.5;
}

void division(mlir::Operation *, Operands in, Lanes &out, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    Number a = in[0]->number(i), b = in[1]->number(i), x = divide(a, b);
    if (!out.single || (x.exact() && x.value == 0))
      out.set(i, x);
    else if (b.exact() && isPowerOfTwo(b.value))
      out.set(i, rounded(x));
    else // A reciprocal and a product are a fair way to divide.
      out.set(i, loosened(x, 4 * kUnit));
  }
}

void fusedMultiplyAdd(mlir::Operation *, Operands in, Lanes &out, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    Number product = multiply(in[0]->number(i), in[1]->number(i));
    // Unfused code rounds the product as well.
    Number x = add(out.single ? rounded(product) : product, in[2]->number(i));
    out.set(i, out.single ? rounded(x) : x);
  }
}

Number remainderOf(Number a, Number b) {
  double value = std::fmod(a.value, b.value);
  return a.exact() && b.exact() ? Number{value, 0} : Number::unbounded(value);
}
Number maximumNumber(Number a, Number b) {
  return std::isnan(a.value) ? b : std::isnan(b.value) ? a : maximum(a, b);
}
Number minimumNumber(Number a, Number b) {
  return std::isnan(a.value) ? b : std::isnan(b.value) ? a : minimum(a, b);
}
Number copySign(Number a, Number b) {
  double value = std::copysign(a.value, b.value);
  bool signKnown = b.exact() || std::fabs(b.value) > b.radius;
  return {value, signKnown
                     ? a.radius
                     : std::max(a.radius, 2 * std::fabs(a.value) + a.radius)};
}

void negation(mlir::Operation *, Operands in, Lanes &out, size_t n) {
  for (size_t i = 0; i < n; ++i)
    out.set(i, negate(in[0]->number(i)));
}
void magnitude(mlir::Operation *, Operands in, Lanes &out, size_t n) {
  for (size_t i = 0; i < n; ++i)
    out.set(i, {std::fabs(in[0]->value[i]), in[0]->radius[i]});
}

/// A step function: where the interval crosses a step, it may fall on either
/// side.
template <double (*f)(double)>
void stepping(mlir::Operation *, Operands in, Lanes &out, size_t n) {
  for (size_t i = 0; i < n; ++i)
    out.set(i, monotone(f, in[0]->number(i)));
}

/// `exactly` in f64 code; `withError` says what f32 code may give.
template <double (*exactly)(double), Number (*withError)(Number)>
void function(mlir::Operation *, Operands in, Lanes &out, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    Number x = in[0]->number(i);
    out.set(i, !out.single && x.exact() ? Number{exactly(x.value), 0}
                                        : withError(x));
  }
}

double reciprocalRoot(double x) { return 1 / std::sqrt(x); }
/// Shifted variants have the error of their base, and what the shift rounds.
Number exponential2(Number x) {
  return exponential(multiply(x, {0.69314718055994530942, 0}));
}
double exactExponential2(double x) { return std::exp2(x); }
Number exponentialMinusOne(Number x) {
  return loosened(monotone([](double v) { return std::expm1(v); }, x),
                  kFunction, kFlush);
}
Number logarithm2(Number x) {
  Number y = multiply(logarithm(x), {1.4426950408889634074, 0});
  return x.exact() && isPowerOfTwo(x.value) ? Number{std::log2(x.value), 0} : y;
}
Number logarithmOnePlus(Number x) {
  return loosened(monotone([](double v) { return std::log1p(v); }, x),
                  kFunction);
}

void powerFunction(mlir::Operation *, Operands in, Lanes &out, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    Number x = in[0]->number(i), y = in[1]->number(i);
    bool plain = !out.single && x.exact() && y.exact();
    out.set(i, plain ? Number{std::pow(x.value, y.value), 0} : power(x, y));
  }
}

/// Between float widths. 16-bit results are rounded once.
void conversion(mlir::Operation *op, Operands in, Lanes &out, size_t n) {
  mlir::Type type = op->getResult(0).getType();
  bool half = type.isF16(), brain = type.isBF16();
  for (size_t i = 0; i < n; ++i) {
    Number x = in[0]->number(i);
    if (half || brain) {
      double kept = roundTo(x.value, half ? Dtype::F16 : Dtype::BF16);
      bool same = x.exact() && kept == x.value;
      out.set(i, same ? x
                      : loosened(x, half ? 0x1p-11 : 0x1p-8,
                                 half ? 0x1p-25 : kTiny));
    } else {
      out.set(i, type.isF32() ? rounded(x) : x);
    }
  }
}

void fromSigned(mlir::Operation *, Operands in, Lanes &out, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    int64_t whole = in[0]->width == 1 ? -in[0]->integer[i] : in[0]->integer[i];
    Number x = {static_cast<double>(whole), in[0]->radius[i]};
    out.set(i, out.single ? rounded(x) : x);
  }
}
void fromUnsigned(mlir::Operation *, Operands in, Lanes &out, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    auto whole = static_cast<uint64_t>(in[0]->integer[i]);
    if (in[0]->width < 64)
      whole &= (uint64_t(1) << in[0]->width) - 1;
    Number x = {static_cast<double>(whole), in[0]->radius[i]};
    out.set(i, out.single ? rounded(x) : x);
  }
}

int64_t truncated(double x) {
  if (std::isnan(x))
    return 0;
  return static_cast<int64_t>(std::clamp(x, -0x1p63, 0x1.fffffffffffffp62));
}
void toInteger(mlir::Operation *, Operands in, Lanes &out, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    Number x = in[0]->number(i);
    bool sure = x.bounded() &&
                truncated(x.value - x.radius) == truncated(x.value + x.radius);
    // As the prototype: what is no number is 0.
    out.set(i, std::isfinite(x.value) ? truncated(x.value) : 0, !sure);
  }
}

bool compare(mlir::arith::CmpFPredicate predicate, double a, double b) {
  using P = mlir::arith::CmpFPredicate;
  bool nan = std::isnan(a) || std::isnan(b);
  switch (predicate) {
  case P::AlwaysFalse:
    return false;
  case P::AlwaysTrue:
    return true;
  case P::ORD:
    return !nan;
  case P::UNO:
    return nan;
  case P::OEQ:
    return a == b;
  case P::UEQ:
    return nan || a == b;
  case P::OGT:
    return a > b;
  case P::UGT:
    return nan || a > b;
  case P::OGE:
    return a >= b;
  case P::UGE:
    return nan || a >= b;
  case P::OLT:
    return a < b;
  case P::ULT:
    return nan || a < b;
  case P::OLE:
    return a <= b;
  case P::ULE:
    return nan || a <= b;
  case P::ONE:
    return !nan && a != b;
  case P::UNE:
    return nan || a != b;
  }
  return false;
}

void comparison(mlir::Operation *op, Operands in, Lanes &out, size_t n) {
  auto predicate = mlir::cast<mlir::arith::CmpFOp>(op).getPredicate();
  for (size_t i = 0; i < n; ++i) {
    Number a = in[0]->number(i), b = in[1]->number(i);
    double room = a.radius + b.radius;
    bool unsure = room > 0 && !(std::fabs(a.value - b.value) > room) &&
                  !(std::isnan(a.value) || std::isnan(b.value));
    out.set(i, compare(predicate, a.value, b.value),
            unsure || !(room < kUnbounded));
  }
}

void randomNumber(mlir::Operation *, Operands in, Lanes &out, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    bool unsure = in[0]->unsure[i] || in[1]->unsure[i];
    out.set(i, {philoxUniform(in[0]->integer[i], in[1]->integer[i]),
                unsure ? kUnbounded : 0});
  }
}
} // namespace

void addNumberFunctions(ScalarTable &table) {
  table["arith.addf"] = arithmetic<add>;
  table["arith.subf"] = arithmetic<subtract>;
  table["arith.mulf"] = arithmetic<multiply>;
  table["arith.divf"] = division;
  table["arith.remf"] = choice<remainderOf>;
  table["math.fma"] = fusedMultiplyAdd;
  table["arith.negf"] = negation;
  table["arith.maximumf"] = choice<maximum>;
  table["arith.minimumf"] = choice<minimum>;
  table["arith.maxnumf"] = choice<maximumNumber>;
  table["arith.minnumf"] = choice<minimumNumber>;
  table["math.copysign"] = choice<copySign>;
  table["math.absf"] = magnitude;
  table["math.floor"] = stepping<std::floor>;
  table["math.ceil"] = stepping<std::ceil>;
  table["math.trunc"] = stepping<std::trunc>;
  table["math.roundeven"] = stepping<std::nearbyint>;
  table["math.round"] = stepping<std::round>;
  table["math.exp"] = function<std::exp, exponential>;
  table["math.exp2"] = function<exactExponential2, exponential2>;
  table["math.expm1"] = function<std::expm1, exponentialMinusOne>;
  table["math.log"] = function<std::log, logarithm>;
  table["math.log2"] = function<std::log2, logarithm2>;
  table["math.log1p"] = function<std::log1p, logarithmOnePlus>;
  table["math.sqrt"] = function<std::sqrt, squareRoot>;
  table["math.rsqrt"] = function<reciprocalRoot, reciprocalSquareRoot>;
  table["math.tanh"] = function<std::tanh, hyperbolicTangent>;
  table["math.erf"] = function<std::erf, errorFunction>;
  table["math.sin"] = function<std::sin, sine>;
  table["math.cos"] = function<std::cos, cosine>;
  table["math.powf"] = powerFunction;
  table["arith.extf"] = conversion;
  table["arith.truncf"] = conversion;
  table["arith.sitofp"] = fromSigned;
  table["arith.uitofp"] = fromUnsigned;
  table["arith.fptosi"] = toInteger;
  table["arith.cmpf"] = comparison;
  table["attn.philox"] = randomNumber;
}

} // namespace attn::reference
