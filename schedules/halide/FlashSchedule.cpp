//===- FlashSchedule.cpp - how a flash stage runs on a CPU ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lanes are queries, so softmax has no horizontal step. For each block of keys: keys and values are packed once; then,
// for lanes * vectors queries at a time, scores by register blocks of `rows` keys, weights, and for each group of the
// width the mix in registers.
//===----------------------------------------------------------------------===//
#include "schedules/halide/Flash.h"

using namespace attn;
using namespace Halide;

void FlashPipeline::schedule() {
  for (Func *each : {&firstKey, &endKey})
    if (each->defined())
      each->compute_root();
  for (Func &query : queries)
    query.compute_root().vectorize(x, lanes);
  state.compute_root().bound_extent(group, max((width() + groupRows - 1) / groupRows, 1));
  state.align_bounds(x, queriesAtOnce());
  Var in("in");
  state.split(x, tile, in, queriesAtOnce()).reorder(in, group, tile).vectorize(in, lanes).unroll(in);
  state.update()
      .split(x, tile, in, queriesAtOnce())
      .reorder(in, group, tile, blocksSeen.x)
      .vectorize(in, lanes)
      .unroll(in);
  schedulePanels();
  scheduleScores();
  scheduleMix();
  for (Func &output : outputs)
    scheduleOutput(output);
}

/// Panels of a block of keys, whatever their strides and elements are; where elements lie side by side, by vectors.
void FlashPipeline::schedulePanels() {
  auto pack = [&](Stage stage, int64_t node, const std::string &axis) {
    stage.vectorize(e, lanes);
    if (Expr sideBySide = liesSideBySide(node, axis); sideBySide.defined())
      stage.specialize(sideBySide);
  };
  for (size_t i = 0; i < keys.size(); ++i) {
    keys[i].compute_at(state, blocksSeen.x);
    pack(Stage(keys[i]), plan.terms[i].key, plan.terms[i].over);
  }
  for (size_t i = 0; i < values.size(); ++i) {
    const PlanMix &mix = plan.mixes[i];
    values[i].compute_at(state, blocksSeen.x);
    pack(Stage(values[i]), mix.value, mix.width);
    badColumns[i].compute_at(state, blocksSeen.x).vectorize(e, lanes);
    badColumns[i].update().reorder(e, keysOfBlock.x);
    pack(badColumns[i].update(), mix.value, mix.width);
  }
  bad.compute_at(state, blocksSeen.x);
}

void FlashPipeline::scheduleScores() {
  Var outer("outer"), in("in");
  scores.compute_at(state, tile)
      .split(k, outer, in, rows, TailStrategy::RoundUp)
      .reorder(x, in, outer)
      .vectorize(x, lanes)
      .unroll(x)
      .unroll(in);
  for (size_t i = 0; i < dots.size(); ++i) {
    dots[i].compute_at(scores, outer).vectorize(x, lanes).unroll(x).unroll(k);
    dots[i].update().reorder(x, k, over[i].x).vectorize(x, lanes).unroll(x).unroll(k);
  }
  maximum.compute_at(state, tile).vectorize(x, lanes).unroll(x);
  maximum.update().reorder(x, keysOfBlock.x).vectorize(x, lanes).unroll(x);
  weights.compute_at(state, tile).reorder(x, k).vectorize(x, lanes).unroll(x);
  sum.compute_at(state, tile).vectorize(x, lanes).unroll(x);
  sum.update().reorder(x, keysOfBlock.x).vectorize(x, lanes).unroll(x);
}

void FlashPipeline::scheduleMix() {
  if (plan.mixes.empty())
    return;
  mixed.compute_at(state, group).vectorize(x, lanes).unroll(x);
  mixed.update(0).reorder(x, keysOfBlock.x).vectorize(x, lanes).unroll(x);
  mixed.update(1).reorder(x, keysOfBadBlock.x).vectorize(x, lanes).unroll(x);
}

/// Results may have any strides: element by element.
void FlashPipeline::scheduleOutput(Func &output) {
  std::vector<Var> place = output.args();
  bool hasWidth = place.size() > 1 || (place.size() == 1 && place[0].name() == e.name());
  if (!hasWidth)
    return;
  Var in("in");
  output.split(e, group, in, groupRows, TailStrategy::GuardWithIf).unroll(in);
  if (place.size() > 1)
    output.reorder(in, x, group);
}
