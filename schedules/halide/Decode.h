//===- Decode.h - few queries, keys in chunks, as Halide Funcs --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The decode form of a flash stage: the time is that of reading keys and values once. A chunk of keys is scored and mixed
// for all queries that share them; what the chunks of an entry give is merged in their order.
//===----------------------------------------------------------------------===//
#ifndef ATTN_SCHEDULES_HALIDE_DECODE_H
#define ATTN_SCHEDULES_HALIDE_DECODE_H

#include "schedules/halide/FlashParts.h"

namespace attn {

/// The keys [first, first + count) of a chunk, where they lie. Lanes are along the width of keys and values, and along
/// keys between the two. Results: for each query maximum and sum, then for each value the mix.
class ChunkPipeline : public FlashParts {
public:
  explicit ChunkPipeline(const StagePlan &plan);

  void schedule() override;
  /// The part's own: the first key and the number of keys.
  std::vector<Halide::Argument> arguments() const override;
  Expr largestExtent(size_t output, int dimension) const override;
  std::map<std::string, Expr> largestParams() const override;
  Halide::Param<int32_t> &firstKeyParam() { return firstKey; }
  Halide::Param<int32_t> &keysParam() { return keys; }

private:
  // Decode.cpp: what is computed.
  Func defineDot(size_t term);
  void defineScores();
  void defineWeights();
  void defineMix(size_t mix);
  void defineFinite();
  Expr keyAt(const Expr &number) const;
  Expr tileCount() const { return (keys + tile - 1) / tile; }
  int mixWidth() const { return lanes * vectors; }

  // DecodeSchedule.cpp: how.
  void scheduleScores();
  void scheduleMix(size_t mix);

  Halide::Param<int32_t> firstKey{"first_key"}, keys{"keys"};
  Halide::Var l{"l"}, t{"t"};
  int lanes, vectors, rows, queries, tile;
  /// Per term: rows of queries; sums in lanes, their halves, the last of which has at most four.
  std::vector<Func> queryRows, products;
  std::vector<std::vector<Func>> halves;
  std::vector<Halide::RDom> blocksOfRow;
  Func scores{"scores"}, weights{"weights"}, maxima{"maxima"}, sums{"sums"}, maximum{"maximum"}, sum{"sum"};
  Func bad{"bad"};
  Halide::RDom vectorsOfKeys, tiles, keysOfTile, keysOfBadChunk;
  /// Per mix: of a tile, and of all of them.
  std::vector<Func> tileMixes, mixes;
};

/// Merges the states of an entry's chunks, the first one first, and gives the results.
class MergePipeline : public FlashParts {
public:
  explicit MergePipeline(const StagePlan &plan);

  void schedule() override;
  /// The part's own: maximum, sum and mixes by chunk, and the number of chunks.
  std::vector<Halide::Argument> arguments() const override;
  Expr largestExtent(size_t output, int dimension) const override { return resultExtent(output, dimension); }
  std::map<std::string, Expr> largestParams() const override;

private:
  Halide::Param<int32_t> chunks{"chunks"};
  Halide::ImageParam maximum{Halide::Float(32), 2, "maximum"}, sum{Halide::Float(32), 2, "sum"};
  std::vector<Halide::ImageParam> mixes;
  Halide::RDom chunk;
  Func state{"state"};
};

} // namespace attn

#endif // ATTN_SCHEDULES_HALIDE_DECODE_H
