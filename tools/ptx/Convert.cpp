// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// cvt between integers and floats, and of two floats into one register.
#include "tools/ptx/Lanes.h"

namespace attn::ptx {

namespace {
double least(Type type) { return isSigned(type) ? -std::ldexp(1.0, 8 * typeBytes(type) - 1) : 0; }
/// The first whole number beyond the type.
double beyond(Type type) { return std::ldexp(1.0, 8 * typeBytes(type) - (isSigned(type) ? 1 : 0)); }
uint64_t greatestBits(Type type) { return ~0ull >> (64 - 8 * typeBytes(type) + (isSigned(type) ? 1 : 0)); }

/// The low bits of `type` as 64, by its sign.
uint64_t extend(Type type, uint64_t bits) {
  unsigned unused = 64 - 8 * typeBytes(type);
  return isSigned(type) ? uint64_t(int64_t(bits << unused) >> unused) : bits << unused >> unused;
}

double loadFloat(const Instruction &in, uint64_t bits) {
  double value = decodeFloat(in.source, bits);
  return in.flush && in.source == Type::F32 && std::fabs(value) < 0x1p-126 ? std::copysign(0.0, value) : value;
}

uint64_t storeFloat(const Instruction &in, double value, Type type) {
  if (in.saturate)
    value = value > 0 ? std::min(value, 1.0) : 0;
  if (in.relu && value < 0)
    value = 0;
  uint64_t bits = encodeFloat(type, value, in.rounding);
  // .satfinite: the greatest number instead of an infinity.
  if (in.nan && !std::isnan(value) && std::isinf(decodeFloat(type, bits)))
    bits -= type == Type::TF32 ? 1u << 13 : 1;
  if (type == Type::F32 && in.flush && !(bits & 0x7f800000))
    bits &= 0x80000000;
  return bits;
}

void integerToInteger(Warp &warp, const Instruction &in, uint32_t active) {
  eachLane(active, [&](unsigned i) {
    uint64_t value = extend(in.source, warp.row(in.from[0])[i]);
    if (in.saturate) {
      __int128 wide = isSigned(in.source) ? __int128(int64_t(value)) : __int128(value);
      __int128 top = greatestBits(in.type), bottom = isSigned(in.type) ? -top - 1 : 0;
      value = uint64_t(std::clamp(wide, bottom, top));
    }
    warp.row(in.to[0])[i] = extend(in.type, value);
  });
}

void floatToInteger(Warp &warp, const Instruction &in, uint32_t active) {
  eachLane(active, [&](unsigned i) {
    double value = roundToInteger(loadFloat(in, warp.row(in.from[0])[i]), in.rounding);
    uint64_t result;
    if (std::isnan(value))
      result = in.source == Type::F64 || typeBytes(in.type) == 8 ? 1ull << (8 * typeBytes(in.type) - 1) : 0;
    else if (value < least(in.type))
      result = isSigned(in.type) ? ~greatestBits(in.type) : 0;
    else if (value >= beyond(in.type))
      result = greatestBits(in.type);
    else
      result = value < 0 ? uint64_t(int64_t(value)) : uint64_t(value);
    warp.row(in.to[0])[i] = extend(in.type, result);
  });
}

void integerToFloat(Warp &warp, const Instruction &in, uint32_t active) {
  eachLane(active, [&](unsigned i) {
    uint64_t bits = extend(in.source, warp.row(in.from[0])[i]);
    bool negative = isSigned(in.source) && int64_t(bits) < 0;
    uint64_t magnitude = negative ? -bits : bits;
    // Two halves that are exact; their sum is rounded to odd unless it is the result.
    double high = double(magnitude >> 32) * 0x1p32, low = double(uint32_t(magnitude));
    double value = in.type == Type::F64 ? high + low : addToOdd(high, low);
    warp.row(in.to[0])[i] = storeFloat(in, negative ? -value : value, in.type);
  });
}

/// `detail`: the result is a whole number.
void floatToFloat(Warp &warp, const Instruction &in, uint32_t active) {
  eachLane(active, [&](unsigned i) {
    double value = loadFloat(in, warp.row(in.from[0])[i]);
    warp.row(in.to[0])[i] = storeFloat(in, in.detail ? roundToInteger(value, in.rounding) : value, in.type);
  });
}

/// The first operand goes to the upper half.
void packFloats(Warp &warp, const Instruction &in, uint32_t active) {
  Type half = in.type == Type::F16x2 ? Type::F16 : Type::BF16;
  eachLane(active, [&](unsigned i) {
    uint64_t high = storeFloat(in, loadFloat(in, warp.row(in.from[0])[i]), half);
    uint64_t low = storeFloat(in, loadFloat(in, warp.row(in.from[1])[i]), half);
    warp.row(in.to[0])[i] = high << 16 | low;
  });
}

void takeConvert(Form &form) {
  Instruction &in = form.instruction;
  bool whole = false;
  for (llvm::StringRef name : {"rni", "rzi", "rmi", "rpi"})
    if (form.take(name)) {
      in.rounding = Rounding(llvm::StringRef("nzmp").find(name[1]));
      whole = true;
    }
  if (!whole)
    form.takeRounding();
  in.flush = form.take("ftz");
  in.saturate = form.take("sat");
  in.nan = form.take("satfinite");
  in.relu = form.take("relu");
  in.type = form.takeType();
  in.source = form.takeType();
  in.kind = isFloat(in.type) || isFloat(in.source) ? Class::Float : Class::Integer;
  form.dest(0);
  form.source(1, in.source);
  form.expected = 2;
  if (isPacked(in.type)) {
    if (in.source != Type::F32)
      form.fail("only from .f32");
    form.source(2, in.source);
    form.expected = 3;
    in.run = packFloats;
    return;
  }
  for (Type type : {in.type, in.source})
    if (type == Type::Pred || isBits(type) || isPacked(type))
      form.fail("not for ." + typeName(type));
  in.detail = whole;
  in.run = isFloat(in.type)     ? isFloat(in.source) ? floatToFloat : integerToFloat
           : isFloat(in.source) ? floatToInteger
                                : integerToInteger;
}
} // namespace

void addConvertOpcodes(llvm::StringMap<Decode> &table) { table["cvt"] = takeConvert; }

} // namespace attn::ptx
