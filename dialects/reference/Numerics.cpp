// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Elementary functions: the radius that the argument's gives, by the function's
// ends or its slope, and the error of an f32 implementation on top.
#include "dialects/reference/Numerics.h"

namespace attn::reference {

Number exponential(Number x) {
  Number y = monotone([](double v) { return std::exp(v); }, x);
  // Implementations scale the argument by log2 e first, which rounds it.
  double scaling = std::isfinite(x.value) ? 2 * kUnit * std::fabs(x.value) : 0;
  if (x.exact() && (x.value == 0 || std::isinf(x.value)))
    return y;
  Number result = loosened(y, kFunction + scaling, kFlush);
  // Past the range code gives infinity, or where it clamps a large number, so
  // that 1 / (1 + exp(-x)) still vanishes.
  if (!result.bounded() && x.bounded() && x.value - x.radius > 87.5)
    result.least = kHuge;
  return result;
}

Number logarithm(Number x) {
  if (x.exact() && x.value == 1)
    return {0, 0};
  return loosened(monotone([](double v) { return std::log(v); }, x), kFunction);
}

Number squareRoot(Number x) {
  return rounded(monotone([](double v) { return std::sqrt(v); }, x));
}

Number reciprocalSquareRoot(Number x) {
  // At the pole, as in the usual scale of a width of 0, nothing is promised: a
  // kernel may scale before it sums.
  if (x.value == 0)
    return Number::unbounded(1 / std::sqrt(x.value));
  return loosened(monotone([](double v) { return 1 / std::sqrt(v); }, x),
                  kFunction);
}

Number hyperbolicTangent(Number x) {
  if (x.exact() && x.value == 0)
    return x;
  return loosened(monotone([](double v) { return std::tanh(v); }, x),
                  kFunction);
}

Number errorFunction(Number x) {
  if (x.exact() && x.value == 0)
    return x;
  return loosened(monotone([](double v) { return std::erf(v); }, x), kFunction);
}

/// A slope of at most 1 carries the radius over; nothing lies further than 2.
/// The error is absolute, and grows with the turns that an f32 reduction takes
/// off.
static Number turned(double value, Number x) {
  if (!std::isfinite(x.value))
    return {value, x.bounded() ? 0 : kUnbounded};
  if (!x.bounded())
    return Number::unbounded(value);
  double own = kFunction + 2 * kUnit * std::fabs(x.value);
  return {value, std::min(2.0, x.radius + own)};
}

Number sine(Number x) {
  if (x.exact() && x.value == 0)
    return x;
  return turned(std::sin(x.value), x);
}

Number cosine(Number x) {
  if (x.exact() && x.value == 0)
    return {1, 0};
  return turned(std::cos(x.value), x);
}

Number power(Number x, Number y) {
  auto f = [](double a, double b) { return std::pow(a, b); };
  double value = f(x.value, y.value);
  if (!std::isfinite(value) || !x.bounded() || !y.bounded())
    return certain(f, x, y);
  if (x.exact() && y.exact() && (y.value == 0 || y.value == 1 || x.value == 1))
    return {value, 0};
  double radius = 0;
  if (!x.exact() || !y.exact()) {
    if (x.value - x.radius <= 0)
      return Number::unbounded(value);
    // Monotone in either argument where the base is positive: the ends bound
    // it.
    for (double a : {x.value - x.radius, x.value + x.radius})
      for (double b : {y.value - y.radius, y.value + y.radius})
        radius = std::max(radius, std::fabs(f(a, b) - value));
  }
  // exp2(y log2 x): the exponent's own rounding shows in proportion to its
  // size.
  double exponent = x.value > 0 ? std::fabs(y.value * std::log(x.value)) : 0;
  return loosened({value, radius}, 2 * kFunction + 4 * kUnit * exponent,
                  kFlush);
}

} // namespace attn::reference
