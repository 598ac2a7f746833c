//===- VectorMath.cpp - functions in lanes ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Range reduction by Cody and Waite; coefficients by interpolation at Chebyshev
// nodes of (2^f - 1) / f on [-1/2, 1/2], (e^r - 1 - r) / r^2 on [-ln 2 / 2, ln 2 / 2],
// (sin r - r) / r^3 and (cos r - 1 + r^2 / 2) / r^4 on [-pi / 4, pi / 4]; of the least relative error for tanh on
// [-9, 9] and for (atanh(r) / r - 1) / r^2 where (1 + r) / (1 - r) lies between sqrt(1/2) and sqrt(2).
//===----------------------------------------------------------------------===//
#include "compiler/cpu/VectorMath.h"
#include <limits>

using namespace mlir;
using namespace attn;

namespace {
/// Arithmetic on floats of one shape.
struct Floats {
  FunctionScope &f;
  Type type;
  Type bitsType = shaped(f.builder().getIntegerType(getElementTypeOrSelf(type).getIntOrFloatBitWidth()));

  Type shaped(Type element) const {
    auto vector = dyn_cast<VectorType>(type);
    return vector ? Type(vector.clone(element)) : element;
  }
  Value number(double value) { return f.constant(type, value); }
  Value bitsNumber(int64_t value) {
    TypedAttr number = f.builder().getIntegerAttr(getElementTypeOrSelf(bitsType), value);
    if (auto vector = dyn_cast<VectorType>(bitsType))
      number = DenseElementsAttr::get(vector, Attribute(number));
    return arith::ConstantOp::create(f.builder(), f.loc(), number);
  }
  Value fma(Value a, Value b, Value c) { return math::FmaOp::create(f.builder(), f.loc(), a, b, c); }
  Value add(Value a, Value b) { return arith::AddFOp::create(f.builder(), f.loc(), a, b); }
  Value sub(Value a, Value b) { return arith::SubFOp::create(f.builder(), f.loc(), a, b); }
  Value mul(Value a, Value b) { return arith::MulFOp::create(f.builder(), f.loc(), a, b); }
  /// `low` where low > x, else x: NaN passes.
  Value atLeast(Value x, double low) { return emitMax(f, number(low), x); }
  Value atMost(Value x, double high) {
    Value limit = number(high);
    Value above = arith::CmpFOp::create(f.builder(), f.loc(), arith::CmpFPredicate::OLT, limit, x);
    return arith::SelectOp::create(f.builder(), f.loc(), above, limit, x);
  }
  Value bits(Value x) { return arith::BitcastOp::create(f.builder(), f.loc(), bitsType, x); }
  Value fromBits(Value x) { return arith::BitcastOp::create(f.builder(), f.loc(), type, x); }
  /// c0 + x (c1 + x (...))
  Value polynomial(Value x, ArrayRef<double> coefficients) {
    Value sum = number(coefficients.back());
    for (double coefficient : llvm::reverse(coefficients.drop_back()))
      sum = fma(sum, x, number(coefficient));
    return sum;
  }
};

/// 1.5 * 2^23: adding it leaves the rounded integer in the low bits, whatever the
/// value (a conversion of NaN to an integer would be undefined).
constexpr double roundingShift = 12582912.0;
/// The same with the bias of an exponent field.
constexpr double biasedShift = roundingShift + 127;
constexpr int32_t one = 0x3F800000;
} // namespace

Value attn::emitMax(FunctionScope &f, Value x, Value y) {
  Value greater = arith::CmpFOp::create(f.builder(), f.loc(), arith::CmpFPredicate::OGT, x, y);
  return arith::SelectOp::create(f.builder(), f.loc(), greater, x, y);
}

/// AVX-512 splits off whole powers and puts them back in an instruction each. Only it has vectors of 16 f32.
static bool hasScaling(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  return vector && vector.getNumElements() == 16 && vector.getElementType().isF32();
}

/// 2^(x - floor x) * 2^floor x: by coefficients of the least relative error on [0, 1). What lies below the smallest normal
/// number becomes 0, for subnormal ones take many times as long.
static Value emitScaledExp2(FunctionScope &f, Value x, bool forBf16) {
  OpBuilder &b = f.builder();
  Floats v{f, x.getType()};
  auto whole = [&](int64_t value, unsigned bits) -> Value {
    return LLVM::ConstantOp::create(b, f.loc(), b.getIntegerAttr(b.getIntegerType(bits), value));
  };
  auto call = [&](StringRef name, ValueRange operands) -> Value {
    return LLVM::CallIntrinsicOp::create(b, f.loc(), x.getType(), b.getStringAttr(name), operands).getResults();
  };
  Value zero = v.number(0.0), asTold = whole(4, 32); // Rounding as the processor's state says.
  Value fraction = call("llvm.x86.avx512.mask.reduce.ps.512", {x, whole(9, 32), zero, whole(-1, 16), asTold});
  Value power = forBf16 ? v.polynomial(fraction, {1.0, 0.693044844783459, 0.24128020569777708, 0.05224247220066821,
                                                  0.013426685531008477})
                        : v.polynomial(fraction, {1.0, 0.6931470444431621, 0.24022930555502678, 0.055485280603409196,
                                                  0.009675451602368572, 0.0012467846078108623, 0.00021612916356157606});
  Value isNormal = arith::CmpFOp::create(b, f.loc(), arith::CmpFPredicate::UGE, x, v.number(-126.0));
  Value mask = LLVM::BitcastOp::create(b, f.loc(), b.getI16Type(), isNormal);
  return call("llvm.x86.avx512.mask.scalef.ps.512", {power, x, zero, mask, asTold});
}

Value attn::emitExp2(FunctionScope &f, Value x, bool forBf16) {
  if (hasScaling(x.getType()))
    return emitScaledExp2(f, x, forBf16);
  Floats v{f, x.getType()};
  // At -127 the scale's exponent field is 0, so the product is exactly 0.
  Value clamped = v.atLeast(x, -127.0);
  Value shifted = v.add(clamped, v.number(biasedShift));
  Value fraction = v.sub(clamped, v.sub(shifted, v.number(biasedShift)));
  Value power = v.polynomial(fraction, {1.0, 0.6931471880262288, 0.24022650760568148, 0.05550357114219124,
                                        0.009618082557275323, 0.001339086336464892, 0.00015453162945808964});
  Value scale = v.fromBits(arith::ShLIOp::create(f.builder(), f.loc(), v.bits(shifted), v.bitsNumber(23)));
  return v.mul(power, scale);
}

Value attn::emitExp(FunctionScope &f, Value x) {
  Floats v{f, x.getType()};
  OpBuilder &b = f.builder();
  // Beyond these the result rounds to 0 or overflows to infinity.
  Value clamped = v.atMost(v.atLeast(x, -110.0), 89.0);
  Value shifted = v.fma(clamped, v.number(1.4426950408889634), v.number(roundingShift));
  Value whole = v.sub(shifted, v.number(roundingShift));
  // ln 2 in two parts; the first has few bits, so its product is exact.
  Value rest = v.fma(whole, v.number(-0.693145751953125), clamped);
  rest = v.fma(whole, v.number(-1.42860682030941723e-6), rest);
  Value tail = v.polynomial(rest, {0.5, 0.16666576998242938, 0.04166655462787818, 0.008363177629992688, 0.00139261818104658});
  Value power = v.add(v.fma(v.mul(rest, rest), tail, rest), v.number(1.0));
  // 2^n in two halves, since n reaches 128 and goes below -126.
  Value n = arith::ShLIOp::create(b, f.loc(), v.bits(shifted), v.bitsNumber(9));
  n = arith::ShRSIOp::create(b, f.loc(), n, v.bitsNumber(9));
  Value half = arith::ShRSIOp::create(b, f.loc(), n, v.bitsNumber(1));
  Value other = arith::SubIOp::create(b, f.loc(), n, half);
  for (Value part : {half, other}) {
    Value field = arith::ShLIOp::create(b, f.loc(), part, v.bitsNumber(23));
    power = v.mul(power, v.fromBits(arith::AddIOp::create(b, f.loc(), field, v.bitsNumber(one))));
  }
  return power;
}

/// x P(x^2) / Q(x^2), a rational approximation in which |x| stops at 9: there tanh rounds to 1.
Value attn::emitTanh(FunctionScope &f, Value x) {
  Floats v{f, x.getType()};
  Value stopped = v.atMost(v.atLeast(x, -9.0), 9.0);
  Value square = v.mul(stopped, stopped);
  Value above = v.polynomial(square, {0.99999998085324, 0.13381149864488, 0.0034957189124408, 2.0610588543882e-05, 1.3355585442618e-08});
  Value below = v.polynomial(square, {1.0, 0.46714466167237, 0.025877522856714, 0.00032858204840262, 7.7771797744178e-07});
  return arith::DivFOp::create(f.builder(), f.loc(), v.mul(stopped, above), below);
}

/// x = m 2^n with m in [sqrt(1/2), sqrt(2)) gives log m + n log 2, where log m = 2 atanh(r) = 2 r (1 + r^2 (1/3 + ...)) of
/// r = (m - 1) / (m + 1).
Value attn::emitLog(FunctionScope &f, Value x) {
  Floats v{f, x.getType()};
  OpBuilder &b = f.builder();
  auto where = [&](arith::CmpFPredicate how, double limit, Value yes, Value no) -> Value {
    Value holds = arith::CmpFOp::create(b, f.loc(), how, x, v.number(limit));
    return arith::SelectOp::create(b, f.loc(), holds, yes, no);
  };
  // Denormal numbers are brought into the range of the normal ones.
  Value normal = where(arith::CmpFPredicate::OLT, 0x1p-126, v.mul(x, v.number(0x1p23)), x);
  Value rootOfHalf = v.bitsNumber(0x3F3504F3), width = v.bitsNumber(23);
  Value n = arith::ShRSIOp::create(b, f.loc(), arith::SubIOp::create(b, f.loc(), v.bits(normal), rootOfHalf), width);
  Value m = v.fromBits(arith::SubIOp::create(b, f.loc(), v.bits(normal), arith::ShLIOp::create(b, f.loc(), n, width)));
  Value exponent = arith::SIToFPOp::create(b, f.loc(), x.getType(), n);
  exponent = v.sub(exponent, where(arith::CmpFPredicate::OLT, 0x1p-126, v.number(23.0), v.number(0.0)));
  Value above = v.sub(m, v.number(1.0));
  Value r = arith::DivFOp::create(b, f.loc(), above, v.add(m, v.number(1.0)));
  Value square = v.mul(r, r);
  Value series = v.polynomial(square, {0.33333333277050, 0.20000061041655, 0.14275399352512, 0.11665484339176});
  // 2 r = (m - 1) - r (m - 1), of which the first part is exact, and nearly all where m is near 1.
  Value tail = v.fma(v.mul(square, series), v.number(2.0), v.sub(v.number(0.0), above));
  // log 2 in two parts; the first has few bits, so its product is exact.
  Value rest = v.fma(exponent, v.number(1.42860682030941723e-6), v.mul(r, tail));
  Value result = v.fma(exponent, v.number(0.693145751953125), v.add(above, rest));
  constexpr double inf = std::numeric_limits<double>::infinity();
  result = where(arith::CmpFPredicate::OEQ, 0.0, v.number(-inf), result);
  result = where(arith::CmpFPredicate::OEQ, inf, x, result);
  return where(arith::CmpFPredicate::ULT, 0.0, v.number(std::numeric_limits<double>::quiet_NaN()), result);
}

Value attn::emitQuotient(FunctionScope &f, Value lanes, Value divisor) {
  Floats v{f, divisor.getType()};
  OpBuilder &b = f.builder();
  // The reciprocal of what is very large or very small is none of f32: half of such an exponent is left for a second product.
  Value size = math::AbsFOp::create(b, f.loc(), divisor);
  auto beyond = [&](arith::CmpFPredicate how, double limit, double factor, Value otherwise) -> Value {
    Value is = arith::CmpFOp::create(b, f.loc(), how, size, v.number(limit));
    return arith::SelectOp::create(b, f.loc(), is, v.number(factor), otherwise);
  };
  Value scale = beyond(arith::CmpFPredicate::OGT, 0x1p100, 0x1p-64,
                       beyond(arith::CmpFPredicate::OLT, 0x1p-100, 0x1p64, v.number(1.0)));
  Value reciprocal = arith::DivFOp::create(b, f.loc(), v.number(1.0), v.mul(divisor, scale));
  int64_t count = cast<VectorType>(lanes.getType()).getNumElements();
  return v.mul(v.mul(lanes, f.splat(reciprocal, count)), f.splat(scale, count));
}

/// By way of f64, whose bits take an integer below 2^52 apart without a conversion that some machines lack.
Value attn::emitIntegerToFloat(FunctionScope &f, Value x, Type type) {
  OpBuilder &b = f.builder();
  auto lanes = cast<VectorType>(x.getType());
  // What was widened from fewer bits than 32, as stored elements are, converts from there: one instruction.
  if (Operation *wide = x.getDefiningOp(); isa_and_nonnull<arith::ExtSIOp, arith::ExtUIOp>(wide)) {
    Value stored = wide->getOperand(0);
    Type word = cast<VectorType>(stored.getType()).clone(b.getI32Type());
    if (getElementTypeOrSelf(stored.getType()).getIntOrFloatBitWidth() < 32) {
      Value narrow = isa<arith::ExtSIOp>(wide) ? arith::ExtSIOp::create(b, f.loc(), word, stored).getResult()
                                               : arith::ExtUIOp::create(b, f.loc(), word, stored).getResult();
      return arith::SIToFPOp::create(b, f.loc(), lanes.clone(type), narrow);
    }
  }
  Floats v{f, lanes.clone(b.getF64Type())};
  // The upper half, with its sign, times 2^32 and the lower one, each in the low bits of a number that is taken off again.
  Value high = arith::ShRSIOp::create(b, f.loc(), x, v.bitsNumber(32));
  Value low = arith::AndIOp::create(b, f.loc(), x, v.bitsNumber(0xFFFFFFFF));
  Value highBits = arith::AddIOp::create(b, f.loc(), high, v.bitsNumber(0x4338000000000000));
  Value lowBits = arith::OrIOp::create(b, f.loc(), low, v.bitsNumber(0x4330000000000000));
  Value upper = v.sub(v.fromBits(highBits), v.number(0x1.8p52)), lower = v.sub(v.fromBits(lowBits), v.number(0x1p52));
  Value sum = v.fma(upper, v.number(0x1p32), lower);
  return type.isF64() ? sum : arith::TruncFOp::create(b, f.loc(), lanes.clone(type), sum).getResult();
}

/// The same in f64: ln 2 in two parts, Taylor's polynomial on [-ln 2 / 2, ln 2 / 2], 2^n in two halves.
Value attn::emitExpDouble(FunctionScope &f, Value x) {
  Floats v{f, x.getType()};
  OpBuilder &b = f.builder();
  Value clamped = v.atMost(v.atLeast(x, -760.0), 720.0), shift = v.number(0x1.8p52);
  Value shifted = v.fma(clamped, v.number(1.4426950408889634), shift);
  Value whole = v.sub(shifted, shift);
  Value rest = v.fma(whole, v.number(-6.93147180369123816490e-01), clamped);
  rest = v.fma(whole, v.number(-1.90821492927058770002e-10), rest);
  SmallVector<double> coefficients{1.0};
  for (int n = 1; n < 14; ++n)
    coefficients.push_back(coefficients.back() / n);
  Value power = v.polynomial(rest, coefficients);
  // The fields keep the lowest bits only.
  Value n = arith::ShLIOp::create(b, f.loc(), v.bits(shifted), v.bitsNumber(12));
  n = arith::ShRSIOp::create(b, f.loc(), n, v.bitsNumber(12));
  Value half = arith::ShRSIOp::create(b, f.loc(), n, v.bitsNumber(1));
  Value other = arith::SubIOp::create(b, f.loc(), n, half);
  for (Value part : {half, other}) {
    Value field = arith::ShLIOp::create(b, f.loc(), part, v.bitsNumber(52));
    power = v.mul(power, v.fromBits(arith::AddIOp::create(b, f.loc(), field, v.bitsNumber(int64_t(1023) << 52))));
  }
  return power;
}

/// log in f64, reduced as emitLog does, with r and the largest terms in two parts each; coefficients of
/// (log((1 + r) / (1 - r)) - 2 r) / r^3 are those of fdlibm (Sun Microsystems, 1993).
Value attn::emitLogDouble(FunctionScope &f, Value x) {
  Floats v{f, x.getType()};
  OpBuilder &b = f.builder();
  auto where = [&](arith::CmpFPredicate how, double limit, Value yes, Value no) -> Value {
    Value holds = arith::CmpFOp::create(b, f.loc(), how, x, v.number(limit));
    return arith::SelectOp::create(b, f.loc(), holds, yes, no);
  };
  Value normal = where(arith::CmpFPredicate::OLT, 0x1p-1022, v.mul(x, v.number(0x1p54)), x);
  Value rootOfHalf = v.bitsNumber(0x3FE6A09E667F3BCD), width = v.bitsNumber(52);
  Value n = arith::ShRSIOp::create(b, f.loc(), arith::SubIOp::create(b, f.loc(), v.bits(normal), rootOfHalf), width);
  Value m = v.fromBits(arith::SubIOp::create(b, f.loc(), v.bits(normal), arith::ShLIOp::create(b, f.loc(), n, width)));
  // An integer below 2^51 as the last bits of 1.5 * 2^52: few machines convert lanes of 64 bits.
  Value shift = v.number(0x1.8p52);
  Value exponent = v.sub(v.fromBits(arith::AddIOp::create(b, f.loc(), n, v.bits(shift))), shift);
  exponent = v.sub(exponent, where(arith::CmpFPredicate::OLT, 0x1p-1022, v.number(54.0), v.number(0.0)));
  Value one = v.number(1.0), two = v.number(2.0), above = v.sub(m, one), below = v.add(m, one);
  auto quotient = [&](Value x) -> Value { return arith::DivFOp::create(b, f.loc(), x, below); };
  auto minus = [&](Value x) -> Value { return arith::NegFOp::create(b, f.loc(), x); };
  Value r = quotient(above), lost = v.fma(minus(r), v.sub(m, v.sub(below, one)), v.fma(minus(r), below, above));
  Value square = v.mul(r, r);
  Value series = v.polynomial(square, {6.666666666666735130e-01, 3.999999999940941908e-01, 2.857142874366239149e-01,
                                       2.222219843214978396e-01, 1.818357216161805012e-01, 1.531383769920937332e-01,
                                       1.479819860511658591e-01});
  // log 2 in two parts; the first has few bits, so its product is exact.
  Value whole = v.mul(exponent, v.number(6.93147180369123816490e-01)), sum = v.fma(two, r, whole);
  Value rest = v.fma(exponent, v.number(1.90821492927058770002e-10), v.fma(two, r, v.sub(whole, sum)));
  rest = v.fma(two, quotient(lost), v.fma(v.mul(r, square), series, rest));
  Value result = v.add(sum, rest);
  constexpr double inf = std::numeric_limits<double>::infinity();
  result = where(arith::CmpFPredicate::OEQ, 0.0, v.number(-inf), result);
  result = where(arith::CmpFPredicate::OEQ, inf, x, result);
  return where(arith::CmpFPredicate::ULT, 0.0, v.number(std::numeric_limits<double>::quiet_NaN()), result);
}

/// sin(x + quarters * pi / 2)
static Value emitSineFrom(FunctionScope &f, Value x, double quarters) {
  Floats v{f, x.getType()};
  OpBuilder &b = f.builder();
  auto round = [&](Value y) -> Value { return math::RoundEvenOp::create(b, f.loc(), y); };
  auto floor = [&](Value y) -> Value { return math::FloorOp::create(b, f.loc(), y); };
  // pi / 2 in three parts: with fused products the first two subtractions lose nothing.
  Value n = round(v.mul(x, v.number(0.6366197723675814)));
  Value r = v.fma(n, v.number(-1.5707963705062866), x);
  r = v.fma(n, v.number(4.371138828673793e-08), r);
  r = v.fma(n, v.number(1.7151245100058819e-15), r);
  Value square = v.mul(r, r);
  Value sine = v.polynomial(square, {-0.1666666464694774, 0.008332745294197955, -0.00019587248912425527});
  sine = v.fma(v.mul(r, square), sine, r);
  Value cosine = v.polynomial(square, {-0.5, 0.04166666464410678, -0.001388830005341667, 2.4547298762496707e-05});
  cosine = v.fma(square, cosine, v.number(1.0));
  // The quadrant, in floats: odd ones take the cosine, the upper two change the sign.
  Value quadrant = v.add(n, v.number(quarters));
  Value half = floor(v.mul(quadrant, v.number(0.5)));
  Value odd = v.fma(half, v.number(-2.0), quadrant);
  Value upper = v.fma(floor(v.mul(half, v.number(0.5))), v.number(-2.0), half);
  Value isOdd = arith::CmpFOp::create(b, f.loc(), arith::CmpFPredicate::OEQ, odd, v.number(1.0));
  Value result = arith::SelectOp::create(b, f.loc(), isOdd, cosine, sine);
  return v.mul(result, v.fma(upper, v.number(-2.0), v.number(1.0)));
}

Value attn::emitSine(FunctionScope &f, Value x) { return emitSineFrom(f, x, 0.0); }
Value attn::emitCosine(FunctionScope &f, Value x) { return emitSineFrom(f, x, 1.0); }

Value attn::emitPhilox(FunctionScope &f, Value seed, Value counter, Type result) {
  OpBuilder &b = f.builder();
  Type type = counter.getType();
  auto number = [&](int64_t value) -> Value {
    TypedAttr attr = b.getI64IntegerAttr(value);
    if (auto vector = dyn_cast<VectorType>(type))
      attr = DenseElementsAttr::get(vector, Attribute(attr));
    return arith::ConstantOp::create(b, f.loc(), attr);
  };
  auto low = [&](Value x) -> Value { return arith::AndIOp::create(b, f.loc(), x, number(0xFFFFFFFF)); };
  auto high = [&](Value x) -> Value { return arith::ShRUIOp::create(b, f.loc(), x, number(32)); };
  auto times = [&](Value x, int64_t y) -> Value { return arith::MulIOp::create(b, f.loc(), x, number(y)); };
  auto mix = [&](Value x, Value y, Value z) -> Value {
    return arith::XOrIOp::create(b, f.loc(), arith::XOrIOp::create(b, f.loc(), x, y), z);
  };
  Value words[4] = {low(counter), high(counter), number(0), number(0)};
  Value key0 = low(seed), key1 = high(seed);
  for (int round = 0; round < 10; ++round) {
    Value a = times(words[0], 0xD2511F53), c = times(words[2], 0xCD9E8D57);
    Value next[4] = {mix(high(c), words[1], key0), low(c), mix(high(a), words[3], key1), low(a)};
    std::copy(next, next + 4, words);
    key0 = low(arith::AddIOp::create(b, f.loc(), key0, number(0x9E3779B9)));
    key1 = low(arith::AddIOp::create(b, f.loc(), key1, number(0xBB67AE85)));
  }
  Value bits = arith::ShRUIOp::create(b, f.loc(), words[0], number(8));
  Type floats = isa<VectorType>(type) ? Type(cast<VectorType>(type).clone(result)) : result;
  Value uniform = arith::SIToFPOp::create(b, f.loc(), floats, bits);
  return arith::MulFOp::create(b, f.loc(), uniform, f.constant(floats, 1.0 / (1 << 24)));
}
