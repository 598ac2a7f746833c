//===- FlashRanges.cpp - which keys a row sees ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads the ranges of an `attn.flash`, keeps them per row with their extremes per register block, and masks scores
// where a block of rows x queries does not lie within one of them.
//===----------------------------------------------------------------------===//
#include "compiler/cpu/FlashStage.h"

using namespace mlir;
using namespace attn;

/// The keys [lower, upper) of a range in the lanes of a vector, within those that there are. A range with an absent
/// bound is empty.
std::pair<Value, Value> FlashTask::boundsAt(unsigned range, int64_t vector) {
  OpBuilder &b = f.builder();
  Value all = f.splat(keyCount(), shape.lanes), none = f.splat(f.i64(0), shape.lanes);
  Value lower = none, upper = all, present;
  if (Value bound = flash.getLowerOf(range)) {
    Datum datum = expressions.evaluateLanes(bound, vector);
    lower = arith::MinSIOp::create(b, f.loc(), arith::MaxSIOp::create(b, f.loc(), datum.value, none), all);
    present = datum.present;
  }
  if (Value bound = flash.getUpperOf(range)) {
    Datum datum = expressions.evaluateLanes(bound, vector);
    upper = arith::MinSIOp::create(b, f.loc(), arith::MaxSIOp::create(b, f.loc(), datum.value, none), all);
    present = expressions.both(present, datum.present);
  }
  if (present)
    upper = arith::SelectOp::create(b, f.loc(), present, upper, none);
  return {lower, upper};
}

/// Keeps the ranges of a block's rows; gives the smallest lower and the largest upper bound of each.
FunctionScope::Values FlashTask::storeBounds(Value number) {
  OpBuilder &b = f.builder();
  Value keys = keyCount();
  if (!hasBounds())
    return {f.i64(0), keys};
  Values ends;
  for (auto [r, range] : llvm::enumerate(scratch.ranges)) {
    Value extremes[4] = {keys, f.i64(0), keys, f.i64(0)}; // lower: min, max; upper: min, max
    for (int64_t v = 0; v < shape.vectors; ++v) {
      auto [lower, upper] = boundsAt(r, v);
      storeIntegers(lower, at(range.lower, number), v * shape.lanes);
      storeIntegers(upper, at(range.upper, number), v * shape.lanes);
      // Lanes beyond the extent see nothing and count nowhere.
      Value inside = expressions.laneMask(v);
      auto reduced = [&](vector::CombiningKind kind, Value value, Value outside) -> Value {
        if (inside)
          value = arith::SelectOp::create(b, f.loc(), inside, value, f.splat(outside, shape.lanes));
        return vector::ReductionOp::create(b, f.loc(), kind, value);
      };
      extremes[0] = f.min(extremes[0], reduced(vector::CombiningKind::MINSI, lower, keys));
      extremes[1] = f.max(extremes[1], reduced(vector::CombiningKind::MAXSI, lower, f.i64(0)));
      extremes[2] = f.min(extremes[2], reduced(vector::CombiningKind::MINSI, upper, keys));
      extremes[3] = f.max(extremes[3], reduced(vector::CombiningKind::MAXSI, upper, f.i64(0)));
    }
    for (auto [i, extreme] : llvm::enumerate(extremes))
      storeIntegers(extreme, at(range.extremes, number), i);
    ends.append({extremes[0], extremes[3]});
  }
  return ends;
}

/// Whether any range, from its first key to its end, meets the key tile.
Value FlashTask::seesKeyTile(ValueRange ranges, Value firstKey) {
  Value sees, end = f.add(firstKey, f.i64(shape.keyTile));
  for (unsigned r = 0; r < rangeCount(); ++r) {
    Value meets = expressions.both(f.less(ranges[2 * r], end), f.less(firstKey, ranges[2 * r + 1]));
    sees = sees ? expressions.either(sees, meets) : meets;
  }
  return sees;
}

/// The keys of a tile from the first to the last that a block sees.
FlashTask::KeyRange FlashTask::keysSeenBy(Value number, Value firstKey, Value length) {
  if (!hasBounds())
    return {number, f.i64(0), length, {}};
  KeyRange seen{number, length, f.i64(0), {}};
  for (const FlashScratch::Range &range : scratch.ranges) {
    Value smallest = loadIntegers(at(range.extremes, number), 0, false);
    Value largest = loadIntegers(at(range.extremes, number), 3, false);
    Value low = f.max(f.i64(0), f.sub(smallest, firstKey)), high = f.min(length, f.sub(largest, firstKey));
    if (scratch.ranges.size() == 1)
      return {number, low, high, {}};
    Value meets = f.less(low, high);
    seen.low = arith::SelectOp::create(f.builder(), f.loc(), meets, f.min(seen.low, low), seen.low);
    seen.high = arith::SelectOp::create(f.builder(), f.loc(), meets, f.max(seen.high, high), seen.high);
  }
  return seen;
}

/// Per range the keys of the tile that all rows of the block see: from, to.
FunctionScope::Values FlashTask::limitsOf(const KeyRange &block, Value firstKey, Value length) {
  if (!hasBounds())
    return {f.i64(0), length};
  Values limits;
  for (const FlashScratch::Range &range : scratch.ranges) {
    limits.push_back(f.sub(loadIntegers(at(range.extremes, block.number), 1, false), firstKey));
    limits.push_back(f.min(length, f.sub(loadIntegers(at(range.extremes, block.number), 2, false), firstKey)));
  }
  return limits;
}

/// The lanes of a vector of queries that see `key` of the tile in a range.
Value FlashTask::seenInRange(unsigned r, const KeyRange &block, Value firstKey, Value length, Value key,
                             int64_t vector) {
  OpBuilder &b = f.builder();
  Location loc = f.loc();
  Type narrow = f.vectorOf(shape.lanes, b.getI32Type());
  Value lanes = f.splat(arith::TruncIOp::create(b, loc, b.getI32Type(), key), shape.lanes);
  auto compared = [&](arith::CmpIPredicate predicate, Value bound) -> Value {
    return arith::CmpIOp::create(b, loc, predicate, lanes, bound);
  };
  if (!hasBounds()) {
    Value end = arith::TruncIOp::create(b, loc, b.getI32Type(), length);
    return compared(arith::CmpIPredicate::slt, f.splat(end, shape.lanes));
  }
  auto relative = [&](const FlashScratch::Part &part) -> Value {
    Value bound = loadIntegers(at(part, block.number), vector * shape.lanes, true);
    bound = arith::SubIOp::create(b, loc, bound, f.splat(firstKey, shape.lanes));
    bound = arith::MinSIOp::create(b, loc, bound, f.splat(length, shape.lanes));
    bound = arith::MaxSIOp::create(b, loc, bound, f.splat(f.i64(0), shape.lanes));
    return arith::TruncIOp::create(b, loc, narrow, bound);
  };
  const FlashScratch::Range &range = scratch.ranges[r];
  Value before = compared(arith::CmpIPredicate::slt, relative(range.upper));
  return flash.getLower().empty() ? before
                                  : expressions.both(before, compared(arith::CmpIPredicate::sge, relative(range.lower)));
}

/// Marks as absent (in memory, too, where products are kept there) what the mask excludes, unless the rows x queries from `row` on lie within one range and nothing
/// else is to be asked.
FunctionScope::Values FlashTask::maskScores(const KeyRange &block, Value firstKey, Value length, Value row,
                                            ArrayRef<Value> limits, ArrayRef<Values> raw, ArrayRef<Value> scores,
                                            Operation *loop) {
  OpBuilder &b = f.builder();
  Location loc = f.loc();
  auto masked = [&] {
    Value lastKey = f.sub(keyCount(), f.i64(1));
    Values result;
    for (int64_t r = 0; r < shape.rows; ++r) {
      Value key = f.add(row, f.i64(r));
      expressions.enter(loop);
      if (flash.getMask()) { // Behind the last key no captured tensor is read.
        bindKey(f.min(f.add(firstKey, key), lastKey));
        setTerms(raw, r);
      }
      for (int64_t v = 0; v < shape.vectors; ++v) {
        Value seen;
        for (unsigned range = 0; range < rangeCount(); ++range) {
          Value here = seenInRange(range, block, firstKey, length, key, v);
          seen = seen ? expressions.either(seen, here) : here;
        }
        if (flash.getMask()) {
          Datum mask = expressions.evaluate(flash.getMask(), v);
          seen = expressions.both(seen, expressions.asLanes(expressions.both(mask.value, mask.present)));
        }
        result.push_back(arith::SelectOp::create(b, loc, seen, scores[r * shape.vectors + v], absentScore));
      }
      expressions.leave();
    }
    if (keepsProducts())
      storeScores(row, result);
    return result;
  };
  if (flash.getMask() && !block.holds)
    return masked();
  Value full;
  for (unsigned range = 0; range < rangeCount(); ++range) {
    Value behind = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sge, row, limits[2 * range]);
    Value before = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sle, f.add(row, f.i64(shape.rows)),
                                         limits[2 * range + 1]);
    Value within = arith::AndIOp::create(b, loc, behind, before);
    full = full ? arith::OrIOp::create(b, loc, full, within).getResult() : within;
  }
  if (block.holds)
    full = expressions.both(full, block.holds);
  return f.choose(
      full, ValueRange(scores).getTypes(), [&] { return Values(scores.begin(), scores.end()); }, masked);
}
