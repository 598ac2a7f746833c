//===- RowStage.cpp - attention, a warp per query ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Exact f32 attention for whatever tensor cores do not take: any expressions, types and layouts. A warp has one query;
// each lane scores one of 32 keys at a time, and then holds some elements of the values' width, over which the weights go
// round. Wide values take several passes over the keys. Online softmax in base 2: Milakov and Gimelshein (2018).
//===----------------------------------------------------------------------===//
#include "compiler/cpu/VectorMath.h"
#include "compiler/cuda/AttentionStage.h"
#include "dialects/attn/FlashWeights.h"

using namespace mlir;
using namespace attn;

static constexpr double infinity = std::numeric_limits<double>::infinity();

namespace {
/// The code of one query. From keys to keys a lane carries what Partials says, the sum and the flag its own, then its
/// elements of the values.
class RowTask : public QueryTask {
public:
  using QueryTask::QueryTask;

  /// Null chunk: all keys, and what follows.
  LogicalResult emit(Value query, const KeyChunk *chunk, Filter takes);

private:
  /// A score in base 2, and whether it is there.
  struct Score {
    Value value, seen;
  };
  /// Of 32 keys: this lane's weight, and bits that say which are seen.
  struct Weights {
    Value seen, own;
  };

  void bindKey(Value key) { axes.bindKey(x, key); }
  void findKeys(const KeyChunk *chunk);
  Values walk(Value firstElement, const KeyChunk *chunk);
  Value dot(unsigned term);
  Score scoreAt(Value key);
  Value seenInRanges(Value key);
  Values start(const KeyChunk *chunk);
  Values emitKeys(Value firstKey, Value firstElement, ValueRange carried);
  void mix(unsigned value, Value firstKey, Value firstElement, Weights weights, MutableArrayRef<Value> sums);
  void mixKey(unsigned value, Value key, Value firstElement, Value weight, MutableArrayRef<Value> sums);
  void store(Value query, const KeyChunk &chunk, Value firstElement, ValueRange state);

  Value keyCount;
  Value firstKey, endKey;  ///< of all ranges
  Values lower, upper;     ///< of each range; null where there is no bound
};

class RowStage : public AttentionStage {
public:
  using AttentionStage::AttentionStage;

private:
  KernelShape walkShape() const override { return {/*threads=*/128, /*threadsPerTask=*/warpLanes}; }
  Value walkCount(FunctionScope &f) override { return QueryTask::count(f, axes); }
  LogicalResult emitWalk(FunctionScope &f, Value task, const KeyChunk *chunk, QueryTask::Filter takes) override {
    return RowTask(f, stage, flash, axes).emit(task, chunk, takes);
  }
};
} // namespace

std::unique_ptr<DeviceStage> attn::makeRowStage(StageOp stage) { return std::make_unique<RowStage>(stage); }

//===----------------------------------------------------------------------===//
// A query
//===----------------------------------------------------------------------===//

LogicalResult RowTask::emit(Value query, const KeyChunk *chunk, Filter takes) {
  return forQuery(query, takes, [&] {
    keyCount = axes.keyCount(x);
    findKeys(chunk);
    forPasses([&](Value firstElement) {
      Values state = walk(firstElement, chunk);
      if (chunk)
        store(query, *chunk, firstElement, state);
      else
        finish(firstElement, state);
    });
  });
}

/// The keys that the task takes and the query may see: none of a chunk that the entry does not have.
void RowTask::findKeys(const KeyChunk *chunk) {
  Value from = f.i64(0), end = keyCount;
  if (chunk) {
    Value length = chunk->partials.chunkKeys(f, keyCount);
    from = f.min(f.mul(chunk->number, length), keyCount);
    end = f.min(f.add(from, length), keyCount);
  }
  firstKey = end;
  endKey = from;
  for (unsigned r = 0; r < std::max(1u, flash.getNumRanges()); ++r) {
    Value low = flash.getLowerOf(r), high = flash.getUpperOf(r);
    lower.push_back(low ? f.max(x.evaluate(low).value, from) : from);
    upper.push_back(high ? f.min(x.evaluate(high).value, end) : end);
    firstKey = f.min(firstKey, lower.back());
    endKey = f.max(endKey, upper.back());
  }
}

/// Maximum and, of this lane, sum before any key; then the outputs' elements. The sink, if there is one, is a key without
/// a value, before the first chunk.
FunctionScope::Values RowTask::start(const KeyChunk *chunk) {
  Value maximum = number(-infinity), sum = number(0.0);
  if (flash.getSink() && isSoftmax()) {
    Value sink = mul(x.evaluate(flash.getSink()).value, number(log2OfE));
    if (chunk)
      sink = select(arith::CmpIOp::create(b, f.loc(), arith::CmpIPredicate::eq, chunk->number, f.i64(0)), sink, maximum);
    maximum = sink;
    sum = select(isFirstLane(), powerOf(maximum, shiftFor(maximum)), sum);
  }
  Values state{maximum, sum, number(0.0)};
  state.append(axes.widths.size() * perLane, number(0.0));
  return state;
}

/// All keys, 32 at a time from a multiple of 32 on, for the elements from `firstElement` on.
FunctionScope::Values RowTask::walk(Value firstElement, const KeyChunk *chunk) {
  Value step = f.i64(warpLanes), from = f.mul(f.div(firstKey, step), step);
  return f.loop(from, endKey, step, start(chunk), [&](Value key, ValueRange carried) {
    x.enter(key.getParentBlock()->getParentOp());
    Values next = emitKeys(key, firstElement, carried);
    x.leave();
    return next;
  });
}

void RowTask::store(Value query, const KeyChunk &chunk, Value firstElement, ValueRange state) {
  const Partials &partials = chunk.partials;
  Value place = partials.place(f, query, chunk.number);
  Value sum = sumOfLanes(state[Partials::Sum]), kept = greatestOfLanes(state[Partials::Kept]);
  f.when(isFirstLane(), [&] {
    f.store(state[Partials::Maximum], place, f.i64(Partials::Maximum));
    f.store(sum, place, f.i64(Partials::Sum));
    f.store(kept, place, f.i64(Partials::Kept));
  });
  for (auto [v, width] : llvm::enumerate(axes.widths))
    for (int64_t i = 0; i < perLane; ++i) {
      Value element = elementOf(firstElement, i);
      f.when(f.less(element, f.extent(width)), [&] {
        f.store(state[Partials::Statistics + v * perLane + i], place, f.add(partials.offset(f, v), element));
      });
    }
}

//===----------------------------------------------------------------------===//
// Scores
//===----------------------------------------------------------------------===//

Value RowTask::dot(unsigned term) {
  StringAttr contracted = axes.contracted[term];
  return f.loop(f.i64(0), f.extent(contracted), f.i64(1), {number(0.0)}, [&](Value e, ValueRange sum) -> Values {
    x.enter(e.getParentBlock()->getParentOp());
    x.bind(contracted, e);
    Datum query = x.evaluate(flash.getQueries()[term]), key = x.evaluate(flash.getKeys()[term]);
    Value next = math::FmaOp::create(b, f.loc(), query.value, key.value, sum[0]);
    if (Value present = x.both(query.present, key.present))
      next = select(present, next, sum[0]);
    x.leave();
    return {next};
  })[0];
}

Value RowTask::seenInRanges(Value key) {
  Value seen;
  for (auto [from, to] : llvm::zip(lower, upper)) {
    Value behind = arith::CmpIOp::create(b, f.loc(), arith::CmpIPredicate::sge, key, from);
    Value within = x.both(behind, f.less(key, to));
    seen = seen ? x.either(seen, within) : within;
  }
  return seen;
}

/// The score of this lane's key. Behind the last key it reads that of the last one, which does not count.
RowTask::Score RowTask::scoreAt(Value key) {
  x.enter(nullptr);
  bindKey(f.min(key, f.sub(keyCount, f.i64(1))));
  for (auto [term, argument] : llvm::enumerate(termsOf(flash)))
    x.set(argument, 0, {dot(term), {}});
  Datum score = x.evaluate(flash.getScore());
  Value seen = x.both(seenInRanges(key), score.present);
  if (flash.getMask()) {
    Datum mask = x.evaluate(flash.getMask());
    seen = x.both(seen, x.both(mask.value, mask.present));
  }
  x.leave();
  Value value = score.value;
  if (isSoftmax()) { // A score of -inf is absent.
    Value isScore = arith::CmpFOp::create(b, f.loc(), arith::CmpFPredicate::UNE, value, number(-infinity));
    seen = x.both(seen, isScore);
    value = mul(value, number(log2OfE));
  }
  return {select(seen, value, number(isSoftmax() ? -infinity : 0.0)), seen};
}

//===----------------------------------------------------------------------===//
// Weights and mixes
//===----------------------------------------------------------------------===//

FunctionScope::Values RowTask::emitKeys(Value first, Value firstElement, ValueRange carried) {
  Score score = scoreAt(f.add(first, lane));
  Values next(carried);
  Value weight = score.value;
  if (isSoftmax()) {
    auto larger = [&](Value y, Value z) { return emitMax(f, y, z); };
    next[0] = larger(joinLanes(f, score.value, larger), carried[0]);
    Value shift = shiftFor(next[0]), correction = powerOf(carried[0], shift);
    weight = powerOf(score.value, shift);
    next[1] = math::FmaOp::create(b, f.loc(), carried[1], correction, weight);
    for (Value &sum : MutableArrayRef<Value>(next).drop_front(Partials::Statistics))
      sum = mul(sum, correction);
  }
  if (weightOf(flash)) { // What is mixed may be another weight; the sum is that of the softmax's own.
    Value itsKey = f.min(f.add(first, lane), f.sub(keyCount, f.i64(1)));
    ChangedWeight changed = changeWeight(x, flash, weight, 0, [&] { bindKey(itsKey); });
    weight = changed.weight;
    score.seen = x.both(score.seen, changed.present);
    Value &kept = next[Partials::Kept];
    kept = select(x.both(score.seen, changed.kept), number(1.0), kept);
  }
  Value seen = ballot(f, score.seen);
  for (unsigned v = 0; v < axes.widths.size(); ++v)
    mix(v, first, firstElement, {seen, weight}, MutableArrayRef<Value>(next).slice(Partials::Statistics + v * perLane, perLane));
  return next;
}

/// Adds the 32 keys from `first` on to this lane's elements of a value: weights go round from lane to lane, and a key
/// that is not seen is not read.
void RowTask::mix(unsigned value, Value first, Value firstElement, Weights weights, MutableArrayRef<Value> sums) {
  Value width = f.extent(axes.widths[value]), none = f.i64(0);
  Value count = f.min(f.i64(warpLanes), f.sub(endKey, first));
  Value hasWidth = f.less(none, width);
  count = select(hasWidth, count, none);
  Values results = f.loop(none, count, f.i64(1), sums, [&](Value number, ValueRange sums) {
    Value lane = arith::TruncIOp::create(b, f.loc(), b.getI32Type(), number);
    Value weight = fromLane(f, weights.own, lane);
    Value bit = arith::ShRUIOp::create(b, f.loc(), weights.seen, lane);
    Value isSeen = arith::TruncIOp::create(b, f.loc(), b.getI1Type(), bit);
    x.enter(number.getParentBlock()->getParentOp());
    Values next = f.choose(
        isSeen, sums.getTypes(),
        [&] {
          Values mixed(sums);
          mixKey(value, f.add(first, number), firstElement, weight, mixed);
          return mixed;
        },
        [&] { return Values(sums); });
    x.leave();
    return next;
  });
  llvm::copy(results, sums.begin());
}

/// Behind the width it reads the last element.
void RowTask::mixKey(unsigned value, Value key, Value firstElement, Value weight, MutableArrayRef<Value> sums) {
  StringAttr width = axes.widths[value];
  x.enter(b.getInsertionBlock()->getParentOp());
  bindKey(key);
  for (int64_t i = 0; i < perLane; ++i) {
    x.enter(nullptr);
    x.bind(width, f.min(elementOf(firstElement, i), f.sub(f.extent(width), f.i64(1))));
    Datum datum = x.evaluate(flash.getValues()[value]);
    Value next = math::FmaOp::create(b, f.loc(), weight, datum.value, sums[i]);
    sums[i] = datum.present ? select(datum.present, next, sums[i]) : next;
    x.leave();
  }
  x.leave();
}
