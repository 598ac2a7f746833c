//===- FlashScore.cpp - scores and masks on fragments -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A thread's scores of a key tile are numbered [rowTiles][keyTile / 8][4]: of the four, two are neighbours in a row and
// the other two lie eight rows below. Score and mask expressions are evaluated at the indices of each.
//===----------------------------------------------------------------------===//
#include "compiler/cuda/FlashKernel.h"
#include <limits>

using namespace mlir;
using namespace attn;

//===----------------------------------------------------------------------===//
// The form of a score
//===----------------------------------------------------------------------===//

ScoreForm ScoreForm::of(FlashOp flash, const FlashAxes &axes) {
  FlashScore score(flash, axes);
  ScoreForm form{score.queryFactor, score.factor, score.isPlain};
  if (flash.getNormalizer() == Normalizer::Softmax)
    form.scale *= log2OfE;
  else if (form.scale != 1) // Nothing follows that could take the factor in.
    form = {};
  return form;
}

//===----------------------------------------------------------------------===//
// Scores
//===----------------------------------------------------------------------===//

/// The products of a term, on tensor cores. Consecutive instructions add to different sums.
FlashKernel::Values FlashKernel::fragmentScores(unsigned term, const Tile &tile) {
  const FlashOperand &operand = operands.keys[term];
  int64_t steps = tiling.own(operand) / 16, columns = tiling.keyTile / 8;
  Values sums(tiling.threadScores(), f.constant(f.builder().getF32Type(), 0.0));
  FragmentReader &keyReader = *keyReaders[term], &queryReader = *queryReaders[term];
  keyReader.moveTo(t.add(tile.stage, shared.keyAt[term]));
  queryReader.moveTo(t.add(base, shared.queryAt[term]));
  for (int64_t step = 0; step < steps; ++step) {
    SmallVector<Values> left;
    for (int64_t row = 0; row < tiling.rowTiles; ++row)
      left.push_back(tiling.keepsQuery
                         ? Values(ArrayRef(query[term]).slice((row * steps + step) * 4, 4))
                         : queryReader.load(row * 16, tiling.place(step * 16)));
    for (int64_t column = 0; column < columns; column += 2) {
      Values right = keyReader.load(column * 8, tiling.place(step * 16));
      for (int64_t row = 0; row < tiling.rowTiles; ++row)
        for (int64_t half = 0; half < 2; ++half)
          t.multiply(operand.element, MutableArrayRef(sums).slice((row * columns + column + half) * 4, 4), left[row],
                     ArrayRef(right).slice(2 * half, 2));
    }
  }
  return sums;
}

FlashKernel::Values FlashKernel::rawScores(unsigned term, const Tile &tile) {
  Values sums = operands.keys[term].isExact() ? exactScores(term, tile) : fragmentScores(term, tile);
  if (tiling.parts > 1)
    addParts(sums);
  return sums;
}

/// The sums of all parts: each warp adds those of its partner, of which there is one in each round, so that all get the same
/// bits. A barrier of the CTA stands between two tiles; terms of one tile come one after the other.
void FlashKernel::addParts(Values &sums) {
  OpBuilder &b = f.builder();
  Type four = f.vectorOf(4, b.getF32Type());
  int64_t unitBytes = 32 * 4 * sizeof(float), warpBytes = tiling.threadScores() / 4 * unitBytes;
  Value group = t.div(t.warp(), tiling.parts), part = t.rem(t.warp(), tiling.parts);
  Value area = t.add(t.add(base, shared.sums), t.mul(t.lane(), 4 * sizeof(float)));
  auto placeOf = [&](Value part) { return t.add(area, t.mul(t.add(t.mul(group, tiling.parts), part), warpBytes)); };
  for (int64_t bit = 1, round = 0; bit < tiling.parts; bit *= 2, ++round) {
    int64_t first = round * tiling.warps * warpBytes;
    Value own = placeOf(part), partner = placeOf(t.exclusiveOr(part, bit));
    for (int64_t unit = 0; unit < warpBytes / unitBytes; ++unit) {
      Value mine = vector::FromElementsOp::create(b, f.loc(), four, ArrayRef(sums).slice(4 * unit, 4));
      t.storeShared(mine, t.add(own, first + unit * unitBytes));
    }
    t.barrierOf(group, 32 * tiling.parts);
    for (int64_t unit = 0; unit < warpBytes / unitBytes; ++unit) {
      Value other = t.loadShared(four, t.add(partner, first + unit * unitBytes));
      for (int64_t i = 0; i < 4; ++i) {
        Value &sum = sums[4 * unit + i];
        sum = arith::AddFOp::create(b, f.loc(), sum, vector::ExtractOp::create(b, f.loc(), other, ArrayRef<int64_t>{i}));
      }
    }
  }
  if (operands.keys.size() > 1)
    t.barrierOf(group, 32 * tiling.parts);
}

/// Whether a value reads something stored along any of the axes.
static bool readsAlong(Value value, ArrayRef<StringAttr> axes) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return false;
  if (isa<ReadOp>(op) && llvm::any_of(axes, [&](StringAttr axis) { return valueType(value).hasAxis(axis); }))
    return true;
  return llvm::any_of(op->getOperands(),
                      [&](Value operand) { return isa<ValueType>(operand.getType()) && readsAlong(operand, axes); });
}

/// The key of a column of the tile for this thread. Behind the last key no captured tensor is read.
Value FlashKernel::keyAt(const Tile &tile, int64_t column, bool isRead) {
  Value key = f.add(f.add(firstKey, t.widen(t.add(tile.first, lastColumn))), f.i64(column));
  return isRead ? f.min(key, f.sub(keys, f.i64(1))) : key;
}

Value FlashKernel::absentScore() {
  OpBuilder &b = f.builder();
  if (isSoftmax())
    return f.constant(b.getF32Type(), -std::numeric_limits<double>::infinity());
  return arith::BitcastOp::create(b, f.loc(), b.getF32Type(), t.i32(absentBits));
}

Value FlashKernel::isAbsent(Value score) {
  OpBuilder &b = f.builder();
  if (isSoftmax())
    return arith::CmpFOp::create(b, f.loc(), arith::CmpFPredicate::OEQ, score, absentScore());
  Type bits = b.getI32Type();
  return arith::CmpIOp::create(b, f.loc(), arith::CmpIPredicate::eq, arith::BitcastOp::create(b, f.loc(), bits, score),
                               arith::BitcastOp::create(b, f.loc(), bits, absentScore()));
}

/// Gives the region its terms at an element, in the innermost scope.
void FlashKernel::setTerms(Expressions &x, ArrayRef<Values> raw, unsigned element) {
  for (auto [term, argument] : llvm::zip(raw, flash.getBody().front().getArguments()))
    x.set(argument, 0, {term[element], {}});
}

/// The finished score of an element, to be multiplied with the form's scale.
Value FlashKernel::scoreAt(Row &row, ArrayRef<Values> raw, unsigned element, Value key, const Tile &tile) {
  OpBuilder &b = f.builder();
  if (form.isPlain)
    return row.factor ? arith::MulFOp::create(b, f.loc(), raw[0][element], row.factor).getResult() : raw[0][element];
  row.x.enter(tile.loop);
  axes.bindKey(row.x, key);
  setTerms(row.x, raw, element);
  Datum datum = row.x.evaluate(flash.getScore());
  row.x.leave();
  Value score = datum.value;
  if (datum.present)
    score = arith::SelectOp::create(b, f.loc(), datum.present, score, absentScore());
  return score;
}

FlashKernel::Values FlashKernel::scores(const Tile &tile) {
  SmallVector<Values> raw;
  for (unsigned term = 0; term < operands.queries.size(); ++term)
    raw.push_back(rawScores(term, tile));
  bool isRead = !form.isPlain && readsAlong(flash.getScore(), axes.keys);
  Values scores;
  for (unsigned element = 0; element < tiling.threadScores(); ++element) {
    Value key = form.isPlain ? Value() : keyAt(tile, columnOf(element), isRead);
    scores.push_back(scoreAt(rows[rowOf(element)], raw, element, key, tile));
  }
  if (flash.getMask())
    return masked(tile, raw, scores);
  return f.choose(
      seesAll(tile.first), ValueRange(scores).getTypes(), [&] { return scores; },
      [&] { return masked(tile, raw, scores); });
}

//===----------------------------------------------------------------------===//
// Masks
//===----------------------------------------------------------------------===//

/// Whether a column of the tile lies in one of the row's ranges, which are given from the thread's first column on.
Value FlashKernel::seenAt(Row &row, ArrayRef<std::pair<Value, Value>> bounds, int64_t column) {
  OpBuilder &b = f.builder();
  Value seen;
  for (auto [lower, upper] : bounds) {
    Value here = arith::CmpIOp::create(b, f.loc(), arith::CmpIPredicate::slt, t.i32(column), upper);
    if (lower)
      here = row.x.both(here, arith::CmpIOp::create(b, f.loc(), arith::CmpIPredicate::sge, t.i32(column), lower));
    seen = seen ? row.x.either(seen, here) : here;
  }
  return seen;
}

/// Scores with what the mask excludes as absent.
FlashKernel::Values FlashKernel::masked(const Tile &tile, ArrayRef<Values> raw, ArrayRef<Value> scores) {
  OpBuilder &b = f.builder();
  Value firstColumn = t.add(tile.first, lastColumn);
  auto relative = [&](Value bound) -> Value { return arith::SubIOp::create(b, f.loc(), bound, firstColumn); };
  SmallVector<SmallVector<std::pair<Value, Value>>> bounds(rows.size());
  for (auto [row, bounds] : llvm::zip(rows, bounds))
    for (const Row::Range &range : row.ranges)
      bounds.push_back({flash.getLower().empty() ? Value() : relative(range.lower), relative(range.upper)});
  bool isRead = flash.getMask() && readsAlong(flash.getMask(), axes.keys);
  Value absent = absentScore();
  Values result;
  for (auto [element, score] : llvm::enumerate(scores)) {
    Row &row = rows[rowOf(element)];
    Value seen = seenAt(row, bounds[rowOf(element)], columnOf(element));
    if (flash.getMask()) {
      row.x.enter(tile.loop);
      axes.bindKey(row.x, keyAt(tile, columnOf(element), isRead));
      setTerms(row.x, raw, element);
      Datum mask = row.x.evaluate(flash.getMask());
      seen = row.x.both(seen, row.x.both(mask.value, mask.present));
      row.x.leave();
    }
    result.push_back(arith::SelectOp::create(b, f.loc(), seen, score, absent));
  }
  return result;
}
