//===- FlashMatrix.cpp - fused attention on matrix tiles --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Both products of a block, in bf16 that sums in f32: scores[key][query] of rows of keys and pairs of queries, and
// outputs[width][query] of turned values and pairs of weights. What happens to scores between them is FlashTile.cpp's.
//===----------------------------------------------------------------------===//
#include "compiler/cpu/FlashStage.h"

using namespace mlir;
using namespace attn;

/// The tile at an offset (f32) of the scratch whose rows are `pitch` f32 apart.
TilePlace FlashTask::tileAt(Value offset, Value pitch) {
  return {f.address(base, offset, f.builder().getF32Type()), f.mul(pitch, f.i64(4))};
}

/// Parts of both sides that are multiplied, the small ones first; all that are not 0, but for the smallest of weights, which are
/// below what a weight may be rounded by.
using Parts = std::pair<int64_t, int64_t>;
static constexpr Parts scoreParts[] = {{1, 1}, {1, 0}, {0, 1}, {0, 0}}, mixParts[] = {{1, 0}, {0, 1}, {0, 0}};
static ArrayRef<Parts> multiplied(ArrayRef<Parts> ofTwo, int64_t parts) { return parts == 1 ? ofTwo.take_back() : ofTwo; }

/// Products of all terms for the block of keys from `first` on with block `number` of the queries.
void FlashTask::emitTileScores(Value number, Value first) {
  Value queries = f.i64(shape.queries);
  auto keyAt = [&](int64_t i) { return f.add(first, f.i64(i * tileRows)); };
  for (auto [term, key] : llvm::enumerate(scratch.key)) {
    Value query = at(scratch.query[term], number), scores = scratch.scores[term];
    Value width = f.div(key.pitch, f.i64(shape.parts)); // of a part, in f32; as many pairs of it are a query
    auto left = [&, key = key](int64_t i, int64_t part, Value step) {
      Value place = f.add(f.mul(width, f.i64(part)), f.mul(step, f.i64(tileDepth / 2)));
      return tileAt(f.add(f.add(key.offset, f.mul(keyAt(i), key.pitch)), place), key.pitch);
    };
    auto right = [&](int64_t j, int64_t part, Value step) {
      Value pair = f.add(f.mul(width, f.i64(part)), f.mul(step, f.i64(tileDepth / 2)));
      return tileAt(f.add(query, f.add(f.mul(pair, queries), f.i64(j * tileSums))), queries);
    };
    auto sums = [&](int64_t i, int64_t j) {
      return tileAt(f.add(scores, f.add(f.mul(keyAt(i), queries), f.i64(j * tileSums))), queries);
    };
    Value steps = f.div(width, f.i64(tileDepth / 2));
    emitTileProduct(f, {.from = f.i64(0), .to = steps, .parts = multiplied(scoreParts, shape.parts), .left = left, .right = right,
                        .sums = sums});
  }
}

/// rows x vectors scores of a term, which the tiles have left in memory; times the factor, if that is not left for later.
FunctionScope::Values FlashTask::tileScores(unsigned term, Value row, ArrayRef<Value> factors) {
  Values scores;
  for (int64_t r = 0; r < shape.rows; ++r) {
    Value from = f.add(scratch.scores[term], f.mul(f.add(row, f.i64(r)), f.i64(shape.queries)));
    for (int64_t v = 0; v < shape.vectors; ++v) {
      Value score = loadFloats(from, v * shape.lanes);
      if (this->score.isPlain && !keepsProducts())
        score = arith::MulFOp::create(f.builder(), f.loc(), score, factors[v]);
      scores.push_back(score);
    }
  }
  return scores;
}

void FlashTask::emitTileMixes(const KeyRange &block) {
  Value queries = f.i64(shape.queries), depth = f.i64(tileDepth);
  for (auto [i, columns] : llvm::enumerate(scratch.columns)) {
    Value output = at(scratch.output[i], block.number), width = f.div(scratch.output[i].pitch, queries);
    auto emitRows = [&, columns = columns](Value first, int64_t tiles) {
      auto elementAt = [&](int64_t i) { return f.add(first, f.i64(i * tileRows)); };
      auto left = [&](int64_t i, int64_t part, Value step) {
        Value chunk = f.add(columns.offset, f.mul(step, columns.pitch)), row = f.add(f.mul(width, f.i64(part)), elementAt(i));
        return tileAt(f.add(chunk, f.mul(row, f.i64(tileDepth / 2))), f.i64(tileDepth / 2));
      };
      auto right = [&](int64_t j, int64_t part, Value step) { // A part of a pair of keys lies where one of them did.
        Value key = f.mul(f.add(f.mul(step, depth), f.i64(part)), queries);
        return tileAt(f.add(f.add(scratch.weights, key), f.i64(j * tileSums)), f.mul(queries, f.i64(2)));
      };
      auto sums = [&](int64_t i, int64_t j) {
        return tileAt(f.add(output, f.add(f.mul(elementAt(i), queries), f.i64(j * tileSums))), queries);
      };
      emitTileProduct(f, {.leftTiles = tiles, .accumulates = true, .from = f.div(block.low, depth),
                          .to = f.ceilDiv(block.high, depth), .parts = multiplied(mixParts, shape.parts), .left = left, .right = right, .sums = sums});
    };
    Value step = f.i64(blockRows), whole = f.mul(f.div(width, step), step);
    f.loop(f.i64(0), whole, step, [&](Value first) { emitRows(first, 2); });
    f.when(f.less(whole, width), [&] { emitRows(whole, 1); });
  }
}
