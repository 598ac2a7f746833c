//===- ProductSchedule.cpp - how a matrix product runs on a CPU -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For each register block's width of slots and each part of the depth, the columns are packed once; then blocks of `rows` rows
// pass over the panel with their sums in registers. The sums of a task wait in memory for what follows them.
//===----------------------------------------------------------------------===//
#include "schedules/halide/Product.h"

using namespace attn;
using namespace Halide;

void ProductPipeline::schedule() {
  scheduleSums();
  scheduleOperands();
  for (size_t i = 0; i < outputs.size(); ++i)
    scheduleResult(i);
}

void ProductPipeline::scheduleSums() {
  Var block("block"), strip("strip"), row("row"), slot("slot");
  all.compute_root().bound(l, 0, lanes).align_bounds(s, vectors, 0).align_bounds(x, rows, 0).vectorize(l);
  all.update()
      .split(s, block, slot, vectors)
      .split(x, strip, row, rows)
      .reorder(l, slot, row, strip, parts.x, block)
      .vectorize(l)
      .unroll(slot)
      .unroll(row);
  sums.compute_at(all, strip).vectorize(l).unroll(s).unroll(x);
  sums.update().reorder(l, s, x, products.x).vectorize(l).unroll(s).unroll(x);
  for (Func &each : rowIndices)
    each.compute_root();
  for (Func &each : reduced)
    each.compute_root();
}

/// In parts of vectors, whatever strides and elements are; where elements lie side by side, by vectors.
void ProductPipeline::scheduleOperands() {
  const PlanTerm &term = plan.terms[0];
  schedulePanel();
  // Scalars are read where they lie, if nothing has to be done to them and one index leads there.
  const PlanNode &row = plan.nodes[term.query];
  Expr sideBySide = liesSideBySide(term.query, term.over);
  bool isPlain = row.op == "read" && plan.tensors[row.number].element == PlanElement::F32 &&
                 (plan.depth.size() == 1 || sideBySide.defined());
  if (!isPlain)
    left.compute_at(all, Var("strip")).bound(d, 0, partExtent()).vectorize(d, lanes, TailStrategy::RoundUp);
  if (sideBySide.defined())
    (isPlain ? sums.update() : Stage(left)).specialize(sideBySide);
}

/// Columns that lie side by side are read by vectors of them. Where points do, a block of them is, and turned in registers.
void ProductPipeline::schedulePanel() {
  panel.compute_at(all, parts.x).bound(d, 0, partExtent());
  if (Expr turned = arePointsDense(); turned.defined()) {
    Var block("block_of_points"), point("point");
    panel.specialize(turned)
        .split(d, block, point, lanes, TailStrategy::RoundUp)
        .reorder(l, point, s, block)
        .vectorize(l)
        .unroll(point);
    columns.compute_at(panel, s).vectorize(d, lanes).unroll(l);
  }
  panel.reorder(l, s, d).vectorize(l);
  if (Expr dense = isDense(plan.terms[0].key); dense.defined())
    panel.specialize(dense);
}

Expr ProductPipeline::arePointsDense() const { return liesSideBySide(plan.terms[0].key, plan.depth.back().name); }

Expr ProductPipeline::isDense(int64_t node) const {
  Expr dense = liesSideBySide(node, laneAxis());
  bool isKnown = !dense.defined() || areSlotsWhole();
  return isKnown ? dense : dense && isWide();
}

/// What has been computed of a slot lies side by side as a rule, and is written by vectors.
void ProductPipeline::scheduleResult(size_t i) {
  const PlanStore &store = plan.stores[i];
  Stage writes = outputs[i].update();
  writes.allow_race_conditions().vectorize(results[i].x);
  size_t rank = store.place.size() / 2;
  const PlanNode *innermost = rank ? &plan.nodes[store.place[rank - 1]] : nullptr;
  if (!innermost || innermost->op != "index" || innermost->axis != laneAxis())
    return;
  Expr dense = outputs[i].output_buffer().dim(0).stride() == 1;
  if (Expr reads = liesSideBySide(store.value, laneAxis()); reads.defined())
    dense = dense && reads;
  writes.specialize(areSlotsWhole() ? dense : dense && isWide());
}
