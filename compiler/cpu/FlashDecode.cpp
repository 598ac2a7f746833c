//===- FlashDecode.cpp - entries, chunks and tiles of keys ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "compiler/cpu/FlashDecode.h"

using namespace mlir;
using namespace attn;

static constexpr double infinity = std::numeric_limits<double>::infinity();

//===----------------------------------------------------------------------===//
// Scopes
//===----------------------------------------------------------------------===//

void DecodeTask::loop(Value from, Value to, int64_t step, llvm::function_ref<void(Value)> body) {
  f.loop(from, to, f.i64(step), [&](Value i) { scoped([&] { body(i); }); });
}

void DecodeTask::when(Value condition, llvm::function_ref<void()> then, llvm::function_ref<void()> otherwise) {
  auto thenHere = [&] { scoped(then); };
  if (otherwise)
    f.when(condition, thenHere, [&] { scoped(otherwise); });
  else
    f.when(condition, thenHere);
}

FunctionScope::Values DecodeTask::choose(Value condition, TypeRange types, llvm::function_ref<Values(bool)> body) {
  if (!condition)
    return body(true);
  auto side = [&](bool isTrue) {
    Values results;
    scoped([&] { results = body(isTrue); });
    return results;
  };
  return f.choose(condition, types, [&] { return side(true); }, [&] { return side(false); });
}

void DecodeTask::bindKey(Value key) {
  expressions.bind(keyAxis(), key);
  expressions.markExisting(keyAxis());
}

FunctionScope::Values DecodeTask::overQueries(ValueRange init, llvm::function_ref<Values(Value, ValueRange)> body) {
  AxisList all = axes.rowAxes();
  return expressions.loops(all, init, [&](ValueRange carried) {
    Value number = f.i64(0);
    for (StringAttr axis : all)
      number = f.add(f.mul(number, axis == axes.lane ? lanesExtent : f.extent(axis)), expressions.indexAlong(axis));
    return body(number, carried);
  });
}

void DecodeTask::overQueries(llvm::function_ref<void(Value)> body) {
  overQueries({}, [&](Value number, ValueRange) {
    body(number);
    return Values();
  });
}

void DecodeTask::overBlocks(Value isSimple,
                            llvm::function_ref<void(const DecodeBlock &block, Value firstQuery, Value isSimple)> body) {
  Value end = queryBlocks, takesSingle;
  if (shape.single) { // What is not simple is rare: it has no block of its own.
    Value count = f.i64(shape.block.queries), left = f.rem(queries, count);
    Value isLeft = arith::CmpIOp::create(f.builder(), f.loc(), arith::CmpIPredicate::eq, left, f.i64(1));
    takesSingle = expressions.both(isLeft, isSimple);
    end = arith::SelectOp::create(f.builder(), f.loc(), takesSingle, f.sub(end, count), end);
  }
  loop(f.i64(0), end, shape.block.queries, [&](Value firstQuery) { body(shape.block, firstQuery, isSimple); });
  if (shape.single)
    when(takesSingle, [&] { body(*shape.single, end, {}); });
}

//===----------------------------------------------------------------------===//
// Queries
//===----------------------------------------------------------------------===//

/// The keys [lower, upper) of a range of the query at the point. One with an absent bound is empty.
std::pair<Value, Value> DecodeTask::boundsOf(unsigned range) {
  Value low = f.i64(0), high = expressions.extentAt(keyAxis()), present;
  if (Value bound = flash.getLowerOf(range)) {
    Datum datum = expressions.evaluate(bound);
    low = f.max(low, datum.value);
    present = datum.present;
  }
  if (Value bound = flash.getUpperOf(range)) {
    Datum datum = expressions.evaluate(bound);
    high = f.min(high, datum.value);
    present = expressions.both(present, datum.present);
  }
  if (present)
    high = arith::SelectOp::create(f.builder(), f.loc(), present, high, f.i64(0));
  return {low, high};
}

/// Mixes before any key.
void DecodeTask::startMixes(Value queries) {
  for (const FlashScratch::Part &mix : partial.mix)
    f.loop(mix.offset, f.add(mix.offset, f.mul(mix.pitch, queries)), f.i64(shape.lanes),
           [&](Value at) { f.store(floats(0.0), base, at); });
}

/// Statistics before any key; gives those of the keys [from, to) from the first to the last that is seen.
std::pair<Value, Value> DecodeTask::startQueries(Value from, Value to) {
  OpBuilder &b = f.builder();
  bool hasRanges = flash.getNumRanges() > 0;
  Values init{hasRanges ? to : from, hasRanges ? from : to};
  Values seen = overQueries(init, [&](Value query, ValueRange carried) -> Values {
    if (isSoftmax()) {
      f.store(number(-infinity), base, f.add(partial.maximum, query));
      f.store(number(0.0), base, f.add(partial.sum, query));
      f.store(number(0.0), base, f.add(partial.kept, query));
    }
    Value first = carried[0], last = carried[1];
    for (unsigned range = 0; range < flash.getNumRanges(); ++range) {
      auto [low, high] = boundsOf(range);
      f.store(low, f.address(scratch, lower[range].offset, b.getF32Type()), query);
      f.store(high, f.address(scratch, upper[range].offset, b.getF32Type()), query);
      low = f.max(low, from);
      high = f.min(high, to);
      Value meets = f.less(low, high);
      first = arith::SelectOp::create(b, f.loc(), meets, f.min(first, low), first);
      last = arith::SelectOp::create(b, f.loc(), meets, f.max(last, high), last);
    }
    return {first, last};
  });
  return {seen[0], seen[1]};
}

/// Rows of queries as f32, with what multiplies the score and log2(e) folded in; 0 behind their ends.
void DecodeTask::packQueries() {
  OpBuilder &b = f.builder();
  for (unsigned term = 0; term < query.size(); ++term) {
    StringAttr contracted = axes.contracted[term];
    Value extent = f.extent(contracted), pitch = query[term].pitch;
    // Blocks of queries are whole: those behind the last one are 0.
    loop(f.mul(queries, pitch), f.mul(queryBlocks, pitch), shape.lanes,
         [&](Value i) { f.store(floats(0.0), scratch, f.add(query[term].offset, i)); });
    overQueries([&](Value number) {
      Value row = at(query[term], number);
      Value factor;
      if (score.queryFactor)
        factor = expressions.evaluate(score.queryFactor).value;
      packRow(expressions, flash.getQueries()[term], DepthRange{{contracted}, f.i64(0), extent},
              f.address(scratch, row, b.getF32Type()));
      Value scale = floats(score.isPlain && isSoftmax() ? score.factor * log2OfE : score.factor);
      if (factor)
        scale = arith::MulFOp::create(b, f.loc(), scale, f.splat(factor, shape.lanes));
      f.loop(f.i64(0), pitch, f.i64(shape.lanes), [&](Value first) {
        Value element = loadLanes(scratch, f.add(row, first));
        element = arith::MulFOp::create(b, f.loc(), element, scale);
        Value inside = maskBelow(f, first, extent, shape.lanes);
        f.store(arith::SelectOp::create(b, f.loc(), inside, element, floats(0.0)), scratch, f.add(row, first));
      });
    });
  }
}

//===----------------------------------------------------------------------===//
// Tasks
//===----------------------------------------------------------------------===//

LogicalResult DecodeTask::overEntry(ArrayRef<Value> indices, llvm::function_ref<Value(Expressions &)> takes,
                                    llvm::function_ref<void()> body) {
  scratch = f.workerScratch();
  auto bindBatch = [&] {
    for (auto [axis, index] : llvm::zip(axes.batch, indices))
      expressions.bind(axis, index);
  };
  auto emitHere = [&] {
    bindBatch();
    for (StringAttr axis : axes.batch)
      expressions.markExisting(axis);
    lanesExtent = axes.lane ? expressions.extentAt(axes.lane) : f.i64(1);
    queries = f.mul(f.extent(axes.rows), lanesExtent);
    queryBlocks = roundedUp(f, queries, shape.block.queries);
    body();
  };
  expressions.enter(nullptr);
  bindBatch();
  Value exists = expressions.existence(axes.batch);
  expressions.leave();
  auto emitTaken = [&] {
    expressions.enter(nullptr);
    bindBatch();
    Value taken = takes(expressions);
    expressions.leave();
    if (taken)
      return when(taken, emitHere);
    expressions.enter(nullptr);
    emitHere();
    expressions.leave();
  };
  if (exists)
    when(exists, emitTaken);
  else
    emitTaken();
  return failure(expressions.failed());
}

/// Chunks of the entry at the point.
Value DecodeTask::ownChunks() {
  return f.max(f.i64(1), f.ceilDiv(expressions.extentAt(keyAxis()), f.i64(shape.chunk)));
}

/// What a chunk leaves to be merged.
Value DecodeTask::partialOf(Value entry, Value chunk) {
  Value at = f.mul(f.add(f.mul(entry, chunkCount(f, axes, shape)), chunk), partial.size);
  return f.address(f.sharedScratch(), at, f.builder().getF32Type());
}

static FunctionScope::Values entryIndices(FunctionScope &f, const FlashAxes &axes, Value entry) {
  FunctionScope::Values counts;
  for (StringAttr axis : axes.batch)
    counts.push_back(f.extent(axis));
  return splitTask(f, entry, counts);
}

/// Heads of one chunk come one after the other: in a layout that has them side by side (pages of [tokens, heads, width])
/// they share pages of memory, and what the machine fetches ahead of one belongs to the next.
LogicalResult DecodeTask::emit(Value task, llvm::function_ref<Value(Expressions &)> takes) {
  Value entries = f.extent(axes.batch);
  Value entry = f.rem(task, entries), chunk = f.div(task, entries);
  return overEntry(entryIndices(f, axes, entry), takes, [&] {
    when(f.less(chunk, ownChunks()), [&] { emitChunk(entry, chunk); });
  });
}

void DecodeTask::emitChunk(Value entry, Value chunk) {
  OpBuilder &b = f.builder();
  Value isOnly = arith::CmpIOp::create(b, f.loc(), arith::CmpIPredicate::eq, ownChunks(), f.i64(1));
  Value own = f.address(scratch, ownPartial, b.getF32Type());
  base = FunctionScope::constantOf(chunkCount(f, axes, shape)) == 1
             ? own
             : arith::SelectOp::create(b, f.loc(), isOnly, own, partialOf(entry, chunk)).getResult();
  chunkStart = f.mul(chunk, f.i64(shape.chunk));
  Value end = f.min(expressions.extentAt(keyAxis()), f.add(chunkStart, f.i64(shape.chunk)));
  auto [first, last] = startQueries(chunkStart, end);
  Value low = first, high = last, sees = f.less(low, high);
  // A chunk that no query sees leaves a sum of 0, and then nobody asks for its mixes.
  if (isSoftmax())
    when(expressions.either(sees, isOnly), [&] { startMixes(queryBlocks); });
  else
    startMixes(queryBlocks);
  when(sees, [&] {
    direct = locateRows(low, high);
    endKey = high;
    isFar = lieFar();
    when(isFar, [&] {
      for (unsigned term = 0; term < query.size(); ++term)
        prefetch(term, low, f.min(high, f.add(low, f.i64(shape.tile))));
    });
    packQueries();
    if (isSoftmax())
      fillLanes(sums, 0.0);
    Value skipped = f.mul(f.div(f.sub(low, chunkStart), f.i64(shape.tile)), f.i64(shape.tile));
    loop(f.add(chunkStart, skipped), high, shape.tile, [&](Value start) {
      Value from = f.max(f.i64(0), f.sub(low, start)), to = f.min(f.i64(shape.tile), f.sub(high, start));
      emitTile({start, from, to});
    });
    if (isSoftmax())
      settleSums();
  });
  when(isOnly, [&] { finish(); });
}

void DecodeTask::emitTile(const Tile &tile) {
  simple = expressions.both(direct, storeFactors(tile));
  for (unsigned term = 0; term < query.size(); ++term)
    if (operands[term].isTurned)
      turnKeys(term, tile);
  emitDots(tile);
  Value anyAbsent = emitScores(tile);
  if (isSoftmax())
    emitPowers(tile);
  emitMixes(tile, anyAbsent);
}
