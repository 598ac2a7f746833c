//===- FlashDecodePowers.cpp - online softmax of few queries ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From the scores of a tile to weights in base 2: maxima, and the factors of what was added before, for a register block
// of queries at once; sums stay in lanes until the chunk ends.
//===----------------------------------------------------------------------===//
#include "compiler/cpu/FlashDecode.h"
#include "compiler/cpu/VectorMath.h"
#include "dialects/attn/FlashWeights.h"

using namespace mlir;
using namespace attn;

static constexpr double infinity = std::numeric_limits<double>::infinity();

/// Sets lanes of all queries, and of those that fill up a register block.
void DecodeTask::fillLanes(const FlashScratch::Part &part, double value) {
  f.loop(part.offset, f.add(part.offset, f.mul(queryBlocks, part.pitch)), f.i64(shape.lanes),
         [&](Value at) { f.store(floats(value), scratch, at); });
}

/// Calls `body` with the first of some queries and what `join` makes of the lanes of each, as a vector of queries.
void DecodeTask::overJoined(const FlashScratch::Part &part, llvm::function_ref<Value(Value, Value)> join,
                            llvm::function_ref<void(Value first, Value joined)> body) {
  int64_t count = std::min(shape.block.queries, shape.lanes);
  loop(f.i64(0), queryBlocks, count, [&](Value first) {
    Values lanes;
    for (int64_t q = 0; q < count; ++q)
      lanes.push_back(loadLanes(scratch, at(part, f.add(first, f.i64(q)))));
    body(first, joinAcrossLanes(f, lanes, join));
  });
}

/// Takes the best scores of a tile into the maxima, and keeps what scores are shifted by and sums are multiplied with.
void DecodeTask::growMaxima() {
  OpBuilder &b = f.builder();
  auto larger = [&](Value x, Value y) { return emitMax(f, x, y); };
  overJoined(best, larger, [&](Value first, Value largest) {
    Type type = largest.getType();
    Value maximumAt = f.add(partial.maximum, first);
    Value old = f.load(type, base, maximumAt), maximum = emitMax(f, largest, old);
    // Still no key: shift by 0, so that -inf - -inf never happens.
    Value isNone = arith::CmpFOp::create(b, f.loc(), arith::CmpFPredicate::OEQ, maximum, f.constant(type, -infinity));
    Value shift = arith::SelectOp::create(b, f.loc(), isNone, f.constant(type, 0.0), maximum);
    f.store(maximum, base, maximumAt);
    f.store(shift, scratch, f.add(shifts.offset, first));
    f.store(emitExp2(f, arith::SubFOp::create(b, f.loc(), old, shift)), scratch, f.add(rescales.offset, first));
  });
}

/// Scores become weights 2^(score - maximum) in place, absent ones marked; sums and mixes follow a maximum that grew.
void DecodeTask::emitPowers(const Tile &tile) {
  growMaxima();
  overQueries([&](Value query) { emitPowersOf(query, tile); });
}

void DecodeTask::emitPowersOf(Value query, const Tile &tile) {
  OpBuilder &b = f.builder();
  Location loc = f.loc();
  Value lanes = f.i64(shape.lanes), start = f.mul(f.div(tile.low, lanes), lanes);
  Value shift = f.splat(loadFloat(scratch, f.add(shifts.offset, query)), shape.lanes);
  Value factor = loadFloat(scratch, f.add(rescales.offset, query)), factors = f.splat(factor, shape.lanes);
  bool changes = changesWeights(flash);
  Values init{floats(0.0)};
  if (changes)
    init.push_back(floats(0.0));
  Values ends = f.loop(start, tile.high, lanes, init, [&](Value key, ValueRange carried) -> Values {
    Value place = f.add(at(raw[0], query), key);
    Value score = loadLanes(scratch, place);
    Value power = emitExp2(f, arith::SubFOp::create(b, loc, score, shift));
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
  Value sumAt = at(sums, query);
  f.store(math::FmaOp::create(b, loc, loadLanes(scratch, sumAt), factors, ends[0]), scratch, sumAt);
  if (changes) {
    Value keptAt = f.add(partial.kept, query);
    Value kept = vector::ReductionOp::create(b, loc, vector::CombiningKind::MAXNUMF, ends[1]);
    f.store(emitMax(f, kept, loadFloat(base, keptAt)), base, keptAt);
  }
  Value grew = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNE, factor, number(1.0));
  when(grew, [&] {
    for (const FlashScratch::Part &mix : partial.mix) {
      Value row = at(mix, query);
      f.loop(row, f.add(row, mix.pitch), lanes, [&](Value at) {
        f.store(arith::MulFOp::create(b, loc, loadLanes(base, at), factors), base, at);
      });
    }
  });
}

/// The sums of a chunk, which is over.
void DecodeTask::settleSums() {
  auto add = [&](Value x, Value y) -> Value { return arith::AddFOp::create(f.builder(), f.loc(), x, y); };
  overJoined(sums, add, [&](Value first, Value total) { f.store(total, base, f.add(partial.sum, first)); });
}
