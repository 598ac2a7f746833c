//===- FlashMatrix.cpp - fused attention on matrix tiles --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Both products of a block, in bf16 that sums in f32: scores[key][query] of rows of keys and pairs of queries, and
// outputs[width][query] of turned values and pairs of weights. What happens to scores between them is FlashTile.cpp's.
//===----------------------------------------------------------------------===//
#include "compiler/cpu/FlashStage.h"

using namespace mlir;
using namespace attn;

//===----------------------------------------------------------------------===//
// Packing
//===----------------------------------------------------------------------===//

/// Stores lanes as bf16, each part `pitch` behind the one before.
void FlashTask::storeParts(Value element, Value row, Value place, Value pitch) {
  Type halves = f.vectorOf(shape.lanes, f.builder().getBF16Type());
  for (Value part : partsOf(f, element, shape.parts)) {
    f.store(arith::TruncFOp::create(f.builder(), f.loc(), halves, part), row, place);
    place = f.add(place, pitch);
  }
}

/// The element whose parts were stored so.
Value FlashTask::sumOfParts(Value row, Value place, Value pitch) {
  OpBuilder &b = f.builder();
  Value sum;
  for (int64_t part = 0; part < shape.parts; ++part) {
    Value half = f.load(b.getBF16Type(), row, f.add(place, f.mul(pitch, f.i64(part))));
    Value wide = arith::ExtFOp::create(b, f.loc(), b.getF32Type(), half);
    sum = sum ? arith::AddFOp::create(b, f.loc(), sum, wide).getResult() : wide;
  }
  return sum;
}

/// [contracted][queries] of f32 become [parts][contracted / 2][queries] pairs; beyond the extent they are 0.
void FlashTask::pairQuery(unsigned term, Value panel, Value number) {
  Value extent = f.extent(axes.contracted[term]), queries = f.i64(shape.queries);
  const FlashScratch::Part &part = scratch.query[term];
  Value to = f.address(base, at(part, number), f.builder().getF32Type()), size = f.div(part.pitch, f.i64(shape.parts));
  f.loop(f.i64(0), f.div(size, queries), f.i64(1), [&](Value pair) {
    for (int64_t v = 0; v < shape.vectors; ++v) {
      SmallVector<Values> both;
      for (int64_t i = 0; i < 2; ++i) {
        Value e = f.add(f.mul(pair, f.i64(2)), f.i64(i));
        Value lanes = f.load(vectorType, panel, f.add(f.mul(e, queries), f.i64(v * shape.lanes)));
        lanes = arith::SelectOp::create(f.builder(), f.loc(), f.less(e, extent), lanes, floats(0.0));
        both.push_back(partsOf(f, lanes, shape.parts));
      }
      Value place = f.add(f.mul(pair, queries), f.i64(v * shape.lanes));
      for (auto [first, second] : llvm::zip(both[0], both[1])) {
        f.store(pairsOf(f, first, second), to, f.mul(place, f.i64(2)));
        place = f.add(place, size);
      }
    }
  });
}

/// Rows of values become columns of 32 keys each. Those beyond the last key are 0: what is there meets a weight of 0.
void FlashTask::turnValues(Value length) {
  OpBuilder &b = f.builder();
  auto halves = f.vectorOf(shape.lanes, b.getBF16Type());
  Value depth = f.i64(tileDepth), lanes = f.i64(shape.lanes);
  for (auto [part, columns] : llvm::zip(scratch.value, scratch.columns)) {
    Value width = f.mul(part.pitch, f.i64(2)); // of all parts of a row
    Value rows = f.address(base, part.offset, b.getF32Type()), to = f.address(base, columns.offset, b.getF32Type());
    f.loop(length, f.mul(f.ceilDiv(length, depth), depth), f.i64(1), [&](Value key) {
      f.loop(f.i64(0), width, lanes, [&](Value first) {
        f.store(f.constant(halves, 0.0), rows, f.add(f.mul(key, width), first));
      });
    });
    f.loop(f.i64(0), f.ceilDiv(length, depth), f.i64(1), [&](Value chunk) {
      f.loop(f.i64(0), width, lanes, [&](Value first) {
        Values vectors;
        for (int64_t pair = 0; pair < shape.lanes; ++pair) {
          auto row = [&](int64_t i) {
            Value key = f.add(f.mul(chunk, depth), f.i64(2 * pair + i));
            return f.load(halves, rows, f.add(f.mul(key, width), first));
          };
          vectors.push_back(vector::BitCastOp::create(b, f.loc(), vectorType, interleaved(f, row(0), row(1))));
        }
        transposeVectors(f, vectors);
        for (auto [j, column] : llvm::enumerate(vectors))
          f.store(column, to, f.add(f.mul(chunk, columns.pitch), f.mul(f.add(first, f.i64(j)), lanes)));
      });
    });
  }
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

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
