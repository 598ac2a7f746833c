//===- FlashAxes.cpp - what a flash stage is made of ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sorts axes, sizes tiles, lays out the scratch.
//===----------------------------------------------------------------------===//
#include "compiler/cpu/FlashStage.h"

using namespace mlir;
using namespace attn;

//===----------------------------------------------------------------------===//
// Axes
//===----------------------------------------------------------------------===//

static bool contains(ArrayRef<StringAttr> axes, StringAttr axis) { return llvm::is_contained(axes, axis); }

/// How well an axis of rows fills lanes: best one that bounds depend on, then one
/// that is a dimension of its own (a sequence), then a part of one (heads of a
/// group), then a constant, the longer the better.
static int64_t laneMerit(FlashOp flash, const Signature &signature, StringAttr axis) {
  std::optional<int64_t> known = constantExtent(signature, axis);
  if (known == 1)
    return 0;
  ExtentAttr origin = resolvedExtent(signature, ExtentAttr::named(axis.getContext(), axis.getValue()));
  int64_t merit = known ? std::min<int64_t>(*known, 1 << 20) : origin.getName() ? 1 << 22 : 1 << 21;
  SmallVector<Value> bounds(flash.getLower());
  llvm::append_range(bounds, flash.getUpper());
  bool isBounded = llvm::any_of(bounds, [&](Value bound) { return valueType(bound).hasAxis(axis); });
  return merit + (isBounded ? 1 << 23 : 0);
}

/// The row axis along lanes; of equals the last in the order of the result.
static StringAttr chooseLane(FlashOp flash, const Signature &signature, ArrayRef<StringAttr> rows) {
  StringAttr best;
  int64_t bestMerit = -1;
  for (StringAttr axis : rows) {
    int64_t merit = laneMerit(flash, signature, axis);
    if (merit >= bestMerit) {
      best = axis;
      bestMerit = merit;
    }
  }
  return best;
}

/// How many keys there are is known per batch entry; how wide elements are, before the call.
LogicalResult FlashAxes::checkRagged(FlashOp flash, const Signature &signature) const {
  for (StringAttr key : keys)
    for (StringAttr on : signature.findAxis(key).getDependsOn())
      if (!contains(batch, on))
        return flash.emitError("the CPU back end cannot fuse over the ragged axis ")
               << key.getValue() << ": keys and values do not share " << on.getValue();
  AxisList elements(contracted);
  llvm::append_range(elements, widths);
  for (StringAttr axis : elements)
    if (signature.findAxis(axis).isRagged())
      return flash.emitError("the CPU back end cannot fuse elements along the ragged axis ") << axis.getValue();
  return success();
}

FailureOr<FlashAxes> FlashAxes::of(FlashOp flash, const Signature &signature) {
  FlashAxes axes;
  axes.keys = axisNames(flash.getOver());
  AxisList onKeySide;
  for (auto [term, contracted] : llvm::zip(flash.getKeys(), flash.getContracted())) {
    AxisList over = axisNames(cast<ArrayAttr>(contracted));
    if (over.size() != 1)
      return flash.emitError("the CPU back end contracts one axis in a score term");
    axes.contracted.push_back(over.front());
    for (StringAttr axis : valueType(term).getAxes())
      if (axis != over.front())
        onKeySide.push_back(axis);
  }
  AxisList score = unionOfAxes({flash.getScore()});
  for (Value value : flash.getValues()) {
    AxisList width;
    for (StringAttr axis : valueType(value).getAxes())
      if (!contains(score, axis))
        width.push_back(axis);
      else
        onKeySide.push_back(axis);
    if (width.size() != 1)
      return flash.emitError("the CPU back end mixes values with one width axis");
    axes.widths.push_back(width.front());
  }
  for (StringAttr axis : score) {
    if (contains(axes.keys, axis))
      continue;
    (contains(onKeySide, axis) ? axes.batch : axes.rows).push_back(axis);
  }
  axes.lane = chooseLane(flash, signature, axes.rows);
  llvm::erase(axes.rows, axes.lane);
  if (failed(axes.checkRagged(flash, signature)))
    return failure();
  return axes;
}

Value FlashAxes::keyCount(Expressions &x) const {
  FunctionScope &f = x.scope();
  Value count = f.i64(1);
  for (StringAttr axis : keys)
    count = f.mul(count, x.extentAt(axis));
  return count;
}

void FlashAxes::bindKey(Expressions &x, Value key) const {
  FunctionScope::Values counts;
  for (StringAttr axis : keys)
    counts.push_back(x.extentAt(axis));
  for (auto [axis, index] : llvm::zip(keys, splitTask(x.scope(), key, counts))) {
    x.bind(axis, index);
    x.markExisting(axis);
  }
}

AxisList FlashAxes::rowAxes() const {
  AxisList all(rows);
  if (lane)
    all.push_back(lane);
  return all;
}

//===----------------------------------------------------------------------===//
// The score
//===----------------------------------------------------------------------===//

/// The constant of `scalar * constant`; nothing for a product of anything else, or by what no query survives.
static std::optional<double> constantFactor(arith::MulFOp product) {
  for (Value side : product->getOperands())
    if (auto constant = side.getDefiningOp<arith::ConstantOp>()) {
      double factor = cast<FloatAttr>(constant.getValue()).getValueAsDouble();
      return factor >= 0x1p-20 && factor <= 0x1p20 ? std::optional(factor) : std::nullopt;
    }
  return std::nullopt;
}

FlashScore::FlashScore(FlashOp flash, const FlashAxes &axes) {
  Block &region = flash.getBody().front();
  Value score = flash.getScore();
  if (region.getNumArguments() != 1)
    return;
  Value term = region.getArgument(0);
  isPlain = score == term;
  auto map = score.getDefiningOp<MapOp>();
  if (!map || map->getBlock() != &region)
    return;
  Block &scalars = map.getBody().front();
  auto product = scalars.getTerminator()->getOperand(0).getDefiningOp<arith::MulFOp>();
  if (!product || product.getLhs() == product.getRhs())
    return;
  size_t inputs = map.getInputs().size(), operations = scalars.getOperations().size();
  if (inputs == 1 && operations == 3 && map.getInputs()[0] == term) {
    std::optional<double> constant = constantFactor(product);
    isPlain = constant.has_value();
    factor = constant.value_or(1);
  }
  for (unsigned side = 0; side < 2 && inputs == 2 && operations == 2; ++side) {
    Value other = map.getInputs()[1 - side];
    bool free = llvm::none_of(axes.keys, [&](StringAttr axis) { return valueType(other).hasAxis(axis); });
    if (map.getInputs()[side] == term && free) {
      queryFactor = other;
      isPlain = true;
    }
  }
}

//===----------------------------------------------------------------------===//
// Scratch
//===----------------------------------------------------------------------===//

FlashScratch::FlashScratch(FunctionScope &f, const FlashAxes &axes, const FlashShape &shape) {
  size = f.i64(0);
  Value line = f.i64(16); // Parts start at cache lines.
  auto reserve = [&](Value floats) {
    Value at = size;
    size = f.add(size, f.mul(f.ceilDiv(floats, line), line));
    return at;
  };
  Value blocks = f.i64(shape.blocks), queries = f.i64(shape.queries), keys = f.i64(shape.keyTile);
  auto perBlock = [&](Value pitch) -> Part { return {reserve(f.mul(pitch, blocks)), pitch}; };
  auto roundUp = [&](Value value, int64_t to) { return f.mul(f.ceilDiv(value, f.i64(to)), f.i64(to)); };
  Value scoreRows = keys;
  auto half = [&](Value bf16) { return f.div(f.mul(bf16, f.i64(shape.parts)), f.i64(2)); };
  for (StringAttr axis : axes.contracted) {
    Value pitch = roundUp(f.extent(axis), shape.hasTiles ? tileDepth : shape.lanes);
    query.push_back(perBlock(f.mul(shape.hasTiles ? half(pitch) : f.extent(axis), queries)));
    if (shape.hasTiles) {
      scoreRows = f.max(scoreRows, pitch); // Queries are packed there before they are pairs.
      pitch = half(pitch);
    }
    key.push_back({reserve(f.mul(pitch, keys)), pitch});
  }
  for (StringAttr axis : axes.widths) {
    Value width = roundUp(roundUp(f.extent(axis), shape.rows), shape.lanes);
    Value pitch = shape.hasTiles ? half(width) : width;
    output.push_back(perBlock(f.mul(width, queries)));
    value.push_back({reserve(f.mul(pitch, keys)), pitch});
    turned.push_back({reserve(f.mul(width, queries)), width});
    if (shape.hasTiles)
      columns.push_back({reserve(f.mul(pitch, keys)), f.mul(pitch, f.i64(tileDepth))});
  }
  maximum = perBlock(queries);
  kept = perBlock(queries);
  sum = perBlock(queries);
  Value wide = f.mul(queries, f.i64(2));
  for (unsigned r = 0; r < shape.ranges; ++r)
    ranges.push_back({perBlock(wide), perBlock(wide), perBlock(f.i64(8))});
  leaves = perBlock(f.i64(4 * shape.leaves));
  answer = perBlock(f.i64(2));
  weights = reserve(f.mul(scoreRows, queries));
  if (!shape.hasTiles)
    return;
  for (unsigned term = 0; term < axes.contracted.size(); ++term)
    scores.push_back(term == 0 ? weights : reserve(f.mul(keys, queries)));
  shapes = reserve(f.i64(16));
}

Value attn::blocksFor(FunctionScope &f, const FlashAxes &axes, const FlashShape &shape, Value queries) {
  Value rows = f.extent(axes.rows);
  return queries ? f.mul(rows, f.ceilDiv(queries, f.i64(shape.queries))) : rows;
}

Value attn::blocksPerTask(FunctionScope &f, const FlashAxes &axes, const FlashShape &shape, Value blocks) {
  Value size = f.i64(shape.blocks);
  for (int64_t part : {2, 4}) { // As few as half and then a quarter of them, where whole tiles are too few for all threads.
    Value isFew = f.less(f.mul(f.ceilDiv(blocks, size), f.extent(axes.batch)), f.enoughTasks());
    size = arith::SelectOp::create(f.builder(), f.loc(), isFew, f.i64(llvm::divideCeil(shape.blocks, part)), size);
  }
  return size;
}
