//===- FlashRows.cpp - rows of the tile and what they see -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "compiler/cuda/FlashKernel.h"
#include <limits>

using namespace mlir;
using namespace attn;

/// The number, within the batch entry, of a row that the thread has elements of.
Value FlashKernel::rowNumber(Value firstRow, unsigned row, Value thread) {
  Value first = t.add(firstWarpRow(thread), t.div(t.rem(thread, 32), 4));
  return f.add(firstRow, t.widen(t.add(first, row * 8)));
}

Value FlashKernel::firstWarpRow(Value thread) { return t.mul(t.div(thread, 32 * tiling.parts), tiling.warpRows()); }

/// A row that does not exist computes what the last one does, and stores nothing.
void FlashKernel::makeRows(Expressions &x, Value firstRow) {
  Value count = rowCount(x), last = f.sub(count, f.i64(1));
  hasRows = f.less(f.add(firstRow, t.widen(firstWarpRow(t.thread()))), count);
  for (int64_t i = 0; i < tiling.threadRows(); ++i) {
    Value number = rowNumber(firstRow, i, t.thread());
    Row row{x, f.less(number, count), {}, {}};
    row.x.enter(nullptr);
    bindRow(row.x, f.min(number, last));
    row.exists = row.x.both(row.exists, row.x.existence(axes.rows));
    for (unsigned range = 0; range < rangeCount(); ++range)
      row.ranges.push_back(rangeOf(row, range));
    if (form.rowFactor)
      row.factor = row.x.evaluate(form.rowFactor).value;
    rows.push_back(std::move(row));
  }
}

/// Within the keys that the CTA may take. A range with an absent bound is empty.
FlashKernel::Row::Range FlashKernel::rangeOf(Row &row, unsigned range) {
  Value lower = from, upper = end, present;
  auto within = [&](Value bound) { return f.min(f.max(bound, from), end); };
  if (Value bound = flash.getLowerOf(range)) {
    Datum datum = row.x.evaluate(bound);
    lower = within(datum.value);
    present = datum.present;
  }
  if (Value bound = flash.getUpperOf(range)) {
    Datum datum = row.x.evaluate(bound);
    upper = within(datum.value);
    present = row.x.both(present, datum.present);
  }
  if (present)
    upper = arith::SelectOp::create(f.builder(), f.loc(), present, upper, from);
  return {lower, upper};
}

/// Over the rows of the thread, of the warp, of the CTA. Rows that do not exist see nothing and count nowhere.
void FlashKernel::findExtremes() {
  if (!hasBounds()) {
    Extremes all{from, end, from, end};
    warpExtremes = {all};
    blockExtremes = {all};
    return;
  }
  OpBuilder &b = f.builder();
  auto smaller = [&](Value x, Value y) { return f.min(x, y); };
  auto greater = [&](Value x, Value y) { return f.max(x, y); };
  for (unsigned range = 0; range < rangeCount(); ++range) {
    Extremes seen{end, from, from, end};
    for (Row &row : rows) {
      auto orElse = [&](Value value, Value otherwise) -> Value {
        return arith::SelectOp::create(b, f.loc(), row.exists, value, otherwise);
      };
      auto [lower, upper] = row.ranges[range];
      seen = {smaller(seen.lowest, orElse(lower, end)), greater(seen.highest, orElse(upper, from)),
              greater(seen.from, orElse(lower, from)), smaller(seen.to, orElse(upper, end))};
    }
    constexpr int64_t acrossRows = 4 | 8 | 16; // Lanes that differ in their two lowest bits have the same rows.
    bool hasLower = !flash.getLower().empty(), hasUpper = !flash.getUpper().empty();
    warpExtremes.push_back({hasLower ? t.reduce(seen.lowest, acrossRows, smaller) : from,
                            hasUpper ? t.reduce(seen.highest, acrossRows, greater) : end,
                            hasLower ? t.reduce(seen.from, acrossRows, greater) : from,
                            hasUpper ? t.reduce(seen.to, acrossRows, smaller) : end});
  }
  Value place = t.add(base, shared.extremes), pitch = t.i32(16 * rangeCount());
  Value own = t.add(place, arith::MulIOp::create(b, f.loc(), t.warp(), pitch));
  Value isFirst = arith::CmpIOp::create(b, f.loc(), arith::CmpIPredicate::eq, t.lane(), t.i32(0));
  f.when(isFirst, [&] {
    for (auto [range, seen] : llvm::enumerate(warpExtremes)) {
      t.storeShared(seen.lowest, t.add(own, 16 * range));
      t.storeShared(seen.highest, t.add(own, 16 * range + 8));
    }
  });
  t.barrier();
  for (unsigned range = 0; range < rangeCount(); ++range)
    blockExtremes.push_back(extremesOfBlock(range));
}

FlashKernel::Extremes FlashKernel::extremesOfBlock(unsigned range) {
  Extremes seen{end, from, {}, {}};
  Type i64 = f.builder().getI64Type();
  for (int64_t warp = 0; warp < tiling.warps; ++warp) {
    Value at = t.add(base, shared.extremes + 16 * (warp * rangeCount() + range));
    seen.lowest = f.min(seen.lowest, t.loadShared(i64, at));
    seen.highest = f.max(seen.highest, t.loadShared(i64, t.add(at, 8)));
  }
  return seen;
}

/// Finds the first tile, and counts keys from there on: no memory holds 2^31 keys that one CTA sees.
void FlashKernel::countFromFirstTile() {
  Value lowest = blockExtremes.front().lowest, highest = blockExtremes.front().highest;
  for (const Extremes &range : ArrayRef(blockExtremes).drop_front()) {
    lowest = f.min(lowest, range.lowest);
    highest = f.max(highest, range.highest);
  }
  // Where all ranges are empty, there is no tile; their first key may be one that does not exist.
  highest = arith::SelectOp::create(f.builder(), f.loc(), f.less(lowest, highest), highest, from);
  Value step = f.i64(tiling.keyTile);
  firstKey = f.mul(f.div(lowest, step), step);
  auto relative = [&](Value key) {
    return key ? t.narrow(t.clamp(f.sub(key, firstKey), 0, std::numeric_limits<int32_t>::max() - 64)) : key;
  };
  firstSeen = relative(lowest);
  endSeen = relative(highest);
  for (auto *all : {&warpExtremes, &blockExtremes})
    for (Extremes &range : *all)
      range = {relative(range.lowest), relative(range.highest), relative(range.from), relative(range.to)};
  for (Row &row : rows)
    for (Row::Range &range : row.ranges)
      range = {relative(range.lower), relative(range.upper)};
}

/// Whether any range, from its first key to its end, meets the key tile.
Value FlashKernel::seesTile(ArrayRef<Extremes> ranges, Value first) {
  Value sees, end = t.add(first, tiling.keyTile);
  for (const Extremes &range : ranges) {
    Value meets = arith::AndIOp::create(f.builder(), f.loc(), t.less(range.lowest, end), t.less(first, range.highest));
    sees = sees ? arith::OrIOp::create(f.builder(), f.loc(), sees, meets).getResult() : meets;
  }
  return sees;
}

/// Whether the key tile lies within what all rows of the warp see of one range.
Value FlashKernel::seesAll(Value first) {
  OpBuilder &b = f.builder();
  Value all, end = t.add(first, tiling.keyTile);
  for (const Extremes &range : warpExtremes) {
    Value behind = arith::CmpIOp::create(b, f.loc(), arith::CmpIPredicate::sge, first, range.from);
    Value before = arith::CmpIOp::create(b, f.loc(), arith::CmpIPredicate::sle, end, range.to);
    Value within = arith::AndIOp::create(b, f.loc(), behind, before);
    all = all ? arith::OrIOp::create(b, f.loc(), all, within).getResult() : within;
  }
  return all;
}
