// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Running error analysis: numbers with a radius, and what each operation does
// to it. A radius bounds the distance of any sound f32 evaluation from the f64
// value; Higham, Accuracy and Stability of Numerical Algorithms
// (2002), 3.1, 3.3.
#ifndef ATTN_DIALECTS_REFERENCE_NUMERICS_H
#define ATTN_DIALECTS_REFERENCE_NUMERICS_H

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

namespace attn::reference {

/// f32's unit roundoff, half its smallest denormal (the absolute part of a
/// rounding near 0), and its smallest normal number (what flushing can lose).
constexpr double kUnit = 0x1p-24;
constexpr double kTiny = 0x1p-149;
constexpr double kFlush = 0x1p-126;
constexpr double kLargest = 0x1.fffffep127;
/// What exp of 87.5 passes, however it is computed.
constexpr double kHuge = 0x1p125;
constexpr double kUnbounded = std::numeric_limits<double>::infinity();

/// The relative error that each elementary function may add: vector polynomials
/// of four units in the last place, one of which is two unit roundoffs.
constexpr double kFunction = 8 * kUnit;

/// A value and its radius. With an infinite radius nothing is known, unless
/// `least` is positive: then the sign is that of `value` and the magnitude at
/// least `least`, perhaps infinite. A value that is NaN or infinite with a
/// finite radius is certainly so.
struct Number {
  double value = 0;
  double radius = 0;
  double least = 0;

  bool exact() const { return radius == 0; }
  bool bounded() const { return radius < kUnbounded; }
  static Number unbounded(double value) { return {value, kUnbounded}; }
};

/// n roundings one after the other: n u / (1 - n u).
inline double gammaOf(double n) {
  double nu = n * kUnit;
  return nu < 1 ? nu / (1 - nu) : kUnbounded;
}

/// The result of one correctly rounded f32 operation whose operands' radii have
/// been propagated already. Exact operands with a result that f32 holds are
/// exact.
inline Number rounded(Number x) {
  if (x.exact() &&
      (std::isnan(x.value) ||
       static_cast<double>(static_cast<float>(x.value)) == x.value))
    return x;
  if (!x.bounded())
    return x;
  double size = std::fabs(x.value) + x.radius;
  if (!(size <= kLargest)) // The row leaves the range of f32.
    return Number::unbounded(x.value);
  return {x.value, x.radius + kUnit * size + kTiny};
}

/// Adds a relative error, for operations that are not correctly rounded.
inline Number loosened(Number x, double relative, double absolute = kTiny) {
  double size = std::fabs(x.value) + x.radius;
  if (!std::isfinite(x.value) || !x.bounded())
    return x;
  if (!(size <= kLargest))
    return Number::unbounded(x.value);
  return {x.value, x.radius + relative * size + absolute};
}

/// `f` of values whose result is not finite: certain where every combination of
/// interval ends gives the same, unknown otherwise.
template <typename F>
Number certain(F f, Number a, Number b = {}) {
  double value = f(a.value, b.value);
  if (!a.bounded() || !b.bounded())
    return Number::unbounded(value);
  for (double x : {a.value - a.radius, a.value + a.radius})
    for (double y : {b.value - b.radius, b.value + b.radius}) {
      double end = f(x, y);
      if (std::isnan(value) ? !std::isnan(end) : end != value)
        return Number::unbounded(value);
    }
  return {value, 0};
}

/// `x` with the radius that a monotone `f` gives it.
template <typename F>
Number monotone(F f, Number x) {
  double value = f(x.value);
  if (!x.bounded())
    return Number::unbounded(value);
  if (x.exact())
    return {value, 0};
  double low = f(x.value - x.radius), high = f(x.value + x.radius);
  if (std::isfinite(value) && std::isfinite(low) && std::isfinite(high))
    return {value, std::max(std::fabs(high - value), std::fabs(value - low))};
  bool same = std::isnan(value) ? std::isnan(low) && std::isnan(high)
                                : value == low && value == high;
  return {value, same ? 0 : kUnbounded};
}

// Arithmetic without the operation's own rounding: what f64 lanes use as it is.
inline Number add(Number a, Number b) {
  double value = a.value + b.value;
  if (b.least > 0)
    std::swap(a, b);
  if (a.least > 0 && std::fabs(b.value) + b.radius <= a.least / 2)
    return {value, kUnbounded, a.least / 2};
  if (!std::isfinite(value))
    return certain([](double x, double y) { return x + y; }, a, b);
  return {value, a.radius + b.radius};
}
inline Number negate(Number a) { return {-a.value, a.radius}; }
inline Number subtract(Number a, Number b) { return add(a, negate(b)); }

inline Number multiply(Number a, Number b) {
  double value = a.value * b.value;
  if (!std::isfinite(value) || !a.bounded() || !b.bounded())
    return certain([](double x, double y) { return x * y; }, a, b);
  return {value, std::fabs(a.value) * b.radius + std::fabs(b.value) * a.radius +
                     a.radius * b.radius};
}

inline Number divide(Number a, Number b) {
  double value = a.value / b.value;
  if (b.least > 0 && a.bounded() && std::isfinite(a.value))
    return {value,
            (std::fabs(a.value) + a.radius) / b.least}; // Of the same sign.
  if (!std::isfinite(value) || !std::isfinite(b.value) || !a.bounded() ||
      !b.bounded())
    return certain([](double x, double y) { return x / y; }, a, b);
  double least = std::fabs(b.value) - b.radius;
  if (least <= 0)
    return Number::unbounded(value);
  return {value, (a.radius + std::fabs(value) * b.radius) / least};
}

/// One of two numbers, by a test that may go either way.
inline Number either(Number taken, Number other) {
  double apart = std::fabs(taken.value - other.value);
  if (std::isnan(apart))
    return Number::unbounded(taken.value);
  return {taken.value, std::max(taken.radius, apart + other.radius)};
}

inline Number maximum(Number a, Number b) {
  if (std::isnan(a.value) || std::isnan(b.value))
    return {std::numeric_limits<double>::quiet_NaN(),
            std::max(a.radius, b.radius)};
  bool first = a.value >= b.value;
  Number high = first ? a : b, low = first ? b : a;
  if (low.value + low.radius <= high.value - high.radius)
    return high;
  return {high.value, std::max(a.radius, b.radius)};
}
inline Number minimum(Number a, Number b) {
  return negate(maximum(negate(a), negate(b)));
}

// Functions with the error that an f32 implementation may have.
Number exponential(Number x);
Number logarithm(Number x);
Number squareRoot(Number x);
Number reciprocalSquareRoot(Number x);
Number hyperbolicTangent(Number x);
Number errorFunction(Number x);
Number sine(Number x);
Number cosine(Number x);
Number power(Number x, Number y);

} // namespace attn::reference

#endif
