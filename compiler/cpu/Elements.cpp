//===- Elements.cpp - from stored elements to values and back ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loads widen exactly; stores round to the nearest, even on a tie, and saturate.
//===----------------------------------------------------------------------===//
#include "compiler/cpu/Expressions.h"
#include "compiler/cpu/SmallFloats.h"

using namespace mlir;
using namespace attn;

Type attn::memoryType(Type element) {
  // As bits: back ends break vectors of half floats apart, or call a library for them.
  if (isa<FloatType>(element) && element.getIntOrFloatBitWidth() <= 16)
    return IntegerType::get(element.getContext(), element.getIntOrFloatBitWidth());
  if (auto integer = dyn_cast<IntegerType>(element))
    return IntegerType::get(element.getContext(), std::max(8u, integer.getWidth()));
  return element;
}

static Type shapedLike(Value value, Type element) {
  auto vector = dyn_cast<VectorType>(value.getType());
  return vector ? Type(vector.clone(element)) : element;
}

/// A vector of 32 bytes has two halves: each takes its lanes from a copy of all eight, which a load makes, in one shuffle, while
/// widening and shifting takes two instructions, of which one competes with multiply-adds.
static Value raiseEight(FunctionScope &f, Value bits) {
  OpBuilder &b = f.builder();
  SmallVector<int64_t> twice, raised;
  for (int64_t i = 0; i < 16; ++i) {
    twice.push_back(i % 8);
    raised.push_back(i % 2 ? i / 2 + (i / 8) * 8 : 16 + i);
  }
  Value copies = vector::ShuffleOp::create(b, f.loc(), bits, bits, twice);
  Value zeros = arith::ConstantOp::create(b, f.loc(), b.getZeroAttr(copies.getType()));
  Value upper = vector::ShuffleOp::create(b, f.loc(), copies, zeros, raised);
  return vector::BitCastOp::create(b, f.loc(), f.vectorOf(8, b.getF32Type()), upper);
}

/// bf16 is the upper half of an f32; f16 has instructions.
static Value widenHalf(FunctionScope &f, Value bits, Type element) {
  OpBuilder &b = f.builder();
  Type wide = shapedLike(bits, b.getF32Type());
  if (!element.isBF16()) {
    Value half = arith::BitcastOp::create(b, f.loc(), shapedLike(bits, element), bits);
    return arith::ExtFOp::create(b, f.loc(), wide, half);
  }
  if (auto vector = dyn_cast<VectorType>(wide); vector && vector.getNumElements() == 8)
    return raiseEight(f, bits);
  Type word = shapedLike(bits, b.getI32Type());
  TypedAttr sixteen = b.getI32IntegerAttr(16);
  if (auto vector = dyn_cast<VectorType>(word))
    sixteen = DenseElementsAttr::get(vector, Attribute(sixteen));
  Value shift = arith::ConstantOp::create(b, f.loc(), sixteen);
  Value upper = arith::ShLIOp::create(b, f.loc(), arith::ExtUIOp::create(b, f.loc(), word, bits), shift);
  return arith::BitcastOp::create(b, f.loc(), wide, upper);
}

Value attn::widenStored(FunctionScope &f, Value stored, Type element, Type wide) {
  OpBuilder &b = f.builder();
  Type type = shapedLike(stored, wide);
  if (element.isInteger(1)) {
    TypedAttr zero = b.getZeroAttr(stored.getType());
    return arith::CmpIOp::create(b, f.loc(), arith::CmpIPredicate::ne, stored,
                                 arith::ConstantOp::create(b, f.loc(), zero));
  }
  if (isa<FloatType>(element) && element.getIntOrFloatBitWidth() == 16)
    stored = widenHalf(f, stored, element);
  if (isSmallFloat(element))
    stored = widenSmallFloat(f, stored, element);
  if (stored.getType() == type)
    return stored;
  if (isa<FloatType>(element))
    return arith::ExtFOp::create(b, f.loc(), type, stored);
  if (element.isUnsignedInteger())
    return arith::ExtUIOp::create(b, f.loc(), type, stored);
  return arith::ExtSIOp::create(b, f.loc(), type, stored);
}

/// Smallest and largest value of a stored integer.
static std::pair<int64_t, int64_t> rangeOf(IntegerType type) {
  if (type.getWidth() == 64)
    return {INT64_MIN, INT64_MAX};
  int64_t span = int64_t(1) << type.getWidth();
  return type.isUnsigned() ? std::pair<int64_t, int64_t>(0, span - 1)
                           : std::pair<int64_t, int64_t>(-span / 2, span / 2 - 1);
}

static Value integerLike(FunctionScope &f, Type type, int64_t value) {
  TypedAttr attr = f.builder().getI64IntegerAttr(value);
  if (auto vector = dyn_cast<VectorType>(type))
    attr = DenseElementsAttr::get(vector, Attribute(attr));
  return arith::ConstantOp::create(f.builder(), f.loc(), attr);
}

/// Rounds a float to the nearest even integer within the range; NaN gives 0.
static Value floatToInteger(FunctionScope &f, Value value, std::pair<int64_t, int64_t> range) {
  OpBuilder &b = f.builder();
  Location loc = f.loc();
  Type wide = shapedLike(value, b.getF64Type());
  if (!getElementTypeOrSelf(value.getType()).isF64())
    value = arith::ExtFOp::create(b, loc, wide, value);
  Value rounded = math::RoundEvenOp::create(b, loc, value);
  Value isNumber = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::ORD, rounded, rounded);
  rounded = arith::SelectOp::create(b, loc, isNumber, rounded, f.constant(wide, 0.0));
  // 2^63 is not an i64: clamp below it, as far as a double goes.
  double high = range.second == INT64_MAX ? 9223372036854774784.0 : double(range.second);
  rounded = arith::MinNumFOp::create(b, loc, rounded, f.constant(wide, high));
  rounded = arith::MaxNumFOp::create(b, loc, rounded, f.constant(wide, double(range.first)));
  return arith::FPToSIOp::create(b, loc, shapedLike(value, b.getI64Type()), rounded);
}

Value attn::narrowToStored(FunctionScope &f, Value value, Type element) {
  OpBuilder &b = f.builder();
  Location loc = f.loc();
  Type from = getElementTypeOrSelf(value.getType());
  if (isSmallFloat(element)) {
    if (isa<IntegerType>(from)) // What f32 rounds is past the largest number.
      value = arith::SIToFPOp::create(b, loc, shapedLike(value, b.getF32Type()), value);
    return narrowToSmallFloat(f, value, element);
  }
  if (auto narrow = dyn_cast<FloatType>(element)) {
    Type type = shapedLike(value, narrow), memory = shapedLike(value, memoryType(element));
    if (isa<IntegerType>(from))
      value = arith::SIToFPOp::create(b, loc, type, value);
    else if (narrow.getWidth() > cast<FloatType>(from).getWidth())
      value = arith::ExtFOp::create(b, loc, type, value);
    else if (from != element)
      value = arith::TruncFOp::create(b, loc, type, value);
    return memory == type ? value : arith::BitcastOp::create(b, loc, memory, value).getResult();
  }
  auto integer = cast<IntegerType>(element);
  Type stored = shapedLike(value, memoryType(element));
  if (integer.getWidth() == 1)
    return arith::ExtUIOp::create(b, loc, stored, value);
  auto range = rangeOf(integer);
  if (isa<FloatType>(from)) {
    value = floatToInteger(f, value, range);
  } else if (integer.getWidth() < 64) {
    value = arith::MinSIOp::create(b, loc, value, integerLike(f, value.getType(), range.second));
    value = arith::MaxSIOp::create(b, loc, value, integerLike(f, value.getType(), range.first));
  }
  return integer.getWidth() == 64 ? value : arith::TruncIOp::create(b, loc, stored, value).getResult();
}
