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

/// The products of a term. Consecutive instructions add to different sums.
FlashKernel::Values FlashKernel::rawScores(unsigned term, const Tile &tile) {
  const FlashOperand &operand = operands.keys[term];
  int64_t steps = operand.padded() / 16, columns = tiling.keyTile / 8;
  Values sums(tiling.threadScores(), f.constant(f.builder().getF32Type(), 0.0));
  FragmentReader keyReader(t, shared.key[term], Fragment::RightByColumns);
  keyReader.moveTo(t.add(tile.stage, shared.keyAt[term]));
  FragmentReader queryReader(t, shared.query[term], Fragment::Left, t.mul(t.warp(), tiling.warpRows()));
  queryReader.moveTo(t.add(base, shared.queryAt[term]));
  for (int64_t step = 0; step < steps; ++step) {
    SmallVector<Values> left;
    for (int64_t row = 0; row < tiling.rowTiles; ++row)
      left.push_back(tiling.keepsQuery
                         ? Values(ArrayRef(query[term]).slice((row * steps + step) * 4, 4))
                         : queryReader.load(row * 16, step * 16));
    for (int64_t column = 0; column < columns; column += 2) {
      Values right = keyReader.load(column * 8, step * 16);
      for (int64_t row = 0; row < tiling.rowTiles; ++row)
        for (int64_t half = 0; half < 2; ++half)
          t.multiply(operand.element, MutableArrayRef(sums).slice((row * columns + column + half) * 4, 4), left[row],
                     ArrayRef(right).slice(2 * half, 2));
    }
  }
  return sums;
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
