//===- RowStage.cpp - attention, a warp per query ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Exact f32 attention for whatever tensor cores do not take: any expressions, types and layouts. A warp has one query;
// each lane scores one of 32 keys at a time, and then holds some elements of the values' width, over which the weights go
// round. Wide values take several passes over the keys. Online softmax in base 2: Milakov and Gimelshein (2018).
//===----------------------------------------------------------------------===//
#include "compiler/cpu/FlashStage.h"
#include "compiler/cpu/VectorMath.h"
#include "compiler/cuda/DeviceStage.h"
#include "compiler/cuda/WarpOps.h"
#include "dialects/attn/FlashWeights.h"

using namespace mlir;
using namespace attn;

static constexpr double infinity = std::numeric_limits<double>::infinity();
/// What a lane carries from keys to keys before its elements: the maximum of the row, its own sum of weights, and 1 when
/// changed weights of its own have been kept.
enum Statistic { kept = 2, statistics = 3 };
/// Elements of each value that a lane holds in one pass.
static constexpr int64_t perLane = 4;
static constexpr int64_t passWidth = perLane * warpLanes;

namespace {
class RowStage : public DeviceStage {
public:
  using DeviceStage::DeviceStage;

  LogicalResult prepare(const FrameLayout &layout) override;
  KernelShape shape(unsigned) const override { return {/*threads=*/128, /*threadsPerTask=*/warpLanes}; }
  Value emitTaskCount(FunctionScope &f, unsigned) override { return f.extent(queryAxes); }
  LogicalResult emitTask(FunctionScope &f, unsigned kernel, Value task) override;

private:
  FlashOp flash;
  FlashAxes axes;
  AxisList queryAxes; ///< batch, rows and the lane axis, which is fastest
};

/// The code of one query.
class RowTask {
public:
  using Values = FunctionScope::Values;

  RowTask(FunctionScope &f, StageOp stage, FlashOp flash, const FlashAxes &axes)
      : f(f), b(f.builder()), x(f, /*lanes=*/1), stage(stage), flash(flash), axes(axes),
        lane(arith::ExtUIOp::create(b, f.loc(), b.getI64Type(), laneIndex(f))) {}

  /// With the query axes bound to `indices`.
  LogicalResult emit(ArrayRef<StringAttr> queryAxes, ValueRange indices);

private:
  /// A score in base 2, and whether it is there.
  struct Score {
    Value value, seen;
  };
  /// Of 32 keys: this lane's weight, and bits that say which are seen.
  struct Weights {
    Value seen, own;
  };

  void bindQuery(Operation *region, ArrayRef<StringAttr> queryAxes, ValueRange indices);
  void bindKey(Value key) { axes.bindKey(x, key); }
  void emitPass(Value firstElement);
  Value dot(unsigned term);
  Score scoreAt(Value key);
  Value seenInRanges(Value key);
  Values start();
  Values emitKeys(Value firstKey, Value firstElement, ValueRange carried);
  void mix(unsigned value, Value firstKey, Value firstElement, Weights weights, MutableArrayRef<Value> sums);
  void mixKey(unsigned value, Value key, Value firstElement, Value weight, MutableArrayRef<Value> sums);
  void finish(Value firstElement, ValueRange state);
  void writeResults(Value firstElement, ArrayRef<Value> outputs, Value logSumExp);

  bool isSoftmax() { return flash.getNormalizer() == Normalizer::Softmax; }
  Value number(double value) { return f.constant(b.getF32Type(), value); }
  Value select(Value condition, Value yes, Value no) {
    return arith::SelectOp::create(b, f.loc(), condition, yes, no);
  }
  Value equals(Value value, double to) {
    return arith::CmpFOp::create(b, f.loc(), arith::CmpFPredicate::OEQ, value, number(to));
  }
  Value mul(Value y, Value z) { return arith::MulFOp::create(b, f.loc(), y, z); }
  /// 0 in place of the shift of a row that has no score yet: -inf less -inf would be NaN.
  Value shiftFor(Value maximum) { return select(equals(maximum, -infinity), number(0.0), maximum); }
  Value powerOf(Value score, Value shift) {
    return emitExp2NonPositive(f, arith::SubFOp::create(b, f.loc(), score, shift));
  }
  Value elementOf(Value firstElement, int64_t i) {
    return f.add(firstElement, f.add(f.i64(i * warpLanes), lane));
  }

  FunctionScope &f;
  OpBuilder &b;
  Expressions x;
  StageOp stage;
  FlashOp flash;
  const FlashAxes &axes;
  Value lane;              ///< of the warp, i64
  Value keyCount;
  Value firstKey, endKey;  ///< of all ranges
  Values lower, upper;     ///< of each range; null where there is no bound
};
} // namespace

//===----------------------------------------------------------------------===//
// The stage
//===----------------------------------------------------------------------===//

LogicalResult RowStage::prepare(const FrameLayout &layout) {
  flash = *stage.getBody().getOps<FlashOp>().begin();
  FailureOr<FlashAxes> found = FlashAxes::of(flash, layout.getSignature());
  if (failed(found))
    return failure();
  axes = *found;
  queryAxes = axes.batch;
  llvm::append_range(queryAxes, axes.rowAxes());
  return success();
}

LogicalResult RowStage::emitTask(FunctionScope &f, unsigned, Value task) {
  FunctionScope::Values counts;
  for (StringAttr axis : queryAxes)
    counts.push_back(f.extent(axis));
  return RowTask(f, stage, flash, axes).emit(queryAxes, splitTask(f, task, counts));
}

std::unique_ptr<DeviceStage> attn::makeRowStage(StageOp stage) { return std::make_unique<RowStage>(stage); }

//===----------------------------------------------------------------------===//
// A query
//===----------------------------------------------------------------------===//

void RowTask::bindQuery(Operation *region, ArrayRef<StringAttr> queryAxes, ValueRange indices) {
  x.enter(region);
  for (auto [axis, index] : llvm::zip(queryAxes, indices))
    x.bind(axis, index);
}

LogicalResult RowTask::emit(ArrayRef<StringAttr> queryAxes, ValueRange indices) {
  bindQuery(nullptr, queryAxes, indices);
  Value exists = x.existence(queryAxes);
  x.leave();
  auto emitHere = [&](Operation *region) {
    bindQuery(region, queryAxes, indices);
    for (StringAttr axis : queryAxes)
      x.markExisting(axis);
    keyCount = axes.keyCount(x);
    firstKey = keyCount;
    endKey = f.i64(0);
    for (unsigned r = 0; r < std::max(1u, flash.getNumRanges()); ++r) {
      Value from = flash.getLowerOf(r), to = flash.getUpperOf(r);
      lower.push_back(from ? f.max(x.evaluate(from).value, f.i64(0)) : f.i64(0));
      upper.push_back(to ? f.min(x.evaluate(to).value, keyCount) : keyCount);
      firstKey = f.min(firstKey, lower.back());
      endKey = f.max(endKey, upper.back());
    }
    Value width = f.i64(1);
    for (StringAttr axis : axes.widths)
      width = f.max(width, f.extent(axis));
    f.loop(f.i64(0), width, f.i64(passWidth), [&](Value firstElement) {
      x.enter(firstElement.getParentBlock()->getParentOp());
      emitPass(firstElement);
      x.leave();
    });
    x.leave();
  };
  if (exists)
    f.when(exists, [&] { emitHere(b.getInsertionBlock()->getParentOp()); });
  else
    emitHere(nullptr);
  return failure(x.failed());
}

/// Maximum and, of this lane, sum before any key; then the outputs' elements. The sink, if there is one, is a key without
/// a value.
FunctionScope::Values RowTask::start() {
  Value maximum = number(-infinity), sum = number(0.0);
  if (flash.getSink() && isSoftmax()) {
    maximum = mul(x.evaluate(flash.getSink()).value, number(log2OfE));
    Value isFirst = arith::CmpIOp::create(b, f.loc(), arith::CmpIPredicate::eq, lane, f.i64(0));
    sum = select(isFirst, powerOf(maximum, shiftFor(maximum)), sum);
  }
  Values state{maximum, sum, number(0.0)};
  state.append(axes.widths.size() * perLane, number(0.0));
  return state;
}

/// All keys, 32 at a time from a multiple of 32 on, for the elements from `firstElement` on.
void RowTask::emitPass(Value firstElement) {
  Value step = f.i64(warpLanes), from = f.mul(f.div(firstKey, step), step);
  Values state = f.loop(from, endKey, step, start(), [&](Value key, ValueRange carried) {
    x.enter(key.getParentBlock()->getParentOp());
    Values next = emitKeys(key, firstElement, carried);
    x.leave();
    return next;
  });
  finish(firstElement, state);
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
    for (Value &sum : MutableArrayRef<Value>(next).drop_front(statistics))
      sum = mul(sum, correction);
  }
  if (weightOf(flash)) { // What is mixed may be another weight; the sum is that of the softmax's own.
    Value itsKey = f.min(f.add(first, lane), f.sub(keyCount, f.i64(1)));
    ChangedWeight changed = changeWeight(x, flash, weight, 0, [&] { bindKey(itsKey); });
    weight = changed.weight;
    score.seen = x.both(score.seen, changed.present);
    next[kept] = select(x.both(score.seen, changed.kept), number(1.0), next[kept]);
  }
  Value seen = ballot(f, score.seen);
  for (unsigned v = 0; v < axes.widths.size(); ++v)
    mix(v, first, firstElement, {seen, weight}, MutableArrayRef<Value>(next).slice(statistics + v * perLane, perLane));
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

void RowTask::finish(Value firstElement, ValueRange state) {
  Values outputs(state.drop_front(statistics));
  Value logSumExp;
  if (isSoftmax()) {
    Value sum = joinLanes(f, state[1], [&](Value y, Value z) -> Value { return arith::AddFOp::create(b, f.loc(), y, z); });
    // A row without keys: output 0, log-sum-exp -inf.
    Value empty = equals(sum, 0.0);
    Value nothing = empty;
    if (weightOf(flash)) { // Nor where every weight was dropped: 0 times the inverse of infinity would be NaN.
      Value isKept = joinLanes(f, state[kept], [&](Value y, Value z) { return emitMax(f, y, z); });
      nothing = x.either(empty, equals(isKept, 0.0));
    }
    Value inverse = select(nothing, number(0.0), arith::DivFOp::create(b, f.loc(), number(1.0), sum));
    for (Value &output : outputs)
      output = mul(output, inverse);
    Value natural = math::FmaOp::create(b, f.loc(), state[0], number(1.0 / log2OfE), emitLog(f, sum));
    logSumExp = select(empty, number(-infinity), natural);
  }
  writeResults(firstElement, outputs, logSumExp);
}

void RowTask::writeResults(Value firstElement, ArrayRef<Value> outputs, Value logSumExp) {
  auto write = [&](Value condition, WriteOp op, StringAttr width, int64_t i) {
    f.when(condition, [&] {
      x.enter(b.getInsertionBlock()->getParentOp());
      if (flash.getLogsumexp())
        x.set(flash.getOutputs().back(), 0, {logSumExp, {}});
      for (auto [v, axis] : llvm::enumerate(axes.widths))
        if (width && axis == width)
          x.set(flash.getOutputs()[v], 0, {outputs[v * perLane + i], {}});
      if (width)
        x.bind(width, elementOf(firstElement, i));
      x.write(op);
      x.leave();
    });
  };
  for (WriteOp op : stage.getBody().getOps<WriteOp>()) {
    StringAttr width = widthOf(op, axes);
    if (!width) // Once per row.
      write(arith::CmpIOp::create(b, f.loc(), arith::CmpIPredicate::eq, f.add(lane, firstElement), f.i64(0)), op, width, 0);
    for (int64_t i = 0; width && i < perLane; ++i)
      write(f.less(elementOf(firstElement, i), f.extent(width)), op, width, i);
  }
}
