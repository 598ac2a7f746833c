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
    : f(f), stage(stage), flash(flash), axes(axes), shape(shape), expressions(f, shape.lanes), base(f.workerScratch()),
      scratch(f, axes, shape), vectorType(f.vectorOf(shape.lanes, f.builder().getF32Type())) {
  // score = term, or term * factor with a factor that does not depend on the key?
  Block &region = flash.getBody().front();
  Value score = flash.getScore();
  if (region.getNumArguments() != 1)
    return;
  plainScore = score == region.getArgument(0);
  auto map = score.getDefiningOp<MapOp>();
  if (!map || map->getBlock() != &region || map.getInputs().size() != 2)
    return;
  Block &scalars = map.getBody().front();
  auto product = dyn_cast<arith::MulFOp>(scalars.front());
  if (!product || scalars.getOperations().size() != 2 || product.getLhs() == product.getRhs())
    return;
  for (unsigned side = 0; side < 2; ++side) {
    Value factor = map.getInputs()[1 - side];
    bool free = llvm::none_of(axes.keys, [&](StringAttr axis) { return valueType(factor).hasAxis(axis); });
    if (map.getInputs()[side] == region.getArgument(0) && free) {
      queryFactor = factor;
      plainScore = true;
    }
  }
}

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

Value FlashTask::keyCount() {
  Value count = f.i64(1);
  for (StringAttr axis : axes.keys)
    count = f.mul(count, expressions.extentAt(axis));
  return count;
}

/// Binds the key axes; several are one, row-major.
void FlashTask::bindKey(Value key) {
  Values counts;
  for (StringAttr axis : axes.keys)
    counts.push_back(expressions.extentAt(axis));
  for (auto [axis, index] : llvm::zip(axes.keys, splitTask(f, key, counts))) {
    expressions.bind(axis, index);
    expressions.markExisting(axis);
  }
}

//===----------------------------------------------------------------------===//
// Start of a tile
//===----------------------------------------------------------------------===//

/// Binds the rows and lanes of a block. Blocks that share a range of queries lie
/// together, so that a tile covers few keys.
void FlashTask::bindBlock(Value block) {
  Values counts;
  for (StringAttr axis : axes.rows)
    counts.push_back(f.extent(axis));
  for (auto [axis, index] : llvm::zip(axes.rows, splitTask(f, f.rem(block, otherRows()), counts)))
    expressions.bind(axis, index);
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

/// [contracted][queries], with what multiplies the score and log2(e) folded in.
void FlashTask::packQuery(Value number, Value firstQuery) {
  for (auto [term, query] : llvm::enumerate(flash.getQueries())) {
    StringAttr contracted = axes.contracted[term];
    Value panel = f.address(base, at(scratch.query[term], number), f.builder().getF32Type());
    Value extent = f.extent(contracted);
    Value firstSlot = f.div(firstQuery, f.i64(shape.lanes));
    if (axes.lane)
      packPanel(expressions, query, DepthRange{{contracted}, f.i64(0), extent},
                PanelColumns{axes.lane, {}, shape.vectors, firstSlot, mayReachBeyond()}, panel);
    else
      packLonelyQuery(term, panel);
    if (queryFactor || (plainScore && isSoftmax()))
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

void FlashTask::scaleQuery(Value panel, Value extent) {
  OpBuilder &b = f.builder();
  Values factors;
  for (int64_t v = 0; v < shape.vectors; ++v) {
    Value factor = queryFactor ? expressions.evaluateLanes(queryFactor, v).value : floats(1.0);
    if (isSoftmax())
      factor = arith::MulFOp::create(b, f.loc(), factor, floats(log2OfE));
    factors.push_back(factor);
  }
  f.loop(f.i64(0), extent, f.i64(1), [&](Value e) {
    for (int64_t v = 0; v < shape.vectors; ++v) {
      Value place = f.add(f.mul(e, f.i64(shape.queries)), f.i64(v * shape.lanes));
      Value element = f.load(vectorType, panel, place);
      f.store(arith::MulFOp::create(b, f.loc(), element, factors[v]), panel, place);
    }
  });
}

/// Evaluates the key bounds of a block's rows, keeps them and their extremes, and
/// gives the smallest lower and the largest upper.
std::pair<Value, Value> FlashTask::storeBounds(Value number) {
  OpBuilder &b = f.builder();
  Location loc = f.loc();
  Value keys = keyCount();
  if (!hasBounds())
    return {f.i64(0), keys};
  Value extremes[4] = {keys, f.i64(0), keys, f.i64(0)}; // lower: min, max; upper: min, max
  for (int64_t v = 0; v < shape.vectors; ++v) {
    Value all = f.splat(keys, shape.lanes), none = f.splat(f.i64(0), shape.lanes);
    Value lower = none, upper = all;
    auto restrict = [&](Value bound, bool isLower) {
      Datum datum = expressions.evaluateLanes(bound, v);
      if (isLower)
        lower = arith::MaxSIOp::create(b, loc, lower, datum.value);
      else
        upper = arith::MinSIOp::create(b, loc, upper, datum.value);
      if (datum.present) // A bound that is absent lets nothing pass.
        upper = arith::SelectOp::create(b, loc, datum.present, upper, none);
    };
    for (Value bound : flash.getLower())
      restrict(bound, true);
    for (Value bound : flash.getUpper())
      restrict(bound, false);
    upper = arith::MaxSIOp::create(b, loc, upper, none);
    lower = arith::MinSIOp::create(b, loc, lower, all);
    // Lanes beyond the extent see nothing and count nowhere.
    Value inside = expressions.laneMask(v);
    auto padded = [&](Value value, Value outside) -> Value {
      return inside ? arith::SelectOp::create(b, loc, inside, value, outside).getResult() : value;
    };
    auto reduced = [&](vector::CombiningKind kind, Value value) -> Value {
      return vector::ReductionOp::create(b, loc, kind, value);
    };
    extremes[0] = f.min(extremes[0], reduced(vector::CombiningKind::MINSI, padded(lower, all)));
    extremes[1] = f.max(extremes[1], reduced(vector::CombiningKind::MAXSI, padded(lower, none)));
    extremes[2] = f.min(extremes[2], reduced(vector::CombiningKind::MINSI, padded(upper, all)));
    extremes[3] = f.max(extremes[3], reduced(vector::CombiningKind::MAXSI, padded(upper, none)));
    storeIntegers(lower, at(scratch.lower, number), v * shape.lanes);
    storeIntegers(upper, at(scratch.upper, number), v * shape.lanes);
  }
  for (auto [i, extreme] : llvm::enumerate(extremes))
    storeIntegers(extreme, at(scratch.bounds, number), i);
  return {extremes[0], extremes[3]};
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
      sum = emitExp2NonPositive(f, arith::SubFOp::create(b, f.loc(), maximum, shift));
    }
    storeFloats(maximum, at(scratch.maximum, number), v * shape.lanes);
    storeFloats(sum, at(scratch.sum, number), v * shape.lanes);
  }
  for (auto [value, part] : llvm::enumerate(scratch.output)) {
    Value to = at(part, number);
    f.loop(f.i64(0), part.pitch, f.i64(shape.lanes), [&](Value i) { storeFloats(floats(0.0), f.add(to, i)); });
  }
}

/// Prepares all blocks of the tile; gives the range of keys that any of them sees.
std::pair<Value, Value> FlashTask::emitStart(Value firstBlock, Value count) {
  Values init{keyCount(), f.i64(0)};
  Values range = f.loop(f.i64(0), count, f.i64(1), init, [&](Value number, ValueRange carried) -> Values {
    expressions.enter(number.getParentBlock()->getParentOp());
    Value block = f.add(firstBlock, number);
    bindBlock(block);
    packQuery(number, firstQueryOf(block));
    startBlock(number);
    auto [low, high] = storeBounds(number);
    expressions.leave();
    return {f.min(carried[0], low), f.max(carried[1], high)};
  });
  return {range[0], range[1]};
}

//===----------------------------------------------------------------------===//
// The walk
//===----------------------------------------------------------------------===//

void FlashTask::emitKeyTile(Value firstBlock, Value count, Value firstKey, Value length) {
  packKeys(firstKey, length);
  Value finite = packValues(firstKey, length);
  f.loop(f.i64(0), count, f.i64(1), [&](Value number) {
    Operation *loop = number.getParentBlock()->getParentOp();
    Value low = f.i64(0), high = length;
    if (hasBounds()) {
      Value smallest = loadIntegers(at(scratch.bounds, number), 0, false);
      Value largest = loadIntegers(at(scratch.bounds, number), 3, false);
      low = f.max(low, f.sub(smallest, firstKey));
      high = f.min(high, f.sub(largest, firstKey));
    }
    f.when(f.less(low, high), [&] {
      expressions.enter(loop);
      bindBlock(f.add(firstBlock, number));
      emitBlock({number, low, high}, firstKey, length, finite);
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
  return exists;
}

LogicalResult FlashTask::emit(Value task) {
  Value tiles = f.ceilDiv(blockCount(), f.i64(shape.blocks));
  Values counts;
  for (StringAttr axis : axes.batch)
    counts.push_back(f.extent(axis));
  counts.push_back(tiles);
  Values indices = splitTask(f, task, counts);
  // The last tile first: under a causal mask it sees the most keys.
  Value tile = f.sub(f.sub(tiles, f.i64(1)), indices.back());
  Value firstBlock = f.mul(tile, f.i64(shape.blocks));
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
  if (exists)
    f.when(exists, [&] { emitHere(f.builder().getInsertionBlock()->getParentOp()); });
  else
    emitHere(nullptr);
  return failure(expressions.failed());
}

void FlashTask::emitTile(Value firstBlock) {
  Value count = f.min(f.i64(shape.blocks), f.sub(blockCount(), firstBlock));
  auto [low, high] = emitStart(firstBlock, count);
  Value step = f.i64(shape.keyTile);
  Value start = f.mul(f.div(f.max(low, f.i64(0)), step), step);
  f.loop(start, high, step, [&](Value firstKey) {
    expressions.enter(firstKey.getParentBlock()->getParentOp());
    Value length = f.min(step, f.sub(high, firstKey));
    emitKeyTile(firstBlock, count, firstKey, length);
    expressions.leave();
  });
  f.loop(f.i64(0), count, f.i64(1), [&](Value number) {
    expressions.enter(number.getParentBlock()->getParentOp());
    Value block = f.add(firstBlock, number);
    bindBlock(block);
    finishBlock(number, firstQueryOf(block));
    expressions.leave();
  });
}
