//===- TileCopy.cpp - from operands to shared memory ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "compiler/cuda/TileCopy.h"
#include "compiler/cpu/Packing.h"

using namespace mlir;
using namespace attn;

std::optional<size_t> attn::factorAlong(FunctionScope &f, ReadOp read, StringAttr axis) {
  std::optional<size_t> found;
  for (auto [i, index] : llvm::enumerate(read.getIndices())) {
    if (!valueType(index).hasAxis(axis))
      continue;
    auto own = index.getDefiningOp<IndexOp>();
    if (found || !own || !f.covers(f.access(read.getRef()).factors[i], axis))
      return std::nullopt;
    found = i;
  }
  return found;
}

TileCopy::TileCopy(ThreadScope &t, Expressions &x, TileSource source, SharedTile tile, int64_t threads)
    : t(t), f(t.scope()), source(std::move(source)), tile(tile), threads(threads) {
  auto read = this->source.value.getDefiningOp<ReadOp>();
  std::optional<size_t> column = read ? factorAlong(f, read, this->source.width) : std::nullopt;
  if (!column)
    return;
  const Access &access = f.access(read.getRef());
  Type stored = read.getRef().getType().getElementType();
  if (stored == this->source.element && this->source.extent % tile.perChunk() == 0)
    aligned = isAlignedAlong(f, access, *column);
  std::optional<size_t> row = this->source.rows ? factorAlong(f, read, this->source.rows) : std::nullopt;
  Datum first = row ? placeOf(x, this->source.first) : Datum();
  if (!row || first.present)
    return;
  origin = first.value;
  stride = access.strides[*row];
  step = access.strides[*column];
}

void TileCopy::copy(Expressions &x, Value base, const TileRows &rows) {
  if (!aligned)
    return computeAll(x, base, rows);
  f.when(
      aligned, [&] { inScope(x, [&] { copyStored(x, base, rows); }); },
      [&] { inScope(x, [&] { computeAll(x, base, rows); }); });
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

/// The row of the source that row `row + plus` of the tile gets. `row` is the same for all passes of a thread over a tile:
/// each sum of its own would take a register through the loop over tiles.
Value TileCopy::numberOf(const TileRows &rows, Value row, int64_t plus) {
  Value number = t.smaller(t.add(rows.first, row), t.add(rows.last, -plus));
  return t.add(rows.from ? t.greater(number, t.add(rows.from, -plus)) : number, plus);
}

//===----------------------------------------------------------------------===//
// Stored elements
//===----------------------------------------------------------------------===//

Value attn::isAlignedAlong(FunctionScope &f, const Access &access, size_t factor) {
  OpBuilder &b = f.builder();
  Value bits = LLVM::PtrToIntOp::create(b, f.loc(), b.getI64Type(), access.address);
  for (auto [i, stride] : llvm::enumerate(access.strides))
    if (i != factor)
      bits = arith::OrIOp::create(b, f.loc(), bits, f.mul(stride, f.i64(memoryType(access.element).getIntOrFloatBitWidth() / 8)));
  Value low = arith::AndIOp::create(b, f.loc(), bits, f.i64(chunkBytes - 1));
  Value isUnit = arith::CmpIOp::create(b, f.loc(), arith::CmpIPredicate::eq, access.strides[factor], f.i64(1));
  Value isMultiple = arith::CmpIOp::create(b, f.loc(), arith::CmpIPredicate::eq, low, f.i64(0));
  return arith::AndIOp::create(b, f.loc(), isUnit, isMultiple);
}

/// The address of a row, and where it may be touched.
Datum TileCopy::placeOf(Expressions &x, Value number) {
  x.enter(nullptr);
  source.bind(x, number);
  x.bind(source.width, f.i64(0));
  Datum place = x.locate(source.value.getDefiningOp<ReadOp>());
  x.leave();
  return place;
}

/// Strides stay in elements: they are parameters of the kernel, which need no register.
Value TileCopy::bytesFrom(Value address, Value elements, Type stored) {
  return f.add(address, f.mul(elements, f.i64(memoryType(stored).getIntOrFloatBitWidth() / 8)));
}

void TileCopy::copyStored(Expressions &x, Value base, const TileRows &rows) {
  forChunks(t, tile, threads, rows.thread, base, [&](Value row, int64_t plus, Value chunk, Value to) {
    Value number = t.widen(numberOf(rows, row, plus));
    Datum place = origin ? Datum{bytesFrom(origin, f.mul(number, stride), source.element), {}}
                         : placeOf(x, f.add(source.first, number));
    Value condition = place.present;
    if (source.extent < tile.width)
      condition = x.both(condition, t.less(chunk, t.i32(source.extent / tile.perChunk())));
    Value from = f.add(place.value, t.widen(t.mul(chunk, chunkBytes)));
    if (condition) // Nothing is read then, but an address has to be one.
      from = arith::SelectOp::create(f.builder(), f.loc(), condition, from, place.value);
    t.copyAsync(to, from, condition);
  });
}

//===----------------------------------------------------------------------===//
// Computed elements
//===----------------------------------------------------------------------===//

static Value asFloat(FunctionScope &f, Value number) {
  OpBuilder &b = f.builder();
  return isa<FloatType>(number.getType()) ? number : arith::SIToFPOp::create(b, f.loc(), b.getF32Type(), number);
}

/// An element of a row, as f32.
Datum TileCopy::elementAt(Expressions &x, Value number, Value index) {
  if (origin) {
    OpBuilder &b = f.builder();
    auto read = source.value.getDefiningOp<ReadOp>();
    Type stored = read.getRef().getType().getElementType();
    Value address = bytesFrom(origin, f.add(f.mul(number, stride), f.mul(index, step)), stored);
    Value pointer = LLVM::IntToPtrOp::create(b, f.loc(), LLVM::LLVMPointerType::get(b.getContext()), address);
    Type wide = isa<FloatType>(stored) ? Type(b.getF32Type()) : b.getI32Type();
    return {asFloat(f, widenStored(f, f.load(memoryType(stored), pointer, f.i64(0)), stored, wide)), {}};
  }
  x.enter(nullptr);
  x.bind(source.width, index);
  Datum datum = x.evaluate(source.value);
  x.leave();
  return {asFloat(f, datum.value), datum.present};
}

/// The elements from `index` (i64) on that a word of the tile has: two of 16 bits, one of 32.
Value TileCopy::computeWord(Expressions &x, Value number, Value index) {
  OpBuilder &b = f.builder();
  FunctionScope::Values elements;
  for (int64_t e = 0; e < int64_t(sizeof(int32_t)) / tile.elementBytes; ++e) {
    Value own = f.add(index, f.i64(e)), exists;
    if (e && aligned) // The step between the two is not worth a register.
      own = t.widen(t.again(t.narrow(own)));
    if (source.extent < tile.width) {
      exists = f.less(own, f.i64(source.extent));
      own = f.min(own, f.i64(source.extent - 1));
    }
    Datum datum = elementAt(x, number, own);
    Value present = x.both(exists, datum.present), zero = f.constant(b.getF32Type(), 0.0);
    elements.push_back(present ? arith::SelectOp::create(b, f.loc(), present, datum.value, zero).getResult() : datum.value);
  }
  if (elements.size() == 1)
    return arith::BitcastOp::create(b, f.loc(), b.getI32Type(), elements.front());
  return t.pack(source.element, elements[0], elements[1]);
}

/// Where rows may be copied as they are stored this is rare, and registers are left to the other way.
void TileCopy::computeAll(Expressions &x, Value base, const TileRows &rows) {
  f.loop(f.i64(0), t.widen(t.again(t.i32(tile.rows * tile.chunks()))), f.i64(threads), [&](Value first) {
    Operation *loop = first.getParentBlock()->getParentOp();
    forChunk(t, tile, threads, t.add(rows.thread, t.narrow(first)), base, [&](Value row, Value chunk, Value to) {
      Value number = t.widen(numberOf(rows, row, 0));
      x.enter(loop);
      source.bind(x, f.add(source.first, number));
      storeChunk(t, tile, to, /*isRare=*/bool(aligned), [&](Value element) {
        return computeWord(x, number, f.add(t.widen(t.mul(chunk, tile.perChunk())), element));
      });
      x.leave();
    });
  });
}
