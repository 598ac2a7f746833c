//===- Scalars.cpp - scalar operations as Halide expressions --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Range reductions by Cody and Waite; polynomials as in compiler/cpu/VectorMath.cpp, but for tanh and log, which are
// minimax fits on the ranges given with them.
//===----------------------------------------------------------------------===//
#include "schedules/halide/Scalars.h"

#include "schedules/halide/CompileStage.h"
#include <functional>
#include <map>

using namespace attn;
using namespace Halide;

using Operands = std::vector<Expr>;

Type attn::typeOf(PlanKind kind) {
  switch (kind) {
  case PlanKind::F32:
    return Float(32);
  case PlanKind::F64:
    return Float(64);
  case PlanKind::I64:
    return Int(64);
  case PlanKind::Bool:
    return Bool();
  }
  return Float(32);
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

static Expr f32(double value) { return Expr(float(value)); }

static Expr polynomial(const Expr &x, const std::vector<double> &coefficients) {
  Expr sum = f32(coefficients.back());
  for (size_t i = coefficients.size() - 1; i-- > 0;)
    sum = sum * x + f32(coefficients[i]);
  return sum;
}

/// 1.5 * 2^23: adding it leaves the rounded integer in the low bits, whatever the value.
static constexpr double roundingShift = 12582912.0;

/// 2^n, n an integer from -127 to 128.
static Expr powerOfTwo(const Expr &n) { return reinterpret<float>((n << 23) + 0x3F800000); }

Expr attn::larger(const Expr &x, const Expr &y) { return select(x > y, x, y); }

Expr attn::exp2NonPositive(const Expr &x) {
  // At -127 the scale's exponent field is 0, so the product is exactly 0. NaN passes.
  Expr clamped = select(x < f32(-127.0), f32(-127.0), x);
  Expr shifted = clamped + f32(roundingShift);
  Expr fraction = clamped - (shifted - f32(roundingShift));
  Expr power = polynomial(fraction, {1.0, 0.6931471880262288, 0.24022650760568148, 0.05550357114219124,
                                     0.009618082557275323, 0.001339086336464892, 0.00015453162945808964});
  return power * powerOfTwo(reinterpret<int32_t>(shifted));
}

static Expr exponential(const Expr &x) {
  Expr low = select(x < f32(-110.0), f32(-110.0), x);
  Expr clamped = select(low > f32(89.0), f32(89.0), low);
  Expr shifted = clamped * f32(1.4426950408889634) + f32(roundingShift);
  Expr whole = shifted - f32(roundingShift);
  // ln 2 in two parts; the first has few bits, so its product is exact.
  Expr rest = whole * f32(-0.693145751953125) + clamped;
  rest = whole * f32(-1.42860682030941723e-6) + rest;
  Expr tail =
      polynomial(rest, {0.5, 0.16666576998242938, 0.04166655462787818, 0.008363177629992688, 0.00139261818104658});
  Expr power = (rest * rest * tail + rest) + f32(1.0);
  // 2^n in two halves, since n reaches 128 and goes below -126.
  Expr n = (reinterpret<int32_t>(shifted) << 9) >> 9, half = n >> 1;
  return power * powerOfTwo(half) * powerOfTwo(n - half);
}

/// Below 5/8 an odd polynomial, elsewhere from the exponential: neither cancels.
static Expr hyperbolicTangent(const Expr &x) {
  Expr size = abs(x), square = x * x;
  Expr small = polynomial(square, {-3.33332819422e-1, 1.33314422036e-1, -5.37397155531e-2, 2.06390887954e-2,
                                   -5.70498872745e-3});
  Expr inner = x * square * small + x;
  Expr outer = f32(1.0) - f32(2.0) / (exponential(f32(2.0) * size) + f32(1.0));
  return select(size < f32(0.625), inner, select(x < f32(0.0), -outer, outer));
}

/// x = 2^n * m, m in [sqrt(1/2), sqrt(2)); log m by a polynomial in m - 1.
Expr attn::naturalLog(const Expr &x) {
  Expr isTiny = x < f32(1.17549435e-38);
  Expr scaled = select(isTiny, x * f32(8388608.0), x);
  Expr bits = reinterpret<int32_t>(scaled) - 0x3F3504F3;
  Expr n = bits >> 23;
  Expr m = reinterpret<float>((bits & 0x7FFFFF) + 0x3F3504F3) - f32(1.0);
  Expr exponent = cast<float>(n - select(isTiny, 23, 0));
  Expr square = m * m;
  Expr tail = polynomial(m, {3.3333331174e-1, -2.4999993993e-1, 2.0000714765e-1, -1.6668057665e-1, 1.4249322787e-1,
                             -1.2420140846e-1, 1.1676998740e-1, -1.1514610310e-1, 7.0376836292e-2});
  Expr result = m * square * tail + exponent * f32(-2.12194440e-4) - square * f32(0.5);
  result = (m + result) + exponent * f32(0.693359375);
  Expr infinity = Expr(std::numeric_limits<float>::infinity());
  Expr special = select(x == f32(0.0), -infinity, select(x == infinity, infinity, x - x + Expr(NAN)));
  return select(x > f32(0.0) && x < infinity, result, special);
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

static Expr number(const Expr &like, double value) { return Halide::cast(like.type(), Expr(value)); }

/// Rounds down; Halide's quotient leaves a remainder that is not negative.
static Expr floorDivide(const Expr &a, const Expr &b) {
  Expr quotient = a / b;
  return select(b < 0 && a % b != 0, quotient - 1, quotient);
}

/// NaN where one is, as IEEE's minimum and maximum.
static Expr extreme(const Expr &a, const Expr &b, bool largest) {
  Expr picked = largest ? select(a > b, a, b) : select(a < b, a, b);
  return select(is_nan(a), a, select(is_nan(b), b, picked));
}

/// As f32. From an integer of few bits by way of 32: processors turn 64 slowly, if at all.
static Expr toFloat(const Expr &integer) {
  const auto *widened = integer.as<Internal::Cast>();
  bool isShort = widened && widened->value.type().is_int_or_uint() && widened->value.type().bits() < 32;
  return Halide::cast<float>(isShort ? Halide::cast<int32_t>(widened->value) : integer);
}

namespace {
struct Operation {
  std::function<Expr(const Operands &)> build;
  /// Whether there is one for floats of 64 bits as well.
  bool onDoubles = true;
};
} // namespace

static const std::map<std::string, Operation> &operations() {
  using O = const Operands &;
  static const std::map<std::string, Operation> table = {
      {"addf", {[](O x) { return x[0] + x[1]; }}},
      {"subf", {[](O x) { return x[0] - x[1]; }}},
      {"mulf", {[](O x) { return x[0] * x[1]; }}},
      {"divf", {[](O x) { return x[0] / x[1]; }}},
      {"negf", {[](O x) { return -x[0]; }}},
      {"absf", {[](O x) { return abs(x[0]); }}},
      {"floor", {[](O x) { return floor(x[0]); }}},
      {"roundeven", {[](O x) { return round(x[0]); }}},
      {"sqrt", {[](O x) { return sqrt(x[0]); }}},
      {"rsqrt", {[](O x) { return number(x[0], 1.0) / sqrt(x[0]); }}},
      {"exp", {[](O x) { return exponential(x[0]); }, false}},
      {"log", {[](O x) { return naturalLog(x[0]); }, false}},
      {"tanh", {[](O x) { return hyperbolicTangent(x[0]); }, false}},
      {"minimumf", {[](O x) { return extreme(x[0], x[1], false); }}},
      {"maximumf", {[](O x) { return extreme(x[0], x[1], true); }}},
      {"addi", {[](O x) { return x[0] + x[1]; }}},
      {"subi", {[](O x) { return x[0] - x[1]; }}},
      {"muli", {[](O x) { return x[0] * x[1]; }}},
      {"floordivsi", {[](O x) { return floorDivide(x[0], x[1]); }}},
      {"minsi", {[](O x) { return min(x[0], x[1]); }}},
      {"maxsi", {[](O x) { return max(x[0], x[1]); }}},
      {"absi", {[](O x) { return select(x[0] < 0, -x[0], x[0]); }}},
      {"andi", {[](O x) { return x[0].type().is_bool() ? x[0] && x[1] : x[0] & x[1]; }}},
      {"ori", {[](O x) { return x[0].type().is_bool() ? x[0] || x[1] : x[0] | x[1]; }}},
      {"xori", {[](O x) { return x[0].type().is_bool() ? x[0] != x[1] : x[0] ^ x[1]; }}},
      {"shli", {[](O x) { return x[0] << x[1]; }}},
      {"shrsi", {[](O x) { return x[0] >> x[1]; }}},
      {"select", {[](O x) { return select(x[0], x[1], x[2]); }}},
      {"cmpi.eq", {[](O x) { return x[0] == x[1]; }}},
      {"cmpi.ne", {[](O x) { return x[0] != x[1]; }}},
      {"cmpi.slt", {[](O x) { return x[0] < x[1]; }}},
      {"cmpi.sle", {[](O x) { return x[0] <= x[1]; }}},
      {"cmpi.sgt", {[](O x) { return x[0] > x[1]; }}},
      {"cmpi.sge", {[](O x) { return x[0] >= x[1]; }}},
      {"cmpi.ult", {[](O x) { return Halide::cast<uint64_t>(x[0]) < Halide::cast<uint64_t>(x[1]); }}},
      {"cmpf.olt", {[](O x) { return x[0] < x[1]; }}},
      // Halide takes x <= y for not y < x, which holds for NaN.
      {"cmpf.ole", {[](O x) { return x[0] < x[1] || x[0] == x[1]; }}},
      {"cmpf.ogt", {[](O x) { return x[0] > x[1]; }}},
      {"cmpf.oge", {[](O x) { return x[0] > x[1] || x[0] == x[1]; }}},
      {"cmpf.oeq", {[](O x) { return x[0] == x[1]; }}},
      {"cmpf.une", {[](O x) { return x[0] != x[1]; }}},
      {"sitofp", {[](O x) { return toFloat(x[0]); }}},
      {"fptosi", {nullptr}},
      {"extf", {nullptr}},
      {"truncf", {nullptr}},
  };
  return table;
}

Expr attn::scalarOp(const std::string &op, PlanKind kind, const Operands &operands) {
  auto found = operations().find(op);
  if (found == operations().end())
    return Expr();
  bool isCast = !found->second.build || (op == "sitofp" && kind != PlanKind::F32);
  return isCast ? Halide::cast(typeOf(kind), operands[0]) : found->second.build(operands);
}

std::string attn::whyNoHalideOp(const std::string &op, PlanKind kind) {
  auto found = operations().find(op);
  if (found == operations().end())
    return op + " is not in its algebra";
  return kind == PlanKind::F64 && !found->second.onDoubles ? op + " of f64 is not in its algebra" : "";
}

//===----------------------------------------------------------------------===//
// Stored elements
//===----------------------------------------------------------------------===//

Type attn::memoryType(PlanElement element) {
  switch (element) {
  case PlanElement::F32:
    return Float(32);
  case PlanElement::F16:
  case PlanElement::BF16:
    return UInt(16);
  case PlanElement::I8:
    return Int(8);
  case PlanElement::U8:
  case PlanElement::Bool:
    return UInt(8);
  case PlanElement::I32:
    return Int(32);
  case PlanElement::I64:
    return Int(64);
  }
  return Float(32);
}

/// Exponent and fraction lie in the same order as those of f32; what has no exponent is a multiple of 2^-24.
static Expr fromHalf(const Expr &half) {
  auto u32 = [](uint32_t bits) { return Expr(bits); };
  Expr bits = Halide::cast<uint32_t>(half), size = bits & u32(0x7FFF);
  Expr shifted = size << u32(13);
  Expr small = reinterpret<uint32_t>(Halide::cast<float>(size) * f32(0x1p-24));
  Expr result = select(size < u32(0x400), small, size < u32(0x7C00), shifted + u32(112u << 23), shifted + u32(224u << 23));
  return reinterpret<float>(result | ((bits & u32(0x8000)) << u32(16)));
}

/// To the nearest, even on a tie, as the processor rounds.
static Expr toHalf(const Expr &value) {
  auto u32 = [](uint32_t bits) { return Expr(bits); };
  Expr bits = reinterpret<uint32_t>(value), size = bits & u32(0x7FFFFFFF);
  // Added to 1/2, the last place is 2^-24.
  Expr small = reinterpret<uint32_t>(reinterpret<float>(size) + f32(0.5)) - u32(0x3F000000);
  Expr moved = size - u32(112u << 23);
  Expr rounded = (moved + u32(0xFFF) + ((moved >> u32(13)) & u32(1))) >> u32(13);
  Expr quiet = u32(0x7E00) | ((size >> u32(13)) & u32(0x3FF));
  Expr result = select(size > u32(0x7F800000), quiet, size >= u32(0x477FF000), u32(0x7C00), size < u32(0x38800000), small, rounded);
  return Halide::cast<uint16_t>(result | ((bits >> u32(16)) & u32(0x8000)));
}

Expr attn::widen(const Expr &stored, PlanElement element, bool portably) {
  switch (element) {
  case PlanElement::F32:
    return stored;
  case PlanElement::F16:
    return portably ? fromHalf(stored) : Halide::cast<float>(reinterpret(Float(16), stored));
  case PlanElement::BF16:
    return reinterpret<float>(Halide::cast<uint32_t>(stored) << 16);
  case PlanElement::Bool:
    return stored != Halide::cast<uint8_t>(0);
  default:
    return Halide::cast<int64_t>(stored);
  }
}

/// To the nearest, even on a tie; NaN stays NaN.
static Expr toBF16(const Expr &value) {
  Expr bits = reinterpret<uint32_t>(value);
  Expr rounded = (bits + Expr(uint32_t(0x7FFF)) + ((bits >> 16) & Expr(uint32_t(1)))) >> 16;
  Expr quiet = (bits >> 16) | Expr(uint32_t(0x40));
  return Halide::cast<uint16_t>(select(is_nan(value), quiet, rounded));
}

/// To the nearest, even on a tie, within the range; NaN gives 0.
static Expr toByte(const Expr &value, PlanElement element) {
  Expr low = f32(element == PlanElement::U8 ? 0 : -128), high = f32(element == PlanElement::U8 ? 255 : 127);
  Expr rounded = round(value);
  Expr within = select(rounded < low, low, select(rounded > high, high, rounded));
  return Halide::cast(memoryType(element), Halide::cast<int32_t>(select(is_nan(value), f32(0), within)));
}

Expr attn::narrow(const Expr &value, PlanElement element, bool portably) {
  if (value.type().is_float() && (element == PlanElement::I8 || element == PlanElement::U8))
    return toByte(value, element);
  if (element == PlanElement::BF16)
    return toBF16(value);
  if (element == PlanElement::F16)
    return portably ? toHalf(value) : reinterpret(UInt(16), Halide::cast(Float(16), value));
  return Halide::cast(memoryType(element), value);
}
