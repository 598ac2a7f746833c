//===- MatrixTiles.cpp - products of tiles in AMX registers -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Registers are named here and not left to LLVM: a block uses all eight, and a tile that is copied goes through memory.
//===----------------------------------------------------------------------===//
#include "compiler/cpu/MatrixTiles.h"

using namespace mlir;
using namespace attn;

static constexpr int64_t firstLeft = 4, firstRight = 6;

static void intrinsic(FunctionScope &f, StringRef name, ArrayRef<int64_t> registers, ValueRange operands = {}) {
  OpBuilder &b = f.builder();
  SmallVector<Value> all;
  for (int64_t number : registers)
    all.push_back(LLVM::ConstantOp::create(b, f.loc(), b.getI8Type(), b.getI8IntegerAttr(number)));
  llvm::append_range(all, operands);
  LLVM::CallIntrinsicOp::create(b, f.loc(), b.getStringAttr("llvm.x86." + name), all);
}

void attn::startTiles(FunctionScope &f, Value room) {
  // Palette 1; from byte 16 on the bytes of each register's rows, from byte 48 on their number.
  SmallVector<int8_t> bytes(64, 0);
  bytes[0] = 1;
  for (int64_t tile = 0; tile < 8; ++tile) {
    bytes[16 + 2 * tile] = 64;
    bytes[48 + tile] = tileRows;
  }
  OpBuilder &b = f.builder();
  auto type = f.vectorOf(64, b.getI8Type());
  f.store(arith::ConstantOp::create(b, f.loc(), DenseElementsAttr::get(type, ArrayRef<int8_t>(bytes))), room, f.i64(0));
  intrinsic(f, "ldtilecfg", {}, {room});
}

void attn::endTiles(FunctionScope &f) { intrinsic(f, "tilerelease", {}); }

void attn::emitTileProduct(FunctionScope &f, const TileProduct &product) {
  auto overSums = [&](llvm::function_ref<void(int64_t, int64_t, int64_t)> body) {
    for (int64_t i = 0; i < product.leftTiles; ++i)
      for (int64_t j = 0; j < product.rightTiles; ++j)
        body(2 * i + j, i, j);
  };
  auto load = [&](int64_t number, TilePlace place) {
    intrinsic(f, "tileloadd64", {number}, {place.address, place.pitch});
  };
  overSums([&](int64_t sum, int64_t i, int64_t j) {
    if (product.accumulates)
      load(sum, product.sums(i, j));
    else
      intrinsic(f, "tilezero", {sum});
  });
  for (auto [leftPart, rightPart] : product.parts)
    f.loop(product.from, product.to, f.i64(1), [&, leftPart = leftPart, rightPart = rightPart](Value step) {
      for (int64_t j = 0; j < product.rightTiles; ++j)
        load(firstRight + j, product.right(j, rightPart, step));
      for (int64_t i = 0; i < product.leftTiles; ++i) {
        load(firstLeft + i, product.left(i, leftPart, step));
        for (int64_t j = 0; j < product.rightTiles; ++j)
          intrinsic(f, "tdpbf16ps", {2 * i + j, firstLeft + i, firstRight + j});
      }
    });
  overSums([&](int64_t sum, int64_t i, int64_t j) {
    TilePlace place = product.sums(i, j);
    intrinsic(f, "tilestored64", {sum}, {place.address, place.pitch});
  });
}

Value attn::interleaved(FunctionScope &f, Value first, Value second) {
  return vector::InterleaveOp::create(f.builder(), f.loc(), first, second);
}

Value attn::pairsOf(FunctionScope &f, Value first, Value second) {
  OpBuilder &b = f.builder();
  int64_t lanes = cast<VectorType>(first.getType()).getNumElements();
  // One instruction rounds both; LLVM's own roundings keep subnormal numbers, and take eight.
  Value halves = LLVM::CallIntrinsicOp::create(b, f.loc(), f.vectorOf(2 * lanes, b.getBF16Type()),
                                               b.getStringAttr("llvm.x86.avx512bf16.cvtne2ps2bf16.512"),
                                               ValueRange{second, first})
                     .getResults();
  SmallVector<int64_t> order;
  for (int64_t i = 0; i < lanes; ++i)
    order.append({i, lanes + i});
  return vector::ShuffleOp::create(b, f.loc(), halves, halves, order);
}

namespace {
/// Bits of lanes of f32.
struct Bits {
  FunctionScope &f;
  VectorType floats;
  VectorType type = floats.clone(f.builder().getI32Type());

  Value number(uint32_t bits) {
    return arith::ConstantOp::create(f.builder(), f.loc(), DenseElementsAttr::get(type, APInt(32, bits)));
  }
  Value of(Value lanes) { return arith::BitcastOp::create(f.builder(), f.loc(), type, lanes); }
  Value asFloats(Value bits) { return arith::BitcastOp::create(f.builder(), f.loc(), floats, bits); }
  Value both(Value bits, uint32_t mask) { return arith::AndIOp::create(f.builder(), f.loc(), bits, number(mask)); }
};
constexpr uint32_t upperHalf = 0xFFFF0000, sign = 0x80000000;
} // namespace

FunctionScope::Values attn::partsOf(FunctionScope &f, Value lanes, int64_t parts) {
  if (parts == 1)
    return {lanes};
  OpBuilder &b = f.builder();
  Bits bits{f, cast<VectorType>(lanes.getType())};
  Value all = bits.of(lanes), size = bits.both(all, ~sign);
  // The next number towards 0, cut off: less than the number, whatever its lower bits are.
  Value less = arith::SubIOp::create(b, f.loc(), arith::MaxUIOp::create(b, f.loc(), size, bits.number(1)), bits.number(1));
  Value cut = arith::OrIOp::create(b, f.loc(), bits.both(less, upperHalf), bits.both(all, sign));
  Value large = bits.asFloats(cut);
  return {large, arith::SubFOp::create(b, f.loc(), lanes, large)};
}

FunctionScope::Values attn::pairsOf(FunctionScope &f, Value first, Value second, int64_t parts) {
  Value large = pairsOf(f, first, second);
  if (parts == 1)
    return {large};
  OpBuilder &b = f.builder();
  Bits bits{f, cast<VectorType>(first.getType())};
  Value both = vector::BitCastOp::create(b, f.loc(), bits.type, large);
  Value ofFirst = bits.asFloats(arith::ShLIOp::create(b, f.loc(), both, bits.number(16)));
  Value ofSecond = bits.asFloats(bits.both(both, upperHalf));
  return {large, pairsOf(f, arith::SubFOp::create(b, f.loc(), first, ofFirst),
                         arith::SubFOp::create(b, f.loc(), second, ofSecond))};
}
