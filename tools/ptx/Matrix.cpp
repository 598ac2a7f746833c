// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// ldmatrix, stmatrix, movmatrix and mma.sync.
//
// A product of elements is exact in f32, tf32 and integers included. A sum begins with the accumulator and adds the
// products in the order of k, each addition rounded to f32; hardware may add in another order and with other roundings,
// so compare within a bound for any order.
#include "tools/ptx/Lanes.h"

namespace attn::ptx {

namespace {
/// Warp-wide instructions need all lanes.
bool isWhole(Warp &warp, const Instruction &in, uint32_t active) {
  if (active == kAllLanes)
    return true;
  warp.fault(FaultKind::Exchange, in, __builtin_ctz(~active), "this lane does not take part in a matrix instruction");
  return false;
}

/// Where lane `lane` has element `j` of its register: matrix rows are spread over four lanes.
struct Place {
  unsigned row, column;
};
Place placeIn8x8(unsigned lane, unsigned j, bool transposed) {
  Place place = {lane / 4, lane % 4 * 2 + j};
  return transposed ? Place{place.column, place.row} : place;
}

/// `detail`: transposed.
void loadMatrix(Warp &warp, const Instruction &in, uint32_t active) {
  if (!isWhole(warp, in, active))
    return;
  std::array<Address, kLanes> addresses;
  std::array<std::array<uint16_t, 8>, kLanes> rows = {};
  uint32_t givers = uint32_t((1ull << (8 * in.count)) - 1);
  eachLane(givers, [&](unsigned i) {
    addresses[i] = Warp::resolve(in.space, warp.address(in, i));
    if (const uint8_t *place = warp.access(in, i, addresses[i], 16, AccessKind::Load))
      std::memcpy(rows[i].data(), place, 16);
  });
  for (unsigned matrix = 0; matrix < in.count; ++matrix)
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      uint64_t value = 0;
      for (unsigned j = 0; j < 2; ++j) {
        Place place = placeIn8x8(lane, j, in.detail);
        value |= uint64_t(rows[8 * matrix + place.row][place.column]) << (16 * j);
      }
      warp.row(in.to[matrix])[lane] = value;
    }
  warp.count(in, givers, addresses.data(), 16, false);
}

void storeMatrix(Warp &warp, const Instruction &in, uint32_t active) {
  if (!isWhole(warp, in, active))
    return;
  std::array<Address, kLanes> addresses;
  std::array<std::array<uint16_t, 8>, kLanes> rows;
  for (unsigned matrix = 0; matrix < in.count; ++matrix)
    for (unsigned lane = 0; lane < kLanes; ++lane)
      for (unsigned j = 0; j < 2; ++j) {
        Place place = placeIn8x8(lane, j, in.detail);
        rows[8 * matrix + place.row][place.column] = uint16_t(warp.row(in.from[1 + matrix])[lane] >> (16 * j));
      }
  uint32_t takers = uint32_t((1ull << (8 * in.count)) - 1);
  eachLane(takers, [&](unsigned i) {
    addresses[i] = Warp::resolve(in.space, warp.address(in, i));
    if (uint8_t *place = warp.access(in, i, addresses[i], 16, AccessKind::Store))
      std::memcpy(place, rows[i].data(), 16);
  });
  warp.count(in, takers, addresses.data(), 16, true);
}

void transposeMatrix(Warp &warp, const Instruction &in, uint32_t active) {
  if (!isWhole(warp, in, active))
    return;
  uint16_t matrix[8][8];
  for (unsigned lane = 0; lane < kLanes; ++lane)
    for (unsigned j = 0; j < 2; ++j)
      matrix[lane / 4][lane % 4 * 2 + j] = uint16_t(warp.row(in.from[0])[lane] >> (16 * j));
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    uint64_t value = 0;
    for (unsigned j = 0; j < 2; ++j) {
      Place place = placeIn8x8(lane, j, true);
      value |= uint64_t(matrix[place.row][place.column]) << (16 * j);
    }
    warp.row(in.to[0])[lane] = value;
  }
}

template <bool loads>
void takeMatrixMove(Form &form) {
  Instruction &in = form.instruction;
  bool known = form.take("sync") && form.take("aligned") && form.take("m8n8");
  in.kind = loads ? Class::Load : Class::Store;
  in.count = form.take("x4") ? 4 : form.take("x2") ? 2 : 1;
  if (in.count == 1 && !form.take("x1"))
    known = false;
  in.detail = form.take("trans");
  in.space = form.takeSpace();
  if (!known || form.takeType() != Type::B16)
    form.fail("only .sync.aligned.m8n8 of .b16 is simulated");
  form.expected = 2;
  if (loads)
    form.dests(0, in.count);
  form.address(loads ? 1 : 0, in.space);
  if (!loads)
    form.sources(1, Type::B32, in.count);
  in.run = loads ? loadMatrix : storeMatrix;
}

void takeTranspose(Form &form) {
  if (!form.take("sync") || !form.take("aligned") || !form.take("m8n8") || !form.take("trans"))
    form.fail("only .sync.aligned.m8n8.trans is simulated");
  takeOperands(form, form.takeType(), 1);
  form.instruction.kind = Class::Exchange;
  form.instruction.run = transposeMatrix;
}

/// Elements of A, B, C as T; C's are f32, f16 or s32.
template <typename T>
T element(Type type, uint64_t bits) {
  switch (type) {
  case Type::S8:
    return T(int8_t(bits));
  case Type::U8:
    return T(uint8_t(bits));
  case Type::S32:
    return T(int32_t(bits));
  case Type::F16:
    return T(halfToFloat(uint16_t(bits)));
  case Type::BF16:
    return T(bfloatToFloat(uint16_t(bits)));
  case Type::TF32:
    return T(fromBits<float>(bits & ~0x1fffull));
  default:
    return T(fromBits<float>(bits));
  }
}

/// m16n8k`count`. A lane is in group lane / 4, and the lane % 4th of it. A register has 4 / size elements side by side.
/// type and source are those of A and B, `detail` those of D and C.
template <typename T>
void multiply(Warp &warp, const Instruction &in, uint32_t active) {
  if (!isWhole(warp, in, active))
    return;
  Type typeD = Type(in.detail & 0xff), typeC = Type(in.detail >> 8);
  unsigned k = in.count, bits = 8 * typeBytes(in.type), wide = 32 / bits;
  unsigned registersA = k * 4 / wide / 8, registersB = registersA / 2;
  static thread_local T a[16][32], b[32][8], c[16][8];
  const uint32_t *from = in.from.data();
  for (unsigned index = 0; index < registersA; ++index)
    for (unsigned lane = 0; lane < kLanes; ++lane)
      for (unsigned j = 0; j < wide; ++j)
        a[lane / 4 + 8 * (index & 1)][lane % 4 * wide + j + 4 * wide * (index >> 1)] =
            element<T>(in.type, warp.row(from[index])[lane] >> (bits * j));
  from += registersA;
  for (unsigned index = 0; index < registersB; ++index)
    for (unsigned lane = 0; lane < kLanes; ++lane)
      for (unsigned j = 0; j < wide; ++j)
        b[lane % 4 * wide + j + 4 * wide * index][lane / 4] =
            element<T>(in.source, warp.row(from[index])[lane] >> (bits * j));
  from += registersB;
  for (unsigned lane = 0; lane < kLanes; ++lane)
    for (unsigned i = 0; i < 4; ++i) {
      uint64_t value = typeC == Type::F16 ? warp.row(from[i / 2])[lane] >> (16 * (i & 1)) : warp.row(from[i])[lane];
      c[lane / 4 + 8 * (i / 2)][lane % 4 * 2 + (i & 1)] = element<T>(typeC, value);
    }
  for (unsigned m = 0; m < 16; ++m)
    for (unsigned i = 0; i < k; ++i)
      for (unsigned n = 0; n < 8; ++n)
        c[m][n] += a[m][i] * b[i][n];
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    auto result = [&](unsigned i) { return c[lane / 4 + 8 * (i / 2)][lane % 4 * 2 + (i & 1)]; };
    for (unsigned i = 0; i < 4; ++i)
      if constexpr (std::is_integral_v<T>)
        warp.row(in.to[i])[lane] = uint32_t(in.saturate ? std::clamp<T>(result(i), INT32_MIN, INT32_MAX) : result(i));
      else if (typeD == Type::F32)
        warp.row(in.to[i])[lane] = encodeFloat(Type::F32, result(i));
      else if (i % 2)
        warp.row(in.to[i / 2])[lane] = encodeFloat(Type::F16, result(i - 1)) | encodeFloat(Type::F16, result(i)) << 16;
  }
  warp.cta.report.counters.matrixProducts += 16 * 8 * k;
}

void takeMultiply(Form &form) {
  Instruction &in = form.instruction;
  in.kind = Class::Matrix;
  form.expected = 4;
  if (!form.take("sync") || !form.take("aligned") || !form.take("row") || !form.take("col"))
    return form.fail("only .sync.aligned with .row.col is simulated");
  in.saturate = form.take("satfinite");
  unsigned depths[] = {4, 8, 16, 32};
  int depth = form.takeOneOf({"m16n8k4", "m16n8k8", "m16n8k16", "m16n8k32"});
  Type d = form.takeType();
  in.type = form.takeType();
  in.source = form.takeType();
  Type c = form.takeType();
  if (depth < 0 || form.failed())
    return form.fail("its shape is not simulated");
  in.count = depths[depth];
  unsigned size = typeBytes(in.type);
  bool integer = size == 1;
  bool known = integer
                   ? (in.type == Type::S8 || in.type == Type::U8) && (in.source == Type::S8 || in.source == Type::U8) &&
                         d == Type::S32 && c == Type::S32
                   : in.type == in.source &&
                         ((d == Type::F32 && c == Type::F32) || (in.type == Type::F16 && d == c && d == Type::F16)) &&
                         (in.type == Type::F16 || in.type == Type::BF16 || in.type == Type::TF32);
  // A register row of A is 16 or 32 bytes.
  if (!known || (in.count * size != 16 && in.count * size != 32))
    return form.fail("its types with this shape are not simulated");
  in.detail = unsigned(d) | unsigned(c) << 8;
  unsigned registersA = in.count * size / 8;
  form.dests(0, d == Type::F16 ? 2 : 4);
  form.sources(1, Type::B32, registersA);
  form.sources(2, Type::B32, registersA / 2);
  form.sources(3, Type::B32, c == Type::F16 ? 2 : 4);
  in.run = integer ? multiply<int64_t> : multiply<float>;
}
} // namespace

void addMatrixOpcodes(llvm::StringMap<Decode> &table) {
  table["ldmatrix"] = takeMatrixMove<true>;
  table["stmatrix"] = takeMatrixMove<false>;
  table["movmatrix"] = takeTranspose;
  table["mma"] = takeMultiply;
}

} // namespace attn::ptx
