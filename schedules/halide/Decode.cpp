//===- Decode.cpp - few queries, keys in chunks, as Halide Funcs ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "schedules/halide/Decode.h"

#include "schedules/halide/Scalars.h"

using namespace attn;
using namespace Halide;

ChunkPipeline::ChunkPipeline(const StagePlan &plan)
    : FlashParts(plan), lanes(int(plan.lanes)), vectors(int(plan.vectors)), rows(int(plan.rows)),
      queries(int(plan.queryTile)), tile(int(plan.keyTile)) {
  vectorsOfKeys = RDom(0, tileCount() * (tile / lanes), "vector_of_keys");
  tiles = RDom(0, tileCount(), "tile");
  keysOfTile = RDom(0, tile, "in_tile");
  defineScores();
  defineWeights();
  outputs = {maximum, sum};
  for (size_t i = 0; i < plan.mixes.size(); ++i)
    defineMix(i);
  defineFinite();
}

std::vector<Argument> ChunkPipeline::arguments() const {
  std::vector<Argument> all = inputArguments();
  all.push_back(firstKey);
  all.push_back(keys);
  return all;
}

/// Whole register blocks, of queries and along a width.
Expr ChunkPipeline::largestExtent(size_t output, int dimension) const {
  bool isWidth = output >= 2 && dimension == 0;
  return isWidth ? (width() + mixWidth() - 1) / mixWidth() * mixWidth() : (queryCount() + queries - 1) / queries * queries;
}

std::map<std::string, Expr> ChunkPipeline::largestParams() const {
  return {{firstKey.name(), keyCount()}, {keys.name(), int(plan.chunk)}};
}

/// Behind the last key of the chunk, that key.
Expr ChunkPipeline::keyAt(const Expr &number) const { return firstKey + max(min(likely(number), keys - 1), 0); }

//===----------------------------------------------------------------------===//
// Scores
//===----------------------------------------------------------------------===//

/// A row of a key times rows of queries, in lanes; then halves are added until four lanes are left.
Func ChunkPipeline::defineDot(size_t term) {
  std::string number = std::to_string(term);
  Func row("queries" + number), sums("products" + number), dot("dot" + number);
  Expr extent = inputs.extent(plan.terms[term].extent);
  auto within = [&](const Expr &element) { return max(min(likely(element), extent - 1), 0); };
  auto padded = [&](const Expr &element, const Expr &value) { return select(likely(element < extent), value, 0.0f); };
  row(e, x) = padded(e, queryElement(term, withinQueries(x), within(e)));
  RDom blocks(0, (extent + lanes - 1) / lanes, "block_of_row" + number);
  Expr element = blocks * lanes + l;
  sums(l, k, x) = 0.0f;
  sums(l, k, x) += row(element, x) * padded(element, keyElement(term, Expr(), keyAt(k), element));
  queryRows.push_back(row);
  products.push_back(sums);
  blocksOfRow.push_back(blocks);

  int left = lanes;
  std::vector<Func> folded;
  for (Func from = sums; folded.empty() || left > 4; from = folded.back()) {
    Func half("half" + number + "_" + std::to_string(left));
    bool halves = left > 4;
    left = halves ? left / 2 : left;
    half(l, k, x) = halves ? from(l, k, x) + from(l + left, k, x) : Expr(from(l, k, x));
    folded.push_back(half);
  }
  Expr total = folded.back()(0, k, x);
  for (int i = 1; i < left; ++i)
    total = total + folded.back()(i, k, x);
  dot(k, x) = total;
  halves.push_back(folded);
  return dot;
}

void ChunkPipeline::defineScores() {
  std::vector<Expr> dots;
  for (size_t i = 0; i < plan.terms.size(); ++i)
    dots.push_back(defineDot(i)(k, x));
  Expr query = withinQueries(x), seen = likely(k < keys);
  if (Expr inRanges = isInRanges(query, keyAt(k)); inRanges.defined())
    seen = seen && inRanges;
  scores(k, x) = scoreOf(query, keyAt(k), dots, seen);
}

/// Lanes are folded one after the other: that is once a chunk.
void ChunkPipeline::defineWeights() {
  auto larger = [](const Expr &one, const Expr &other) { return select(other > one || is_nan(other), other, one); };
  Expr key = vectorsOfKeys * lanes + l;
  maxima(l, x) = negativeInfinity;
  maxima(l, x) = larger(maxima(l, x), scores(key, x));
  Expr most = maxima(0, x);
  for (int i = 1; i < lanes; ++i)
    most = larger(most, maxima(i, x));
  maximum(x) = most;
  // No key yet: shift by 0, so that -inf - -inf never happens.
  Expr shift = select(maximum(x) == negativeInfinity, 0.0f, maximum(x));
  weights(k, x) = exp2NonPositive(scores(k, x) - shift);
  sums(l, x) = 0.0f;
  sums(l, x) += weights(key, x);
  Expr all = sums(0, x);
  for (int i = 1; i < lanes; ++i)
    all = all + sums(i, x);
  sum(x) = all;
}

//===----------------------------------------------------------------------===//
// Mixes
//===----------------------------------------------------------------------===//

void ChunkPipeline::defineMix(size_t mix) {
  std::string number = std::to_string(mix);
  Func ofTile("tile_mix" + number), all("mix" + number);
  Expr key = t * tile + keysOfTile;
  ofTile(e, x, t) = 0.0f;
  ofTile(e, x, t) += weights(key, x) * rawValue(mix, Expr(), e, keyAt(key));
  all(e, x) = 0.0f;
  all(e, x) += ofTile(e, x, tiles);
  tileMixes.push_back(ofTile);
  mixes.push_back(all);
}

/// A weight of 0 hides any number but no NaN and no infinity. They show in the mix: where a query's is not finite, it is
/// made again of the keys that are present.
void ChunkPipeline::defineFinite() {
  if (mixes.empty())
    return;
  RDom elements(0, width(), "element");
  bad(x) = Halide::cast<uint8_t>(0);
  Expr any = bad(x);
  for (Func &mix : mixes)
    any = any | Halide::cast<uint8_t>(!isFinite(mix(elements, x)));
  bad(x) = any;
  keysOfBadChunk = RDom(0, keys, "in_bad_chunk");
  keysOfBadChunk.where(bad(x) != 0);
  for (size_t i = 0; i < mixes.size(); ++i) {
    Func mixed("mixed" + std::to_string(i));
    mixed(e, x) = select(bad(x) != 0, 0.0f, mixes[i](e, x));
    Expr more = weights(keysOfBadChunk, x) * rawValue(i, Expr(), e, keyAt(keysOfBadChunk));
    mixed(e, x) += select(scores(keysOfBadChunk, x) == negativeInfinity, 0.0f, more);
    outputs.push_back(mixed);
  }
}

//===----------------------------------------------------------------------===//
// Merging
//===----------------------------------------------------------------------===//

MergePipeline::MergePipeline(const StagePlan &plan) : FlashParts(plan), chunk(0, chunks, "chunk") {
  for (size_t i = 0; i < plan.mixes.size(); ++i)
    mixes.emplace_back(Float(32), 3, "mix" + std::to_string(i));
  state(e, x) = Tuple(initialState(withinQueries(x), mixes.size()));
  std::vector<Expr> old, more{maximum(x, chunk), sum(x, chunk)};
  for (size_t i = 0; i < 2 + mixes.size(); ++i)
    old.push_back(state(e, x)[int(i)]);
  for (ImageParam &mix : mixes)
    more.push_back(mix(e, x, chunk));
  state(e, x) = Tuple(mergedStates(old, more));
  for (const PlanStore &store : plan.stores)
    defineResult(store, [&](const Expr &query, const Expr &element) {
      std::vector<Expr> all;
      for (size_t i = 0; i < 2 + mixes.size(); ++i)
        all.push_back(state(element.defined() ? element : Expr(0), query)[int(i)]);
      return all;
    });
}

std::vector<Argument> MergePipeline::arguments() const {
  std::vector<Argument> all{maximum, sum};
  all.insert(all.end(), mixes.begin(), mixes.end());
  std::vector<Argument> rest = inputArguments();
  all.insert(all.end(), rest.begin(), rest.end());
  all.push_back(chunks);
  return all;
}

/// No memory depends on how many chunks there are.
std::map<std::string, Expr> MergePipeline::largestParams() const { return {}; }
