//===- FlashDecodeRows.cpp - where keys and values lie ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is kept of a key for all queries: the addresses of its rows and numbers of its own; and what memory is asked for ahead.
//===----------------------------------------------------------------------===//
#include "compiler/cpu/FlashDecode.h"

using namespace mlir;
using namespace attn;

Value DecodeTask::rowOf(unsigned operand, unsigned row, Value key) {
  OpBuilder &b = f.builder();
  Value table = f.address(scratch, rows[operand][row], b.getF32Type());
  Value address = f.load(b.getI64Type(), table, key);
  return LLVM::IntToPtrOp::create(b, f.loc(), LLVM::LLVMPointerType::get(b.getContext()), address);
}

/// Keeps what is one number per key of a tile, absent ones marked; gives whether all of them are there (null: always).
Value DecodeTask::storeFactors(const Tile &tile) {
  OpBuilder &b = f.builder();
  bool isNeeded = llvm::any_of(operands, [](const DecodeOperand &operand) { return !operand.factors.empty(); });
  if (!isNeeded)
    return {};
  Type number = b.getI32Type(), numbers = f.vectorOf(shape.lanes, number);
  Value none = arith::ConstantOp::create(b, f.loc(), b.getZeroAttr(numbers));
  bool mayBeAbsent = false;
  Values missing = f.loop(tile.low, tile.high, f.i64(shape.lanes), {none}, [&](Value key, ValueRange carried) -> Values {
    Value absent = carried[0];
    scoped([&] {
      Value mask = maskBelow(f, key, tile.high, shape.lanes);
      expressions.bindLanes(keyAxis(), {f.add(tile.start, key)}, {mask});
      expressions.markExisting(keyAxis());
      for (auto [operand, places] : llvm::zip(operands, factors))
        for (auto [factor, place] : llvm::zip(operand.factors, places)) {
          Datum datum = expressions.evaluateLanes(factor);
          Value at = f.add(place, key);
          if (!datum.present) {
            f.store(datum.value, scratch, at);
            continue;
          }
          mayBeAbsent = true;
          Value present = expressions.asLanes(datum.present);
          f.store(arith::SelectOp::create(b, f.loc(), present, datum.value, absentMark(f, shape.lanes)), scratch, at);
          Value gone = expressions.both(mask, expressions.negate(present));
          absent = arith::OrIOp::create(b, f.loc(), absent, arith::ExtUIOp::create(b, f.loc(), numbers, gone));
        }
    });
    return {absent};
  });
  if (!mayBeAbsent)
    return {};
  Value any = vector::ReductionOp::create(b, f.loc(), vector::CombiningKind::OR, missing[0]);
  return arith::CmpIOp::create(b, f.loc(), arith::CmpIPredicate::eq, any,
                               arith::ConstantOp::create(b, f.loc(), b.getI32IntegerAttr(0)));
}

/// Where the scales of a value are kept.
Value DecodeTask::scalesOf(unsigned operand) {
  const DecodeOperand &value = operands[operand];
  return factors[operand][llvm::find(value.factors, value.scale) - value.factors.begin()];
}

/// Gives what has been kept of a key.
void DecodeTask::setKept(unsigned operand, const Kept &kept) {
  for (auto [row, address] : llvm::zip(operands[operand].rows, kept.rows))
    expressions.setRow(row.read, address);
  for (auto [factor, number] : llvm::zip(operands[operand].factors, kept.factors))
    expressions.set(factor, 0, {number, {}});
}

DecodeTask::Kept DecodeTask::keptOf(unsigned operand, const Tile &tile, Value key) {
  Kept kept;
  for (unsigned i = 0; i < operands[operand].rows.size(); ++i)
    kept.rows.push_back(rowOf(operand, i, f.sub(f.add(tile.start, key), chunkStart)));
  for (auto [factor, place] : llvm::zip(operands[operand].factors, factors[operand]))
    kept.factors.push_back(factor == operands[operand].scale ? number(1.0) : loadFloat(scratch, f.add(place, key)));
  return kept;
}

/// Asks for the cache lines of an operand's rows at the keys [from, to).
void DecodeTask::prefetch(unsigned operand, Value from, Value to) {
  for (auto [i, row] : llvm::enumerate(operands[operand].rows)) {
    Type element = memoryType(row.read.getRef().getType().getElementType());
    int64_t perLine = 512 / element.getIntOrFloatBitWidth();
    f.loop(from, to, f.i64(1), [&](Value key) {
      Value address = rowOf(operand, i, f.sub(key, chunkStart));
      f.loop(f.i64(0), f.extent(operands[operand].element), f.i64(perLine), [&](Value first) {
        LLVM::Prefetch::create(f.builder(), f.loc(), f.address(address, first, element), /*rw=*/0, /*hint=*/2, /*cache=*/1);
      });
    });
  }
}

/// Whether rows are asked for ahead: not where the caches serve them in time by themselves. Elements count, not bytes: so long
/// the work with what is there keeps the machine from asking for more.
Value DecodeTask::lieFar() {
  static constexpr int64_t nearElements = 8 << 20;
  Value keys = f.mul(f.extent(axes.batch), f.extent(keyAxis())), elements = f.i64(0);
  for (const DecodeOperand &operand : operands)
    elements = f.add(elements, f.mul(keys, f.mul(f.extent(operand.element), f.i64(operand.rows.size()))));
  return f.less(f.i64(nearElements), elements);
}

/// While the first queries meet keys of a tile: the values of these keys.
void DecodeTask::prefetchValues(const DecodeBlock &block, const Tile &tile, Value firstQuery, Value key) {
  Value from = f.add(tile.start, key), to = f.min(f.add(from, f.i64(block.keys)), f.add(tile.start, tile.high));
  Value isFirst = arith::CmpIOp::create(f.builder(), f.loc(), arith::CmpIPredicate::eq, firstQuery, f.i64(0));
  when(expressions.both(isFar, isFirst), [&] {
    for (unsigned value = 0; value < partial.mix.size(); ++value)
      prefetch(query.size() + value, from, to);
  });
}

/// While the first queries mix values of a tile: keys of the next one, as many with each strip of the width. So memory is
/// busy all the time, and what has been asked for arrives before it is needed.
void DecodeTask::prefetchKeys(const DecodeBlock &block, const Tile &tile, Value firstQuery, Value first) {
  Value strip = f.i64(block.vectors * shape.lanes), strips = f.ceilDiv(f.extent(axes.widths[0]), strip);
  Value share = f.ceilDiv(f.i64(shape.tile), strips), next = f.add(tile.start, f.i64(shape.tile));
  Value from = f.add(next, f.mul(f.div(first, strip), share));
  Value to = f.min(f.min(f.add(from, share), f.add(next, f.i64(shape.tile))), endKey);
  Value isFirst = arith::CmpIOp::create(f.builder(), f.loc(), arith::CmpIPredicate::eq, firstQuery, f.i64(0));
  when(expressions.both(isFar, isFirst), [&] {
    for (unsigned term = 0; term < query.size(); ++term)
      prefetch(term, from, to);
  });
}

/// Keeps where the rows of the keys [low, high) are; gives whether all can be read in place (null: rows make no difference).
Value DecodeTask::locateRows(Value low, Value high) {
  OpBuilder &b = f.builder();
  Value inPlace;
  for (const DecodeOperand &operand : operands)
    for (const DecodeOperand::Row &row : operand.rows) {
      Value isOne = arith::CmpIOp::create(b, f.loc(), arith::CmpIPredicate::eq, row.stride, f.i64(1));
      inPlace = expressions.both(inPlace, isOne);
    }
  if (!inPlace)
    return {};
  // From a multiple of the lanes on: keys of a vector then lie in one page, where pages are multiples of the lanes.
  Value lanes = f.i64(shape.lanes), start = f.mul(f.div(low, lanes), lanes);
  Values all = f.loop(start, high, lanes, {inPlace}, [&](Value key, ValueRange carried) -> Values {
    Value mask = expressions.both(expressions.negate(maskBelow(f, key, low, shape.lanes)), maskBelow(f, key, high, shape.lanes));
    Value present;
    scoped([&] {
      expressions.bindLanes(keyAxis(), {key}, {mask});
      expressions.markExisting(keyAxis());
      for (auto [operand, tables] : llvm::zip(operands, rows)) {
        expressions.enter(nullptr);
        expressions.bind(operand.element, f.i64(0));
        for (auto [row, table] : llvm::zip(operand.rows, tables)) {
          Datum place = expressions.locate(row.read);
          f.store(expressions.asLanes(place.value), f.address(scratch, table, b.getF32Type()), f.sub(key, chunkStart));
          present = expressions.both(present, place.present);
        }
        expressions.leave();
      }
    });
    if (!present)
      return {carried[0]};
    Value fine = expressions.either(expressions.asLanes(present), expressions.negate(mask));
    Value every = vector::ReductionOp::create(b, f.loc(), vector::CombiningKind::AND, fine);
    return {expressions.both(carried[0], every)};
  });
  return all[0];
}
