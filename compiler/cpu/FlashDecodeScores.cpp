//===- FlashDecodeScores.cpp - from keys to weights -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Dots with lanes along the contracted axis, summed across lanes by turning; score and mask expressions with lanes along
// the keys.
//===----------------------------------------------------------------------===//
#include "compiler/cpu/FlashDecode.h"
#include "compiler/cpu/VectorMath.h"
#include "dialects/attn/FlashWeights.h"

using namespace mlir;
using namespace attn;

static constexpr double infinity = std::numeric_limits<double>::infinity();

//===----------------------------------------------------------------------===//
// Dots
//===----------------------------------------------------------------------===//

Value attn::joinAcrossLanes(FunctionScope &f, SmallVector<Value> vectors, llvm::function_ref<Value(Value, Value)> join) {
  auto shuffled = [&](Value a, Value b, ArrayRef<int64_t> lanes) -> Value {
    return vector::ShuffleOp::create(f.builder(), f.loc(), a, b, lanes);
  };
  int64_t count = vectors.size(), lanes = cast<VectorType>(vectors[0].getType()).getNumElements();
  for (int64_t s = 1; s < count; s *= 2) { // Each round joins neighbours and halves the number of vectors.
    SmallVector<int64_t> low, high;
    for (int64_t j = 0; j < lanes; ++j) {
      low.push_back(j & s ? lanes + j - s : j);
      high.push_back(j & s ? lanes + j : j + s);
    }
    SmallVector<Value> joined;
    for (size_t i = 0; i < vectors.size(); i += 2)
      joined.push_back(join(shuffled(vectors[i], vectors[i + 1], low), shuffled(vectors[i], vectors[i + 1], high)));
    vectors = joined;
  }
  Value all = vectors.front();
  for (int64_t half = lanes / 2; half >= count; half /= 2) {
    auto low = llvm::to_vector(llvm::seq<int64_t>(0, half)), high = llvm::to_vector(llvm::seq<int64_t>(half, 2 * half));
    all = join(shuffled(all, all, low), shuffled(all, all, high));
  }
  return all;
}

/// The lanes of an operand at the point, absent elements as 0.
Value DecodeTask::elementLanes(unsigned operand, unsigned slot) {
  Datum datum = expressions.evaluateLanes(operands[operand].value, slot);
  Value present = expressions.both(expressions.laneMask(slot), datum.present);
  if (!present)
    return datum.value;
  return arith::SelectOp::create(f.builder(), f.loc(), expressions.asLanes(present), datum.value, floats(0.0));
}

/// Keys with a rope are evaluated once for all queries.
void DecodeTask::turnKeys(unsigned term, const Tile &tile) {
  StringAttr contracted = axes.contracted[term];
  const FlashScratch::Part &part = turned[term];
  std::optional<int64_t> known = f.constantExtent(contracted);
  bool isWhole = known && *known % shape.lanes == 0;
  auto turn = [&](bool isSimple) {
    loop(tile.low, tile.high, 1, [&](Value key) {
      Kept kept = isSimple ? keptOf(term, tile, key) : Kept();
      loop(f.i64(0), part.pitch, shape.lanes, [&](Value first) {
        bindKey(f.add(tile.start, key));
        if (isSimple)
          setKept(term, kept);
        Value mask = isWhole ? Value() : maskBelow(f, first, f.extent(contracted), shape.lanes);
        expressions.bindLanes(contracted, {first}, {mask});
        f.store(elementLanes(term, 0), scratch, f.add(at(part, key), first));
      });
    });
  };
  if (simple)
    when(simple, [&] { turn(true); }, [&] { turn(false); });
  else
    turn(true);
}

/// queries x keys sums in lanes of elements, the keys of a query next to each other.
FunctionScope::Values DecodeTask::products(const DecodeBlock &block, unsigned term, const Tile &tile, Value firstQuery, Value key,
                                           bool isSimple) {
  OpBuilder &b = f.builder();
  StringAttr contracted = axes.contracted[term];
  Value extent = f.extent(contracted), lanes = f.i64(shape.lanes);
  Value whole = f.mul(f.div(extent, lanes), lanes);
  bool isTurned = operands[term].isTurned;
  Values keys, turnedRows;
  SmallVector<Kept> kept;
  for (int64_t k = 0; k < block.keys; ++k) { // Behind the last key, the last one again.
    Value inTile = f.min(f.add(key, f.i64(k)), f.sub(tile.high, f.i64(1)));
    keys.push_back(f.add(tile.start, inTile));
    kept.push_back(isSimple && !isTurned ? keptOf(term, tile, inTile) : Kept());
    if (isTurned)
      turnedRows.push_back(at(turned[term], inTile));
  }
  Values queryRows;
  for (int64_t q = 0; q < block.queries; ++q)
    queryRows.push_back(at(query[term], f.add(firstQuery, f.i64(q))));
  auto step = [&](Value first, Value mask, ValueRange sums) {
    Values elements, next;
    for (int64_t k = 0; k < block.keys; ++k) {
      if (isTurned) {
        elements.push_back(loadLanes(scratch, f.add(turnedRows[k], first)));
        continue;
      }
      expressions.enter(nullptr);
      bindKey(keys[k]);
      if (isSimple)
        setKept(term, kept[k]);
      expressions.bindLanes(contracted, {first}, {mask});
      elements.push_back(elementLanes(term, 0));
      expressions.leave();
    }
    for (int64_t q = 0; q < block.queries; ++q) {
      Value lanes = loadLanes(scratch, f.add(queryRows[q], first));
      for (int64_t k = 0; k < block.keys; ++k)
        next.push_back(math::FmaOp::create(b, f.loc(), lanes, elements[k], sums[q * block.keys + k]));
    }
    return next;
  };
  Values sums(block.queries * block.keys, floats(0.0));
  sums = f.loop(f.i64(0), whole, lanes, sums, [&](Value first, ValueRange carried) {
    Values next;
    scoped([&] { next = step(first, {}, carried); });
    return next;
  });
  std::optional<int64_t> known = f.constantExtent(contracted);
  if (known && *known % shape.lanes == 0)
    return sums;
  auto tail = [&] {
    Values next;
    scoped([&] { next = step(whole, maskBelow(f, whole, extent, shape.lanes), sums); });
    return next;
  };
  return f.choose(f.less(whole, extent), ValueRange(sums).getTypes(), tail, [&] { return sums; });
}

void DecodeTask::emitDot(const DecodeBlock &block, unsigned term, const Tile &tile, Value firstQuery, Value key,
                         Value isSimple) {
  SmallVector<Type> types(block.queries * block.keys, vectorType);
  Values sums = choose(isSimple, types, [&](bool simply) { return products(block, term, tile, firstQuery, key, simply); });
  sums.resize(llvm::alignTo(sums.size(), shape.lanes), floats(0.0));
  for (int64_t first = 0; first < block.queries * block.keys; first += shape.lanes) {
    ArrayRef<Value> some = ArrayRef<Value>(sums).slice(first, shape.lanes);
    Value totals = joinAcrossLanes(f, SmallVector<Value>(some), [&](Value x, Value y) -> Value {
      return arith::AddFOp::create(f.builder(), f.loc(), x, y);
    });
    for (int64_t piece = 0; piece < shape.lanes && first + piece < block.queries * block.keys; piece += block.keys) {
      Value ofQuery = vector::ExtractStridedSliceOp::create(f.builder(), f.loc(), totals, ArrayRef<int64_t>{piece},
                                                            ArrayRef<int64_t>{block.keys}, ArrayRef<int64_t>{1});
      Value number = f.add(firstQuery, f.i64((first + piece) / block.keys));
      f.store(ofQuery, scratch, f.add(at(raw[term], number), key));
    }
  }
}

void DecodeTask::emitDots(const Tile &tile) {
  for (unsigned term = 0; term < query.size(); ++term)
    overBlocks(operands[term].isTurned ? Value() : simple, [&](const DecodeBlock &block, Value firstQuery, Value isSimple) {
      loop(tile.low, tile.high, block.keys, [&](Value key) {
        if (term == 0)
          prefetchValues(block, tile, firstQuery, key);
        emitDot(block, term, tile, firstQuery, key, isSimple);
      });
    });
}

//===----------------------------------------------------------------------===//
// Scores
//===----------------------------------------------------------------------===//

/// The scores of the query at the point, lanes along the keys, in base 2.
Value DecodeTask::scoreOf(Value query, Value key, Value first, Value seen, Value &present) {
  OpBuilder &b = f.builder();
  // Terms are given where all their axes are bound: in the innermost scope, which has to bind one of them.
  AxisList all = axes.rowAxes();
  Values indices = llvm::map_to_vector(all, [&](StringAttr axis) { return expressions.indexAlong(axis); });
  bool bindsAgain = llvm::any_of(termsOf(flash), [&](Value term) {
    return llvm::any_of(all, [&](StringAttr axis) { return !valueType(term).hasAxis(axis); });
  });
  if (bindsAgain) {
    Value mask = expressions.laneMask();
    expressions.enter(nullptr);
    expressions.bindLanes(keyAxis(), {first}, {mask});
    for (auto [axis, index] : llvm::zip(all, indices))
      expressions.bind(axis, index);
    for (StringAttr axis : all)
      expressions.markExisting(axis);
    expressions.markExisting(keyAxis());
  }
  for (auto [term, argument] : llvm::enumerate(termsOf(flash)))
    expressions.set(argument, 0, {loadLanes(scratch, f.add(at(raw[term], query), key)), {}});
  Value result;
  present = seen;
  if (score.isPlain) {
    result = loadLanes(scratch, f.add(at(raw[0], query), key));
  } else {
    Datum datum = expressions.evaluateLanes(flash.getScore());
    result = datum.value;
    present = expressions.both(present, datum.present);
    if (isSoftmax())
      result = arith::MulFOp::create(b, f.loc(), result, floats(log2OfE));
  }
  if (flash.getMask()) {
    Datum mask = expressions.evaluate(flash.getMask());
    present = expressions.both(present, expressions.both(mask.value, mask.present));
  }
  if (bindsAgain)
    expressions.leave();
  return result;
}

/// Which keys of a tile, an index for each lane, the query sees by its ranges; null without ranges.
Value DecodeTask::seenInRanges(const Tile &tile, Value query, Value index) {
  OpBuilder &b = f.builder();
  auto relative = [&](const FlashScratch::Part &part) { // Bounds that lie beyond the tile end with it.
    Value bound = f.load(b.getI64Type(), f.address(scratch, part.offset, b.getF32Type()), query);
    Value inTile = f.min(f.max(f.sub(bound, tile.start), f.i64(0)), tile.high);
    return f.splat(arith::TruncIOp::create(b, f.loc(), b.getI32Type(), inTile), shape.lanes);
  };
  Value seen;
  for (unsigned range = 0; range < lower.size(); ++range) {
    Value above = arith::CmpIOp::create(b, f.loc(), arith::CmpIPredicate::sge, index, relative(lower[range]));
    Value below = arith::CmpIOp::create(b, f.loc(), arith::CmpIPredicate::slt, index, relative(upper[range]));
    Value here = expressions.both(above, below);
    seen = seen ? expressions.either(seen, here) : here;
  }
  return seen;
}

/// Finishes the scores of a tile, absent ones -inf (marked, without a softmax), and keeps lanes of their maxima. Gives
/// whether any pair of a query and a key in the range is absent.
Value DecodeTask::emitScores(const Tile &tile) {
  OpBuilder &b = f.builder();
  Location loc = f.loc();
  Type narrow = b.getI32Type(), narrowLanes = f.vectorOf(shape.lanes, narrow);
  auto lanesOf = [&](Value key) { return f.splat(arith::TruncIOp::create(b, loc, narrow, key), shape.lanes); };
  auto compare = [&](arith::CmpIPredicate how, Value x, Value y) -> Value {
    return arith::CmpIOp::create(b, loc, how, x, y);
  };
  auto bitsOf = [&](Value lanes) -> Value { return arith::ExtSIOp::create(b, loc, narrowLanes, lanes); };
  if (isSoftmax())
    fillLanes(best, -infinity);
  Value steps = arith::TruncIOp::create(b, loc, narrowLanes, f.iota(shape.lanes));
  Value none = arith::ConstantOp::create(b, loc, b.getZeroAttr(narrowLanes));
  Value lanes = f.i64(shape.lanes), start = f.mul(f.div(tile.low, lanes), lanes);
  Values any = f.loop(start, tile.high, lanes, {none}, [&](Value key, ValueRange outer) {
    Values result;
    scoped([&] {
      Value first = f.add(tile.start, key);
      expressions.bindLanes(keyAxis(), {first}, {maskBelow(f, key, tile.high, shape.lanes)});
      expressions.markExisting(keyAxis());
      Value index = arith::AddIOp::create(b, loc, lanesOf(key), steps);
      Value inside = expressions.both(compare(arith::CmpIPredicate::sge, index, lanesOf(tile.low)),
                                      compare(arith::CmpIPredicate::slt, index, lanesOf(tile.high)));
      Value insideBits = bitsOf(inside);
      result = overQueries(outer, [&](Value number, ValueRange carried) -> Values {
        // The tile's keys are those that ranges of some query hold.
        Value inRanges = seenInRanges(tile, number, index), seen = inRanges ? inRanges : inside;
        Value present, score = scoreOf(number, key, first, seen, present);
        Value otherwise = isSoftmax() ? floats(-infinity) : absentMark(f, shape.lanes);
        present = expressions.asLanes(present);
        score = arith::SelectOp::create(b, loc, present, score, otherwise);
        f.store(score, scratch, f.add(at(raw[0], number), key));
        if (isSoftmax()) {
          f.store(emitMax(f, score, loadLanes(scratch, at(best, number))), scratch, at(best, number));
          present = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNE, score, floats(-infinity));
        }
        Value absent = arith::AndIOp::create(b, loc, insideBits, bitsOf(expressions.negate(present)));
        return {arith::OrIOp::create(b, loc, carried[0], absent)};
      });
    });
    return result;
  });
  Value every = vector::ReductionOp::create(b, loc, vector::CombiningKind::OR, any[0]);
  return compare(arith::CmpIPredicate::ne, every, arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(0)));
}
