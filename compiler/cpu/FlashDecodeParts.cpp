//===- FlashDecodeParts.cpp - what the decode form is made of ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "compiler/cpu/FlashDecode.h"

using namespace mlir;
using namespace attn;

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

/// Queries that share the keys, when that is known: at most as many as the form takes.
static std::optional<int64_t> knownQueries(const FlashAxes &axes, const Signature &signature) {
  AxisList all = axes.rowAxes();
  int64_t count = 1;
  for (StringAttr axis : all) {
    std::optional<int64_t> known = constantExtent(signature, axis);
    if (!known)
      return std::nullopt;
    count *= std::min<int64_t>(*known, 8);
  }
  return count;
}

/// Rows that lie 4 KiB apart, as those of a head in pages of [tokens, heads, width], share few sets of L2: the values of a
/// tile and the keys asked for ahead have to fit there.
static constexpr int64_t mostKeysOfTile = 32;

/// As many vectors as sums allow and as cut the width into strips of one size; few where it is not known.
static int64_t vectorsOf(int64_t most, int64_t lanes, const FlashAxes &axes, const Signature &signature) {
  int64_t widest = 1;
  for (StringAttr width : axes.widths) {
    std::optional<int64_t> known = constantExtent(signature, width);
    if (!known)
      return std::min<int64_t>(most, 4);
    widest = std::max<int64_t>(widest, llvm::divideCeil(*known, lanes));
  }
  return llvm::divideCeil(widest, llvm::divideCeil(widest, most));
}

DecodeShape::DecodeShape(ScheduleAttr schedule, const FlashAxes &axes, const Signature &signature) {
  lanes = schedule.getLanes();
  // Of 12, 16 or 24 registers for the sums of prefill: 8 or 16, the rest for what is multiplied.
  int64_t sums = llvm::bit_floor<uint64_t>(schedule.getRows() * schedule.getVectors());
  auto blockOf = [&](int64_t queries) -> DecodeBlock {
    // As many sums as fill the multiply-add units for their latency; those of a query go to memory in one piece.
    int64_t keys = lanes < 4 ? 1 : std::max<int64_t>(2, lanes / queries);
    return {queries, keys, vectorsOf(std::max<int64_t>(1, sums / queries), lanes, axes, signature)};
  };
  std::optional<int64_t> known = knownQueries(axes, signature);
  block = blockOf(known.value_or(4) >= 3 ? 4 : std::max<int64_t>(*known, 1));
  if (block.queries > 1 && (!known || *known % block.queries == 1))
    single = blockOf(1);
  tile = std::max<int64_t>(1, std::min<int64_t>(schedule.getKeyTile(), mostKeysOfTile) / lanes) * lanes;
  chunk = schedule.getDecodeChunk();
}

Value attn::roundedUp(FunctionScope &f, Value value, int64_t to) { return f.mul(f.ceilDiv(value, f.i64(to)), f.i64(to)); }

/// Most queries of an entry.
static Value mostQueries(FunctionScope &f, const FlashAxes &axes, int64_t limit) {
  Value rows = f.extent(axes.rows);
  return axes.lane ? f.mul(rows, f.min(f.extent(axes.lane), f.i64(limit))) : rows;
}

DecodePartial::DecodePartial(FunctionScope &f, const FlashAxes &axes, const DecodeShape &shape, Value queries) {
  Value padded = roundedUp(f, roundedUp(f, queries, shape.block.queries), 16);
  maximum = f.i64(0);
  sum = padded;
  kept = f.mul(padded, f.i64(2));
  size = f.mul(padded, f.i64(3));
  for (StringAttr width : axes.widths) {
    auto reach = [&](const DecodeBlock &block) {
      return roundedUp(f, f.extent(width), std::max<int64_t>(16, shape.lanes * block.vectors));
    };
    Value pitch = f.max(reach(shape.block), reach(shape.single.value_or(shape.block)));
    mix.push_back({size, pitch});
    size = f.add(size, f.mul(pitch, padded));
  }
}

Value DecodeTask::chunkCount(FunctionScope &f, const FlashAxes &axes, const DecodeShape &shape) {
  return f.max(f.i64(1), f.ceilDiv(f.extent(axes.keys.front()), f.i64(shape.chunk)));
}

Value DecodeTask::sharedFloats() {
  return f.mul(f.mul(f.extent(axes.batch), chunkCount(f, axes, shape)), partial.size);
}

/// Reads of `value` that lie, along `element`, at the element's own index (or its partner's in a rope), wherever the key is.
static void collectRows(FunctionScope &f, Value value, StringAttr element, SmallVectorImpl<DecodeOperand::Row> &rows) {
  Operation *op = value.getDefiningOp();
  if (!op || !valueType(value).hasAxis(element))
    return;
  auto read = dyn_cast<ReadOp>(op);
  if (!read) {
    if (!isa<MapOp, SelectOp, WhereOp, RopeOp>(op)) // Others may read at other points.
      return;
    for (Value operand : op->getOperands())
      if (isa<ValueType>(operand.getType()))
        collectRows(f, operand, element, rows);
    return;
  }
  auto argument = dyn_cast<BlockArgument>(read.getRef());
  bool isByValue = argument && FrameLayout::isByValue(f.getLayout().getSignature(), argument.getArgNumber());
  if (isByValue)
    return;
  const Access &access = f.access(read.getRef());
  Value stride;
  for (auto [i, index] : llvm::enumerate(read.getIndices())) {
    if (!valueType(index).hasAxis(element))
      continue;
    auto own = index.getDefiningOp<IndexOp>();
    if (!own || stride || !f.covers(access.factors[i], element))
      return;
    stride = access.strides[i];
  }
  bool isNew = llvm::none_of(rows, [&](DecodeOperand::Row row) { return row.read == read; });
  if (stride && isNew)
    rows.push_back({read, stride});
}

/// What `value` computes of each key alone: one number for all its elements.
static void collectFactors(Value value, StringAttr element, StringAttr keyAxis, SmallVectorImpl<Value> &factors) {
  ValueType type = valueType(value);
  if (!type.hasAxis(keyAxis))
    return;
  Operation *op = value.getDefiningOp();
  if (!type.hasAxis(element)) {
    if (type.getElementType().isF32() && !llvm::is_contained(factors, value))
      factors.push_back(value);
  } else if (isa_and_nonnull<MapOp, SelectOp>(op)) {
    for (Value operand : op->getOperands())
      collectFactors(operand, element, keyAxis, factors);
  }
}

/// How often `part` is used in `value`.
static unsigned usesIn(Value value, Value part) {
  if (value == part)
    return 1;
  unsigned count = 0;
  if (Operation *op = value.getDefiningOp())
    for (Value operand : op->getOperands())
      count += isa<ValueType>(operand.getType()) ? usesIn(operand, part) : 0;
  return count;
}

/// The factor that multiplies the rest of `value`; null without one.
static Value scaleOf(Value value, ArrayRef<Value> factors) {
  auto map = value.getDefiningOp<MapOp>();
  auto product = map ? map.getBody().front().getTerminator()->getOperand(0).getDefiningOp<arith::MulFOp>() : arith::MulFOp();
  for (Value side : product ? product->getOperands() : ValueRange()) {
    auto argument = dyn_cast<BlockArgument>(side);
    if (!argument || !argument.hasOneUse())
      continue;
    Value input = map.getInputs()[argument.getArgNumber()];
    if (llvm::is_contained(factors, input) && usesIn(value, input) == 1)
      return input;
  }
  return {};
}

/// Whether elements along `element` are turned in pairs somewhere in `value`.
static bool turns(Value value, StringAttr element) {
  Operation *op = value.getDefiningOp();
  if (!isa_and_nonnull<MapOp, SelectOp, WhereOp, RopeOp>(op) || !valueType(value).hasAxis(element))
    return false;
  return isa<RopeOp>(op) || llvm::any_of(op->getOperands(), [&](Value operand) {
           return isa<ValueType>(operand.getType()) && turns(operand, element);
         });
}

DecodeOperand::DecodeOperand(FunctionScope &f, Value value, StringAttr element, StringAttr keyAxis)
    : value(value), element(element), isTurned(turns(value, element)) {
  collectFactors(value, element, keyAxis, factors);
  collectRows(f, value, element, rows);
}

DecodeTask::DecodeTask(FunctionScope &f, StageOp stage, FlashOp flash, const FlashAxes &axes, const DecodeShape &shape)
    : f(f), stage(stage), flash(flash), axes(axes), shape(shape), score(flash, axes), expressions(f, shape.lanes),
      vectorType(f.vectorOf(shape.lanes, f.builder().getF32Type())),
      partial(f, axes, shape, mostQueries(f, axes, stage.getSchedule().getDecodeQueries())) {
  for (auto [key, contracted] : llvm::zip(flash.getKeys(), axes.contracted))
    operands.emplace_back(f, key, contracted, keyAxis());
  for (auto [value, width] : llvm::zip(flash.getValues(), axes.widths)) {
    DecodeOperand &operand = operands.emplace_back(f, value, width, keyAxis());
    operand.scale = scaleOf(value, operand.factors);
  }

  Value most = roundedUp(f, mostQueries(f, axes, stage.getSchedule().getDecodeQueries()), shape.block.queries);
  scratchSize = f.i64(0);
  auto reserve = [&](Value floats) { // Parts start at cache lines.
    Value at = scratchSize;
    scratchSize = f.add(scratchSize, roundedUp(f, floats, 16));
    return at;
  };
  auto perQuery = [&](Value pitch) -> FlashScratch::Part { return {reserve(f.mul(pitch, most)), pitch}; };
  // A register block of keys, and a vector, may reach beyond the tile.
  Value tilePitch = f.i64(llvm::alignTo(shape.tile + std::max(shape.block.keys, shape.lanes) + shape.lanes, 16));
  for (StringAttr contracted : axes.contracted) {
    query.push_back(perQuery(f.add(roundedUp(f, f.extent(contracted), shape.lanes), f.i64(shape.lanes))));
    raw.push_back(perQuery(tilePitch));
    Value row = roundedUp(f, f.extent(contracted), shape.lanes);
    bool isTurned = operands[turned.size()].isTurned;
    turned.push_back(isTurned ? FlashScratch::Part{reserve(f.mul(row, f.i64(shape.tile))), row} : FlashScratch::Part());
  }
  for (unsigned range = 0; range < flash.getNumRanges(); ++range) {
    lower.push_back(perQuery(f.i64(2)));
    upper.push_back(perQuery(f.i64(2)));
  }
  for (FlashScratch::Part *part : {&best, &sums})
    *part = perQuery(f.i64(shape.lanes));
  for (FlashScratch::Part *part : {&shifts, &rescales})
    *part = perQuery(f.i64(1));
  for (unsigned value = 0; value < partial.mix.size(); ++value)
    scaled.push_back(operands[query.size() + value].scale ? perQuery(tilePitch) : raw[0]);
  for (const DecodeOperand &operand : operands) {
    auto &ofOperand = rows.emplace_back();
    for (size_t i = 0; i < operand.rows.size(); ++i)
      ofOperand.push_back(reserve(f.i64(2 * (shape.chunk + shape.lanes))));
    auto &factorsOf = factors.emplace_back();
    for (size_t i = 0; i < operand.factors.size(); ++i)
      factorsOf.push_back(reserve(tilePitch));
  }
  ownPartial = reserve(partial.size);
}
