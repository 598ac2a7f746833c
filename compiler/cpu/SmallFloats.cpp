//===- SmallFloats.cpp - floats of 8 bits -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "compiler/cpu/SmallFloats.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace attn;

namespace {

/// Integer arithmetic on bits, scalar or lanes as the values are.
struct Bits {
  OpBuilder &b;
  Location loc;

  static Type like(Value value, Type element) {
    auto vector = dyn_cast<VectorType>(value.getType());
    return vector ? Type(vector.clone(element)) : element;
  }
  Value number(Value like, int64_t value) {
    Type element = getElementTypeOrSelf(like.getType());
    TypedAttr attr = b.getIntegerAttr(element, value);
    if (auto vector = dyn_cast<VectorType>(like.getType()))
      attr = DenseElementsAttr::get(vector, Attribute(attr));
    return arith::ConstantOp::create(b, loc, attr);
  }
  Value add(Value x, int64_t y) { return arith::AddIOp::create(b, loc, x, number(x, y)); }
  Value both(Value x, int64_t mask) { return arith::AndIOp::create(b, loc, x, number(x, mask)); }
  Value either(Value x, Value y) { return arith::OrIOp::create(b, loc, x, y); }
  Value left(Value x, int64_t by) { return arith::ShLIOp::create(b, loc, x, number(x, by)); }
  Value right(Value x, int64_t by) { return arith::ShRUIOp::create(b, loc, x, number(x, by)); }
  Value above(Value x, int64_t y) {
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ugt, x, number(x, y));
  }
  Value select(Value condition, Value x, Value y) { return arith::SelectOp::create(b, loc, condition, x, y); }
  Value cast(Value x, Type element) { return arith::BitcastOp::create(b, loc, like(x, element), x); }
};

/// What tells the two formats apart; see runtime.h for their names.
struct Format {
  int mantissa;        ///< bits
  int least;           ///< exponent of the smallest normal number
  double largest;
  int64_t nan;         ///< the bits of one, without sign

  static Format of(Type element) {
    return isa<Float8E5M2Type>(element) ? Format{2, -14, 57344.0, 0x7E} : Format{3, -6, 448.0, 0x7F};
  }
};

} // namespace

Value attn::widenSmallFloat(FunctionScope &f, Value stored, Type element) {
  Bits bits{f.builder(), f.loc()};
  Type i16 = f.builder().getIntegerType(16), wide = Bits::like(stored, f.builder().getF32Type());
  Value word = arith::ExtUIOp::create(f.builder(), f.loc(), Bits::like(stored, i16), stored);
  // The upper half of an f16 is an e5m2.
  if (isa<Float8E5M2Type>(element))
    return arith::ExtFOp::create(f.builder(), f.loc(), wide, bits.cast(bits.left(word, 8), f.builder().getF16Type()));
  // One exponent bit less: the same fields one place further down are the number / 2^8.
  Value magnitude = bits.both(word, 0x7F);
  Value half = bits.either(bits.left(bits.both(word, 0x80), 8), bits.left(magnitude, 7));
  Value scaled = arith::ExtFOp::create(f.builder(), f.loc(), wide, bits.cast(half, f.builder().getF16Type()));
  scaled = arith::MulFOp::create(f.builder(), f.loc(), scaled, f.constant(wide, 256.0));
  Value isNaN = bits.above(magnitude, 0x7E);
  return bits.select(isNaN, f.constant(wide, std::numeric_limits<double>::quiet_NaN()), scaled);
}

Value attn::narrowToSmallFloat(FunctionScope &f, Value value, Type element) {
  OpBuilder &b = f.builder();
  Bits bits{b, f.loc()};
  Format format = Format::of(element);
  auto from = cast<FloatType>(getElementTypeOrSelf(value.getType()));
  const llvm::fltSemantics &semantics = from.getFloatSemantics();
  int width = from.getWidth(), mantissa = from.getFPMantissaWidth() - 1, bias = width == 64 ? 1023 : 127;
  auto bitsOf = [&](double number) {
    llvm::APFloat exact(number);
    bool loses;
    exact.convert(semantics, llvm::APFloat::rmNearestTiesToEven, &loses);
    return int64_t(exact.bitcastToAPInt().getZExtValue());
  };

  Value whole = bits.cast(value, b.getIntegerType(width));
  Value magnitude = bits.both(whole, int64_t((uint64_t(1) << (width - 1)) - 1));
  Value isNaN = bits.above(magnitude, bitsOf(std::numeric_limits<double>::infinity()));
  Value tooLarge = bits.above(magnitude, bitsOf(format.largest));
  Value limited = bits.select(tooLarge, bits.number(magnitude, bitsOf(format.largest)), magnitude);

  // A normal number: half a unit less one, and one more where the last bit is set, carry as rounding to even does.
  int dropped = mantissa - format.mantissa;
  Value odd = bits.both(bits.right(limited, dropped), 1);
  Value rounded = bits.add(limited, (int64_t(1) << (dropped - 1)) - 1);
  rounded = arith::AddIOp::create(b, f.loc(), rounded, odd);
  Value normal = bits.add(bits.right(rounded, dropped), -(int64_t(bias + format.least - 1) << format.mantissa));
  // A subnormal one: beside a number whose last bit is one unit, the sum is rounded to units.
  double beside = std::ldexp(1.0, mantissa + format.least - format.mantissa);
  Value sum = arith::AddFOp::create(b, f.loc(), bits.cast(limited, from), f.constant(value.getType(), beside));
  Value subnormal = bits.add(bits.cast(sum, b.getIntegerType(width)), -bitsOf(beside));

  Value isNormal = bits.above(limited, bitsOf(std::ldexp(1.0, format.least)) - 1);
  Value result = bits.select(isNormal, normal, subnormal);
  result = bits.select(isNaN, bits.number(result, format.nan), result);
  result = bits.either(result, bits.both(bits.right(whole, width - 8), 0x80));
  return arith::TruncIOp::create(b, f.loc(), Bits::like(result, b.getIntegerType(8)), result);
}
