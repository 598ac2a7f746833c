//===- DecodeSchedule.cpp - how the decode form runs on a CPU -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Keys are scored a vector of them at a time, in register blocks of `rows` keys by `queries` queries. Values are mixed by
// register blocks of `queries` queries by `vectors` vectors along the width, over a tile of keys.
//===----------------------------------------------------------------------===//
#include "schedules/halide/Decode.h"

using namespace attn;
using namespace Halide;

void ChunkPipeline::schedule() {
  scheduleScores();
  for (Func *each : {&maxima, &sums}) {
    each->compute_root().vectorize(l, lanes);
    each->update().reorder(l, vectorsOfKeys.x, x).vectorize(l, lanes);
  }
  maximum.compute_root();
  weights.compute_root().vectorize(k, lanes);
  for (size_t i = 0; i < mixes.size(); ++i)
    scheduleMix(i);
  if (mixes.empty())
    return;
  bad.compute_root();
  bad.update();
}

void ChunkPipeline::scheduleScores() {
  Var outerKeys("outer_keys"), outerQueries("outer_queries"), in("in"), some("some");
  scores.compute_root()
      .split(k, outerKeys, k, lanes)
      .split(x, outerQueries, x, queries)
      .reorder(k, x, outerQueries, outerKeys)
      .vectorize(k)
      .unroll(x);
  for (size_t i = 0; i < products.size(); ++i) {
    queryRows[i].compute_root().vectorize(e, lanes);
    for (Func &half : halves[i])
      half.compute_at(scores, outerQueries).vectorize(l);
    halves[i].front().split(k, some, in, rows).reorder(l, in, x, some).unroll(in).unroll(x);
    Func &product = products[i];
    product.compute_at(halves[i].front(), some).vectorize(l, lanes).unroll(k).unroll(x);
    product.update().reorder(l, k, x, blocksOfRow[i].x).vectorize(l, lanes).unroll(k).unroll(x);
    if (Expr sideBySide = liesSideBySide(plan.terms[i].key, plan.terms[i].over); sideBySide.defined())
      product.update().specialize(sideBySide);
  }
}

void ChunkPipeline::scheduleMix(size_t mix) {
  Var outer("outer"), outerQueries("outer_queries");
  mixes[mix].compute_root().vectorize(e, lanes);
  mixes[mix]
      .update()
      .split(e, outer, e, mixWidth())
      .split(x, outerQueries, x, queries)
      .reorder(e, x, outer, outerQueries, tiles.x)
      .vectorize(e, lanes)
      .unroll(e)
      .unroll(x);
  Func &ofTile = tileMixes[mix];
  ofTile.compute_at(mixes[mix], outer).vectorize(e, lanes).unroll(e).unroll(x);
  ofTile.update().reorder(e, x, keysOfTile.x).vectorize(e, lanes).unroll(e).unroll(x);
  if (Expr sideBySide = liesSideBySide(plan.mixes[mix].value, plan.mixes[mix].width); sideBySide.defined())
    ofTile.update().specialize(sideBySide);
  Func &mixed = outputs[2 + mix];
  mixed.vectorize(e, lanes);
  mixed.update().reorder(e, keysOfBadChunk.x, x).vectorize(e, lanes);
}

/// The state of a query in vectors along the width; results element by element.
void MergePipeline::schedule() {
  int lanes = int(plan.lanes);
  state.compute_root().vectorize(e, lanes);
  state.update().reorder(e, chunk.x, x).vectorize(e, lanes);
}
