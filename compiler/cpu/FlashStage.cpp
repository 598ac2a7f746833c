//===- FlashStage.cpp - the walk over blocks and key tiles ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A task packs the queries of its tile and walks over the key tiles that any of its
// blocks sees; a block joins in where it sees a key. Key tiles start at multiples of
// their size, so what a row computes depends on that row alone.
//===----------------------------------------------------------------------===//
#include "compiler/cpu/FlashStage.h"
#include "compiler/cpu/VectorMath.h"

using namespace mlir;
using namespace attn;

static constexpr double infinity = std::numeric_limits<double>::infinity();

FlashTask::FlashTask(FunctionScope &f, StageOp stage, FlashOp flash, const FlashAxes &axes, const FlashShape &shape)
    : f(f), stage(stage), flash(flash), axes(axes), shape(shape), expressions(f, shape.lanes),
      tiles(TileMask::of(flash, axes.rowAxes())), base(f.workerScratch()), scratch(f, axes, shape),
      vectorType(f.vectorOf(shape.lanes, f.builder().getF32Type())), score(flash, axes) {}

//===----------------------------------------------------------------------===//
// Scratch
//===----------------------------------------------------------------------===//

Value FlashTask::loadFloats(Value offset, int64_t plus) { return f.load(vectorType, base, f.add(offset, f.i64(plus))); }
void FlashTask::storeFloats(Value value, Value offset, int64_t plus) {
  f.store(value, base, f.add(offset, f.i64(plus)));
}

/// Integers lie at the same kind of offset; an i64 takes two f32.
Value FlashTask::loadIntegers(Value offset, int64_t plus, bool isLanes) {
  Type i64 = f.builder().getI64Type();
  Value address = f.address(base, offset, f.builder().getF32Type());
  return f.load(isLanes ? Type(f.vectorOf(shape.lanes, i64)) : i64, address, f.i64(plus));
}
void FlashTask::storeIntegers(Value value, Value offset, int64_t plus) {
  f.store(value, f.address(base, offset, f.builder().getF32Type()), f.i64(plus));
}

//===----------------------------------------------------------------------===//
// Start of a tile
//===----------------------------------------------------------------------===//

/// Binds the axes of rows that are not along lanes.
void FlashTask::bindRow(Expressions &x, Value block) {
  Values counts;
  for (StringAttr axis : axes.rows)
    counts.push_back(f.extent(axis));
  for (auto [axis, index] : llvm::zip(axes.rows, splitTask(f, f.rem(block, otherRows()), counts)))
    x.bind(axis, index);
}

/// Binds the rows and lanes of a block. Blocks that share a range of queries lie
/// together, so that a tile covers few keys.
void FlashTask::bindBlock(Value block) {
  bindRow(expressions, block);
  if (!axes.lane)
    return;
  Value firstQuery = firstQueryOf(block), extent = expressions.extentAt(axes.lane);
  Values first, masks;
  for (int64_t v = 0; v < shape.vectors; ++v) {
    first.push_back(f.add(firstQuery, f.i64(v * shape.lanes)));
    masks.push_back(mayReachBeyond() ? maskBelow(f, first.back(), extent, shape.lanes) : Value());
  }
  expressions.bindLanes(axes.lane, first, masks);
  expressions.markExisting(axes.lane);
  for (int64_t v = 0; v < shape.vectors; ++v)
    if (Value exists = expressions.existence(axes.rows, v))
      masks[v] = expressions.both(masks[v], expressions.asLanes(exists));
  expressions.bindLanes(axes.lane, first, masks);
}

bool FlashTask::mayReachBeyond() {
  std::optional<int64_t> known = f.constantExtent(axes.lane);
  return !known || *known % shape.queries;
}

/// [contracted][queries], with what multiplies the score and log2(e) folded in; that would be rounded in matrix tiles.
void FlashTask::packQuery(Value number, Value firstQuery) {
  for (auto [term, query] : llvm::enumerate(flash.getQueries())) {
    StringAttr contracted = axes.contracted[term];
    Value to = shape.hasTiles ? scratch.weights : at(scratch.query[term], number);
    Value panel = f.address(base, to, f.builder().getF32Type());
    Value extent = f.extent(contracted);
    Value firstSlot = f.div(firstQuery, f.i64(shape.lanes));
    if (axes.lane)
      packPanel(expressions, query, DepthRange{{contracted}, f.i64(0), extent},
                PanelColumns{axes.lane, {}, shape.vectors, firstSlot, mayReachBeyond()}, panel);
    else
      packLonelyQuery(term, panel);
    if (shape.hasTiles)
      pairQuery(term, panel, number);
    else if (score.isPlain && (score.queryFactor || score.factor != 1 || isSoftmax()))
      scaleQuery(panel, extent);
  }
}

/// Without a lane axis all lanes hold the same query.
void FlashTask::packLonelyQuery(unsigned term, Value panel) {
  StringAttr contracted = axes.contracted[term];
  f.loop(f.i64(0), f.extent(contracted), f.i64(1), [&](Value e) {
    expressions.enter(e.getParentBlock()->getParentOp());
    expressions.bind(contracted, e);
    Datum datum = expressions.evaluateLanes(flash.getQueries()[term]);
    Value element = datum.value;
    if (datum.present)
      element = arith::SelectOp::create(f.builder(), f.loc(), expressions.asLanes(datum.present), element, floats(0.0));
    f.store(element, panel, f.mul(e, f.i64(shape.queries)));
    expressions.leave();
  });
}

/// What a score that is plain is multiplied with.
FunctionScope::Values FlashTask::scoreFactors() {
  Values factors;
  for (int64_t v = 0; v < shape.vectors; ++v) {
    Value constant = floats(isSoftmax() ? score.factor * log2OfE : score.factor);
    Value own = score.queryFactor ? expressions.evaluateLanes(score.queryFactor, v).value : Value();
    factors.push_back(own ? arith::MulFOp::create(f.builder(), f.loc(), own, constant).getResult() : constant);
  }
  return factors;
}

void FlashTask::scaleQuery(Value panel, Value extent) {
  OpBuilder &b = f.builder();
  Values factors = scoreFactors();
  f.loop(f.i64(0), extent, f.i64(1), [&](Value e) {
    for (int64_t v = 0; v < shape.vectors; ++v) {
      Value place = f.add(f.mul(e, f.i64(shape.queries)), f.i64(v * shape.lanes));
      Value element = f.load(vectorType, panel, place);
      f.store(arith::MulFOp::create(b, f.loc(), element, factors[v]), panel, place);
    }
  });
}

/// Statistics and outputs before any key: the sink, if there is one, is a key without a value.
void FlashTask::startBlock(Value number) {
  OpBuilder &b = f.builder();
  for (int64_t v = 0; v < shape.vectors && isSoftmax(); ++v) {
    Value maximum = floats(-infinity), sum = floats(0.0);
    if (flash.getSink()) {
      Value sink = expressions.evaluateLanes(flash.getSink(), v).value;
      maximum = arith::MulFOp::create(b, f.loc(), sink, floats(log2OfE));
      Value none = arith::CmpFOp::create(b, f.loc(), arith::CmpFPredicate::OEQ, maximum, floats(-infinity));
      Value shift = arith::SelectOp::create(b, f.loc(), none, floats(0.0), maximum);
      sum = emitExp2(f, arith::SubFOp::create(b, f.loc(), maximum, shift));
    }
    storeFloats(maximum, at(scratch.maximum, number), v * shape.lanes);
    storeFloats(sum, at(scratch.sum, number), v * shape.lanes);
    storeFloats(floats(0.0), at(scratch.kept, number), v * shape.lanes);
  }
  for (auto [value, part] : llvm::enumerate(scratch.output)) {
    Value to = at(part, number);
    f.loop(f.i64(0), part.pitch, f.i64(shape.lanes), [&](Value i) { storeFloats(floats(0.0), f.add(to, i)); });
  }
}

/// Prepares all blocks of the tile; gives per range the first key that any of them sees and the end.
FunctionScope::Values FlashTask::emitStart(Value firstBlock, Value count) {
  Values init;
  for (unsigned r = 0; r < rangeCount(); ++r)
    init.append({keyCount(), f.i64(0)});
  return f.loop(f.i64(0), count, f.i64(1), init, [&](Value number, ValueRange carried) -> Values {
    expressions.enter(number.getParentBlock()->getParentOp());
    Value block = f.add(firstBlock, number);
    bindBlock(block);
    packQuery(number, firstQueryOf(block));
    startBlock(number);
    Values ends = storeBounds(number);
    storeLeaves(number);
    expressions.leave();
    for (unsigned r = 0; r < rangeCount(); ++r) {
      ends[2 * r] = f.min(carried[2 * r], ends[2 * r]);
      ends[2 * r + 1] = f.max(carried[2 * r + 1], ends[2 * r + 1]);
    }
    return ends;
  });
}

//===----------------------------------------------------------------------===//
// The walk
//===----------------------------------------------------------------------===//

void FlashTask::emitKeyTile(Value firstBlock, Value count, Value firstKey, Value length) {
  auto emitHere = [&] { emitSeenTile(firstBlock, count, firstKey, length); };
  if (hasMap())
    f.when(answerTile(firstBlock, count, firstKey, length), emitHere);
  else
    emitHere();
}

/// A key tile of which some block sees something.
void FlashTask::emitSeenTile(Value firstBlock, Value count, Value firstKey, Value length) {
  packKeys(firstKey, length);
  Value finite = packValues(firstKey, length);
  f.loop(f.i64(0), count, f.i64(1), [&](Value number) {
    Operation *loop = number.getParentBlock()->getParentOp();
    KeyRange block = keysSeenBy(number, firstKey, length);
    Value sees = f.less(block.low, block.high);
    if (hasMap()) {
      Value answer = loadIntegers(at(scratch.answer, number), 0, false);
      sees = expressions.both(sees, f.less(f.i64(0), answer));
      block.holds = f.less(f.i64(1), answer);
    }
    f.when(sees, [&] {
      expressions.enter(loop);
      bindBlock(f.add(firstBlock, number));
      emitBlock(block, firstKey, length, finite);
      expressions.leave();
    });
  });
}

/// Register blocks of a batch entry; of any one while its own lengths are not known.
Value FlashTask::blockCount() {
  if (!axes.lane)
    return blocksFor(f, axes, shape, {});
  bool isKnown = llvm::all_of(f.getLayout().dependsOn(axes.lane), [&](StringAttr on) { return expressions.isBound(on); });
  Value queries = isKnown ? expressions.extentAt(axes.lane) : f.extent(axes.lane);
  return blocksFor(f, axes, shape, queries);
}

void FlashTask::bindBatch(ArrayRef<Value> indices) {
  for (auto [axis, index] : llvm::zip(axes.batch, indices))
    expressions.bind(axis, index);
}

/// Whether a batch entry exists and has queries from `firstBlock` on; null: always.
Value FlashTask::hasBlocks(Value firstBlock) {
  Value exists = expressions.existence(axes.batch);
  if (axes.lane && f.getLayout().isRagged(axes.lane))
    exists = expressions.both(exists, f.less(firstBlock, blockCount()));
  if (exists && shape.decodeQueries && axes.lane && f.getLayout().isRagged(axes.lane))
    exists = expressions.both(exists, f.less(f.i64(shape.decodeQueries), expressions.extentAt(axes.lane)));
  return exists;
}

LogicalResult FlashTask::emit(Value task) {
  blocksOfTask = blocksPerTask(f, axes, shape, blockCount());
  Value tiles = f.ceilDiv(blockCount(), blocksOfTask);
  Values counts;
  for (StringAttr axis : axes.batch)
    counts.push_back(f.extent(axis));
  counts.push_back(tiles);
  Values indices = splitTask(f, task, counts);
  // The last tile first: under a causal mask it sees the most keys.
  Value tile = f.sub(f.sub(tiles, f.i64(1)), indices.back());
  Value firstBlock = f.mul(tile, blocksOfTask);
  expressions.enter(nullptr);
  bindBatch(indices);
  Value exists = hasBlocks(firstBlock);
  expressions.leave();
  auto emitHere = [&](Operation *region) {
    expressions.enter(region);
    bindBatch(indices);
    for (StringAttr axis : axes.batch)
      expressions.markExisting(axis);
    emitTile(firstBlock);
    expressions.leave();
  };
  whereExists(f, exists, emitHere);
  return failure(expressions.failed());
}

void FlashTask::emitTile(Value firstBlock) {
  Value count = f.min(blocksOfTask, f.sub(blockCount(), firstBlock));
  if (shape.hasTiles)
    startTiles(f, f.address(base, scratch.shapes, f.builder().getF32Type()));
  Values ranges = emitStart(firstBlock, count);
  Value low = ranges[0], high = ranges[1];
  for (unsigned r = 1; r < rangeCount(); ++r) {
    low = f.min(low, ranges[2 * r]);
    high = f.max(high, ranges[2 * r + 1]);
  }
  Value step = f.i64(shape.keyTile);
  Value start = f.mul(f.div(f.max(low, f.i64(0)), step), step);
  f.loop(start, high, step, [&](Value firstKey) {
    Operation *loop = firstKey.getParentBlock()->getParentOp();
    Value length = f.min(step, f.sub(high, firstKey));
    auto emitHere = [&] {
      expressions.enter(loop);
      emitKeyTile(firstBlock, count, firstKey, length);
      expressions.leave();
    };
    if (rangeCount() == 1)
      emitHere();
    else // Between ranges lie tiles that nobody sees.
      f.when(seesKeyTile(ranges, firstKey), emitHere);
  });
  f.loop(f.i64(0), count, f.i64(1), [&](Value number) {
    expressions.enter(number.getParentBlock()->getParentOp());
    Value block = f.add(firstBlock, number);
    bindBlock(block);
    finishBlock(number, firstQueryOf(block));
    expressions.leave();
  });
  if (shape.hasTiles)
    endTiles(f);
}
