//===- FlashKernel.cpp - the walk over key tiles ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Key tiles start at multiples of their size, so that what a row computes depends on that row alone. A value that is not
// finite reaches, through a matrix instruction, also rows for which its key is absent. That shows in the outputs: when
// any is not finite at the end, the CTA does its work once more, with finite and other values apart.
//===----------------------------------------------------------------------===//
#include "compiler/cuda/FlashKernel.h"
#include "compiler/cpu/Packing.h"
#include "dialects/attn/FlashWeights.h"
#include <limits>

using namespace mlir;
using namespace attn;

FlashKernel::FlashKernel(FunctionScope &f, StageOp stage, FlashOp flash, const FlashAxes &axes,
                         const FlashOperands &operands, const FlashTiling &tiling, const KeyChunk *chunk)
    : t(f), f(f), stage(stage), flash(flash), axes(axes), operands(operands), tiling(tiling),
      shared(operands, tiling, rangeCount()), form(ScoreForm::of(flash, axes)), chunk(chunk) {}

//===----------------------------------------------------------------------===//
// Axes
//===----------------------------------------------------------------------===//

/// Rows of a batch entry: those that share the keys, the heads of a group side by side.
Value FlashKernel::rowCount(Expressions &x) {
  return axes.lane ? f.mul(otherRows(), x.extentAt(axes.lane)) : otherRows();
}

void FlashKernel::bindRow(Expressions &x, Value number) {
  Values counts;
  for (StringAttr axis : axes.rows)
    counts.push_back(f.extent(axis));
  Value other = number;
  if (axes.lane) {
    x.bind(axes.lane, f.div(number, otherRows()));
    x.markExisting(axes.lane);
    other = f.rem(number, otherRows());
  }
  for (auto [axis, index] : llvm::zip(axes.rows, splitTask(f, other, counts)))
    x.bind(axis, index);
}

//===----------------------------------------------------------------------===//
// One CTA
//===----------------------------------------------------------------------===//

Value FlashKernel::blockCount(FunctionScope &f, const FlashAxes &axes, const FlashTiling &tiling) {
  Value rows = f.mul(f.extent(axes.rows), axes.lane ? f.extent(axes.lane) : f.i64(1));
  return f.mul(f.extent(axes.batch), f.ceilDiv(rows, f.i64(tiling.rows())));
}

/// The last tile first: under a causal mask it sees the most keys. `zero` is one (i64).
FlashKernel::Place FlashKernel::placeOf(Value block, Value zero) {
  Value rows = f.add(f.mul(otherRows(), axes.lane ? f.extent(axes.lane) : f.i64(1)), zero);
  Value tiles = f.ceilDiv(rows, f.i64(tiling.rows())), entry = f.div(block, tiles);
  Values counts;
  for (StringAttr axis : axes.batch)
    counts.push_back(f.extent(axis));
  Value tile = f.sub(f.sub(tiles, f.i64(1)), f.rem(block, tiles));
  return {entry, splitTask(f, entry, counts), f.mul(tile, f.i64(tiling.rows()))};
}

/// The same, found anew, and what it is computed from too: kept through the loop they would take registers.
FlashKernel::Place FlashKernel::placeAgain(Expressions &x) {
  Place place = placeOf(t.widen(t.again(t.narrow(block))), t.widen(t.again(t.i32(0))));
  for (auto [axis, index] : llvm::zip(axes.batch, place.indices)) {
    x.bind(axis, index);
    x.markExisting(axis);
  }
  return place;
}

LogicalResult FlashKernel::emit(Value block, llvm::function_ref<Value(Expressions &)> takes) {
  t.barrier(); // What came before may still be read.
  this->block = block;
  auto [entry, indices, firstRow] = placeOf(block, f.i64(0));
  Expressions x(f, /*lanes=*/1);
  auto bindBatch = [&, indices = ArrayRef(indices)](Operation *region, bool exist) {
    x.enter(region);
    for (auto [axis, index] : llvm::zip(axes.batch, indices)) {
      x.bind(axis, index);
      if (exist)
        x.markExisting(axis);
    }
  };
  bindBatch(nullptr, false);
  Value exists = x.existence(axes.batch);
  if (axes.lane && f.getLayout().isRagged(axes.lane))
    exists = x.both(exists, f.less(firstRow, rowCount(x)));
  exists = x.both(exists, takes(x));
  x.leave();
  LogicalResult result = success();
  whereExists(f, exists, [&](Operation *region) {
    bindBatch(region, true);
    result = emitEntry(x, firstRow);
  });
  return result;
}

/// Finds the keys of the CTA.
LogicalResult FlashKernel::emitEntry(Expressions &x, Value firstRow) {
  keys = axes.keyCount(x);
  from = f.i64(0);
  end = keys;
  if (!chunk)
    return emitTile(x, firstRow);
  Value length = chunk->partials.chunkKeys(f, keys);
  from = f.mul(chunk->number, length);
  end = f.min(f.add(from, length), keys);
  LogicalResult result = success();
  // The first chunk is there even of no keys.
  f.when(f.less(from, f.max(keys, f.i64(1))), [&] { inScope(x, [&] { result = emitTile(x, firstRow); }); });
  return result;
}

LogicalResult FlashKernel::emitTile(Expressions &x, Value firstRow) {
  base = t.sharedMemory();
  lastColumn = t.mul(t.rem(t.lane(), 4), 2);
  lastElement = t.add(lastColumn, t.mul(t.rem(t.warp(), tiling.parts), 16));
  makeRows(x, firstRow);
  findExtremes();
  countFromFirstTile();
  copyQueries(x, firstRow);
  prepareCopies(x);
  prepareReaders();
  State state = walk(x, /*isCareful=*/false);
  if (Value spoiled = anySpoiled(state)) {
    Values flat = state.flat();
    state = state.with(f.choose(
        t.anyInBlock(spoiled), ValueRange(flat).getTypes(),
        [&] {
          Values again;
          inScope(x, [&] { again = walk(x, /*isCareful=*/true).flat(); });
          return again;
        },
        [&] { return flat; }));
  }
  if (chunk)
    store(x, state);
  else
    finish(x, state);
  return failure(hasFailed || x.failed());
}

//===----------------------------------------------------------------------===//
// The walk
//===----------------------------------------------------------------------===//

FlashKernel::Values FlashKernel::State::flat() const {
  Values all(maxima);
  llvm::append_range(all, sums);
  llvm::append_range(all, kept);
  for (const Values &output : outputs)
    llvm::append_range(all, output);
  return all;
}

FlashKernel::State FlashKernel::State::with(ValueRange flat) const {
  State other;
  auto take = [&](size_t count) {
    Values taken(flat.take_front(count));
    flat = flat.drop_front(count);
    return taken;
  };
  other.maxima = take(maxima.size());
  other.sums = take(sums.size());
  other.kept = take(kept.size());
  for (const Values &output : outputs)
    other.outputs.push_back(take(output.size()));
  return other;
}

/// Before any key: the sink, if there is one, is a key without a value, before the first chunk. Sums are of the thread's own columns; the sink
/// is counted in the first thread of a row.
FlashKernel::State FlashKernel::initialState() {
  OpBuilder &b = f.builder();
  Location loc = f.loc();
  Type f32 = b.getF32Type();
  Value zero = f.constant(f32, 0.0), none = f.constant(f32, -std::numeric_limits<double>::infinity());
  State state;
  for (Row &row : rows) {
    if (!isSoftmax())
      break;
    Value maximum = none, sum = zero;
    if (flash.getSink()) {
      maximum = arith::MulFOp::create(b, loc, row.x.evaluate(flash.getSink()).value, f.constant(f32, log2OfE));
      if (chunk) {
        Value isFirst = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, chunk->number, f.i64(0));
        maximum = arith::SelectOp::create(b, loc, isFirst, maximum, none);
      }
      Value isNone = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, maximum, none);
      Value shift = arith::SelectOp::create(b, loc, isNone, zero, maximum);
      Value power = t.exp2(arith::SubFOp::create(b, loc, maximum, shift));
      Value isFirst = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, lastColumn, t.i32(0));
      sum = arith::SelectOp::create(b, loc, isFirst, power, zero);
    }
    state.maxima.push_back(maximum);
    state.sums.push_back(sum);
  }
  if (weightOf(flash))
    state.kept.assign(rows.size(), zero);
  for (const FlashOperand &value : operands.values)
    state.outputs.push_back(Values(tiling.rowTiles * tiling.own(value) / 8 * 4, zero));
  return state;
}

/// The first tile behind this one that any row of the CTA sees.
Value FlashKernel::nextSeen(Value first) {
  Value next = t.add(first, tiling.keyTile);
  if (rangeCount() == 1)
    return next;
  return t.repeat(
      {next},
      [&](ValueRange carried) -> Value {
        Value isUnseen = rows.front().x.negate(seesTile(blockExtremes, carried[0]));
        return arith::AndIOp::create(f.builder(), f.loc(), t.less(carried[0], endSeen), isUnseen);
      },
      [&](ValueRange carried) { return Values{t.add(carried[0], tiling.keyTile)}; })[0];
}

/// The stage that lies so many further on, around the ring.
Value FlashKernel::stageAfter(Value stage, int64_t count) {
  OpBuilder &b = f.builder();
  int64_t ring = tiling.stages * shared.stageBytes;
  Value next = t.add(stage, count * shared.stageBytes), end = t.add(base, shared.firstStage + ring);
  Value isBehind = arith::CmpIOp::create(b, f.loc(), arith::CmpIPredicate::sge, next, end);
  return arith::SelectOp::create(b, f.loc(), isBehind, t.add(next, -ring), next);
}

/// The keys that the CTA sees, tile by tile. Carried: the tile, its stage, and, where it can't be told from the tile, the
/// next one to copy. A careful walk copies nothing ahead: the next stage takes what is not finite.
FlashKernel::State FlashKernel::walk(Expressions &x, bool isCareful) {
  int64_t ahead = isCareful ? 0 : tiling.stages - 1;
  Value first = t.i32(0), toCopy = first, stage = t.add(base, shared.firstStage);
  State initial = initialState();
  for (int64_t i = 0; i < ahead; ++i) {
    copyTile(x, toCopy, stageAfter(stage, i));
    toCopy = nextSeen(toCopy);
  }
  if (!isCareful) { // The queries came with the first group.
    t.waitForCopies(ahead - 1);
    t.barrier();
    loadQueries();
  }
  bool carriesNext = rangeCount() > 1 && !isCareful;
  Values carried{first, stage};
  if (carriesNext)
    carried.push_back(toCopy);
  size_t count = carried.size();
  llvm::append_range(carried, initial.flat());
  Values end = t.repeat(
      carried, [&](ValueRange carried) -> Value { return t.less(carried[0], endSeen); },
      [&](ValueRange carried) {
        Operation *loop = f.builder().getInsertionBlock()->getParentOp();
        Value first = carried[0], stage = carried[1];
        Value toCopy = carriesNext ? carried[2] : t.add(first, ahead * tiling.keyTile);
        x.enter(loop);
        if (isCareful) {
          t.barrier(); // Everyone has done with the tile before.
          copyTile(x, first, stage);
        }
        t.waitForCopies(isCareful ? 0 : ahead - 1);
        t.barrier();
        if (!isCareful)
          copyTile(x, toCopy, stageAfter(stage, ahead));
        x.leave();
        Tile tile{first, stage, loop};
        if (isCareful)
          separate(tile);
        State state = work(tile, initial.with(carried.drop_front(count)), isCareful);
        Values next{nextSeen(first), isCareful ? stage : stageAfter(stage, 1)};
        if (carriesNext)
          next.push_back(nextSeen(toCopy));
        llvm::append_range(next, state.flat());
        return next;
      });
  State state = initial.with(ValueRange(end).drop_front(count));
  if (!isCareful)
    lowerRaised(state);
  return state;
}

/// One key tile and the warp's rows, when they see any of it. Of few queries, most warps have none.
FlashKernel::State FlashKernel::work(const Tile &tile, State state, bool isCareful) {
  auto worked = [&] {
    State next = state;
    Values scores = this->scores(tile), present;
    if (isCareful || weightOf(flash))
      present = presence(scores);
    softmax(scores, next);
    if (weightOf(flash))
      changeWeights(tile, scores, present, next);
    if (!isCareful)
      present.clear();
    for (unsigned value = 0; value < operands.values.size(); ++value) {
      const FlashOperand &operand = operands.values[value];
      Values &outputs = next.outputs[value];
      if (operand.isExact()) {
        mixExactly(value, t.add(tile.stage, shared.valueAt[value]), marked(scores, present), isCareful, outputs);
        continue;
      }
      int64_t at = isCareful ? shared.finiteAt[value] : shared.valueAt[value];
      mix(value, t.add(tile.stage, at), factored(operand, tile, scores, present), outputs);
      if (isCareful)
        spoil(value, tile, present, outputs);
    }
    return next.flat();
  };
  Value sees = hasBounds() ? seesTile(warpExtremes, tile.first) : chunk ? hasRows : Value();
  if (!sees)
    return state.with(worked());
  Values flat = state.flat();
  return state.with(f.choose(sees, ValueRange(flat).getTypes(), worked, [&] { return flat; }));
}
