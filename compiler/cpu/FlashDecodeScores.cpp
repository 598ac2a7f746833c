//===- FlashDecodeScores.cpp - from keys to weights -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Dots with lanes along the contracted axis, summed across lanes by turning; score and mask expressions with lanes along
// the keys; online softmax in base 2.
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

/// The sums of as many vectors as lanes, as one vector: each round adds neighbours and halves the number of vectors.
static Value sumsAcrossLanes(FunctionScope &f, SmallVector<Value> vectors) {
  int64_t n = vectors.size();
  for (int64_t s = 1; s < n; s *= 2) {
    SmallVector<int64_t> low, high;
    for (int64_t j = 0; j < n; ++j) {
      low.push_back(j & s ? n + j - s : j);
      high.push_back(j & s ? n + j : j + s);
    }
    SmallVector<Value> sums;
    for (size_t i = 0; i < vectors.size(); i += 2) {
      Value a = vector::ShuffleOp::create(f.builder(), f.loc(), vectors[i], vectors[i + 1], low);
      Value b = vector::ShuffleOp::create(f.builder(), f.loc(), vectors[i], vectors[i + 1], high);
      sums.push_back(arith::AddFOp::create(f.builder(), f.loc(), a, b));
    }
    vectors = sums;
  }
  return vectors.front();
}

/// The lanes of an operand at the point, absent elements as 0.
Value DecodeTask::elementLanes(unsigned operand, unsigned slot) {
  Datum datum = expressions.evaluateLanes(operands[operand].value, slot);
  Value present = expressions.both(expressions.laneMask(slot), datum.present);
  if (!present)
    return datum.value;
  return arith::SelectOp::create(f.builder(), f.loc(), expressions.asLanes(present), datum.value, floats(0.0));
}

/// queries x keys sums in lanes of elements, the keys of a query next to each other.
FunctionScope::Values DecodeTask::products(unsigned term, const Tile &tile, Value firstQuery, Value key, bool isSimple) {
  OpBuilder &b = f.builder();
  StringAttr contracted = axes.contracted[term];
  Value extent = f.extent(contracted), lanes = f.i64(shape.lanes);
  Value whole = f.mul(f.div(extent, lanes), lanes);
  Values keys;
  SmallVector<Kept> kept;
  for (int64_t k = 0; k < shape.keys; ++k) { // Behind the last key, the last one again.
    Value inTile = f.min(f.add(key, f.i64(k)), f.sub(tile.high, f.i64(1)));
    keys.push_back(f.add(tile.start, inTile));
    kept.push_back(isSimple ? keptOf(term, tile, inTile) : Kept());
  }
  Values queryRows;
  for (int64_t q = 0; q < shape.queries; ++q)
    queryRows.push_back(at(query[term], f.add(firstQuery, f.i64(q))));
  auto step = [&](Value first, Value mask, ValueRange sums) {
    Values elements, next;
    for (int64_t k = 0; k < shape.keys; ++k) {
      expressions.enter(nullptr);
      bindKey(keys[k]);
      if (isSimple)
        setKept(term, kept[k]);
      expressions.bindLanes(contracted, {first}, {mask});
      elements.push_back(elementLanes(term, 0));
      expressions.leave();
    }
    for (int64_t q = 0; q < shape.queries; ++q) {
      Value lanes = loadLanes(scratch, f.add(queryRows[q], first));
      for (int64_t k = 0; k < shape.keys; ++k)
        next.push_back(math::FmaOp::create(b, f.loc(), lanes, elements[k], sums[q * shape.keys + k]));
    }
    return next;
  };
  Values sums(shape.queries * shape.keys, floats(0.0));
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

void DecodeTask::emitDot(unsigned term, const Tile &tile, Value firstQuery, Value key) {
  SmallVector<Type> types(shape.queries * shape.keys, vectorType);
  Values sums = choose(simple, types, [&](bool isSimple) { return products(term, tile, firstQuery, key, isSimple); });
  sums.resize(llvm::alignTo(sums.size(), shape.lanes), floats(0.0));
  for (int64_t first = 0; first < shape.queries * shape.keys; first += shape.lanes) {
    ArrayRef<Value> some = ArrayRef<Value>(sums).slice(first, shape.lanes);
    Value totals = sumsAcrossLanes(f, SmallVector<Value>(some));
    for (int64_t piece = 0; piece < shape.lanes && first + piece < shape.queries * shape.keys; piece += shape.keys) {
      Value ofQuery = vector::ExtractStridedSliceOp::create(f.builder(), f.loc(), totals, ArrayRef<int64_t>{piece},
                                                            ArrayRef<int64_t>{shape.keys}, ArrayRef<int64_t>{1});
      Value number = f.add(firstQuery, f.i64((first + piece) / shape.keys));
      f.store(ofQuery, scratch, f.add(at(raw[term], number), key));
    }
  }
}

/// Keys whose rows are asked for before they are needed: about the latency of memory.
static constexpr int64_t keysAhead = 16;

/// While the first queries meet the keys of a tile: the values of these keys, and keys to come.
void DecodeTask::prefetchFor(const Tile &tile, Value key) {
  for (int64_t k = 0; k < shape.keys; ++k) {
    Value index = f.add(tile.start, f.add(key, f.i64(k)));
    for (unsigned operand = 0; operand < operands.size(); ++operand) {
      Value ahead = operand < query.size() ? f.add(index, f.i64(keysAhead)) : index;
      prefetch(operand, f.sub(f.min(ahead, f.sub(endKey, f.i64(1))), chunkStart));
    }
  }
}

void DecodeTask::emitDots(const Tile &tile) {
  for (unsigned term = 0; term < query.size(); ++term)
    loop(f.i64(0), queryBlocks, shape.queries, [&](Value firstQuery) {
      loop(tile.low, tile.high, shape.keys, [&](Value key) {
        if (term == 0) {
          Value isFirst = arith::CmpIOp::create(f.builder(), f.loc(), arith::CmpIPredicate::eq, firstQuery, f.i64(0));
          when(isFirst, [&] { prefetchFor(tile, key); });
        }
        emitDot(term, tile, firstQuery, key);
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
  if (isSoftmax())
    overQueries([&](Value number) { f.store(floats(-infinity), scratch, at(best, number)); });
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
      result = overQueries(outer, [&](Value number, ValueRange carried) -> Values {
        auto relative = [&](const FlashScratch::Part &part) {
          Value bound = f.load(b.getI64Type(), f.address(scratch, part.offset, b.getF32Type()), number);
          return lanesOf(f.min(f.max(f.sub(bound, tile.start), f.i64(0)), f.i64(shape.tile)));
        };
        Value inRanges;
        for (unsigned range = 0; range < lower.size(); ++range) {
          Value here = expressions.both(compare(arith::CmpIPredicate::sge, index, relative(lower[range])),
                                        compare(arith::CmpIPredicate::slt, index, relative(upper[range])));
          inRanges = inRanges ? expressions.either(inRanges, here) : here;
        }
        Value seen = expressions.both(inside, inRanges);
        Value present, score = scoreOf(number, key, first, seen, present);
        Value otherwise = isSoftmax() ? floats(-infinity) : absentMark(f, shape.lanes);
        present = expressions.asLanes(present);
        score = arith::SelectOp::create(b, loc, present, score, otherwise);
        f.store(score, scratch, f.add(at(raw[0], number), key));
        if (isSoftmax()) {
          f.store(emitMax(f, score, loadLanes(scratch, at(best, number))), scratch, at(best, number));
          present = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNE, score, floats(-infinity));
        }
        Value absent = expressions.both(inside, expressions.negate(present));
        return {arith::OrIOp::create(b, loc, carried[0], arith::ExtUIOp::create(b, loc, narrowLanes, absent))};
      });
    });
    return result;
  });
  Value every = vector::ReductionOp::create(b, loc, vector::CombiningKind::OR, any[0]);
  return compare(arith::CmpIPredicate::ne, every, arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(0)));
}

/// Scores become weights 2^(score - maximum) in place, absent ones marked; sums and mixes follow a maximum that grew.
void DecodeTask::emitPowers(const Tile &tile) {
  OpBuilder &b = f.builder();
  Location loc = f.loc();
  Value lanes = f.i64(shape.lanes), start = f.mul(f.div(tile.low, lanes), lanes);
  overQueries([&](Value query) {
    Value maximumAt = f.add(partial.maximum, query), sumAt = f.add(partial.sum, query);
    Value old = loadFloat(base, maximumAt);
    Value largest = vector::ReductionOp::create(b, loc, vector::CombiningKind::MAXNUMF, loadLanes(scratch, at(best, query)));
    Value maximum = emitMax(f, largest, old);
    // Still no key: shift by 0, so that -inf - -inf never happens.
    Value isNone = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, maximum, number(-infinity));
    Value shift = arith::SelectOp::create(b, loc, isNone, number(0.0), maximum);
    Value factor = emitExp2NonPositive(f, arith::SubFOp::create(b, loc, old, shift));
    f.store(maximum, base, maximumAt);
    Value shifts = f.splat(shift, shape.lanes);
    bool changes = weightOf(flash) && !flash.getValues().empty();
    Values init{floats(0.0)};
    if (changes)
      init.push_back(floats(0.0));
    Values ends = f.loop(start, tile.high, lanes, init, [&](Value key, ValueRange carried) -> Values {
      Value place = f.add(at(raw[0], query), key);
      Value score = loadLanes(scratch, place);
      Value power = emitExp2NonPositive(f, arith::SubFOp::create(b, loc, score, shifts));
      Values next{arith::AddFOp::create(b, loc, carried[0], power)};
      Value present = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNE, score, floats(-infinity));
      if (changes)
        scoped([&] {
          ChangedWeight changed = changeWeight(expressions, flash, power, 0, [&] {
            expressions.bindLanes(keyAxis(), {f.add(tile.start, key)}, {maskBelow(f, key, tile.high, shape.lanes)});
            expressions.markExisting(keyAxis());
          });
          power = changed.weight;
          present = expressions.both(present, changed.present);
          next.push_back(arith::SelectOp::create(b, loc, expressions.both(present, changed.kept), floats(1.0), carried[1]));
        });
      f.store(arith::SelectOp::create(b, loc, present, power, absentMark(f, shape.lanes)), scratch, place);
      return next;
    });
    Value sum = vector::ReductionOp::create(b, loc, vector::CombiningKind::ADD, ends[0]);
    f.store(math::FmaOp::create(b, loc, loadFloat(base, sumAt), factor, sum), base, sumAt);
    if (changes) {
      Value keptAt = f.add(partial.kept, query);
      Value kept = vector::ReductionOp::create(b, loc, vector::CombiningKind::MAXNUMF, ends[1]);
      f.store(emitMax(f, kept, loadFloat(base, keptAt)), base, keptAt);
    }
    Value grew = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNE, old, maximum);
    when(grew, [&] {
      for (const FlashScratch::Part &mix : partial.mix) {
        Value row = at(mix, query);
        f.loop(row, f.add(row, mix.pitch), lanes, [&](Value at) {
          f.store(arith::MulFOp::create(b, loc, loadLanes(base, at), f.splat(factor, shape.lanes)), base, at);
        });
      }
    });
  });
}
