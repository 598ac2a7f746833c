//===- Device.cpp - a flash stage on a device, as Halide Funcs ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "schedules/halide/Device.h"

#include "schedules/halide/Scalars.h"
#include <algorithm>

using namespace attn;
using namespace Halide;

DevicePipeline::DevicePipeline(const StagePlan &plan)
    : BlockParts(plan), threads(int(plan.queryTile)), keyTile(int(plan.keyTile)), keysOfBlock(0, keyTile, "in_block"),
      blocks(0, blockCount(), "block_of_keys") {
  blocks.where(blocks < blocksSeen(withinQueries(x)));
  defineScores();
  defineWeights(keysOfBlock);
  defineMix();
  defineState(blocks);
  defineResults();
  defineCopies();
}

Expr DevicePipeline::firstBlock(const Expr &query) const {
  Expr first;
  Points points = pointsAt(query, Expr());
  for (const PlanRange &range : plan.ranges) {
    Expr lower = range.lower < 0 ? Expr(0) : max(points.bound(range.lower), 0) / keyTile;
    first = first.defined() ? min(first, lower) : lower;
  }
  return first.defined() ? Internal::simplify(first) : Expr(0);
}

Expr DevicePipeline::blocksSeen(const Expr &query) const {
  Expr end;
  Points points = pointsAt(query, Expr());
  for (const PlanRange &range : plan.ranges) {
    Expr upper = range.upper < 0 ? blockCount() : (points.bound(range.upper) + keyTile - 1) / keyTile;
    end = end.defined() ? max(end, upper) : upper;
  }
  return min(end.defined() ? end : blockCount(), blockCount()) - firstBlock(query);
}

Expr DevicePipeline::keyNumber(const Expr &query, const Expr &block, const Expr &number) const {
  return (firstBlock(query) + block) * keyTile + number;
}

Expr DevicePipeline::keyAt(const Expr &query, const Expr &block, const Expr &number) const {
  return max(min(keyNumber(query, block, number), keyCount() - 1), 0);
}

void DevicePipeline::defineScores() {
  Expr query = withinQueries(x), key = keyAt(query, j, k);
  std::vector<Expr> all;
  for (size_t i = 0; i < plan.terms.size(); ++i) {
    std::string name = std::to_string(i);
    Func q("queries" + name), dot("dot" + name);
    q(x, e) = queryElement(i, query, e);
    over.emplace_back(0, inputs.extent(plan.terms[i].extent), "over" + name);
    dot(x, k, j) = 0.0f;
    dot(x, k, j) += q(x, over.back()) * keyElement(i, query, key, over.back());
    all.push_back(dot(x, k, j));
    queries.push_back(q);
    dots.push_back(dot);
  }
  Expr number = keyNumber(query, j, k), seen = number < keyCount();
  if (Expr inRanges = isInRanges(query, number); inRanges.defined())
    seen = seen && inRanges;
  scores(x, k, j) = scoreOf(query, key, all, seen);
}

/// What an absent key's value is has no effect: it is selected away.
void DevicePipeline::defineMix() {
  if (plan.mixes.empty())
    return;
  std::vector<Expr> more;
  mixed(x, group, j) = Tuple(std::vector<Expr>(parts(), 0.0f));
  Expr isAbsent = scores(x, keysOfBlock, j) == negativeInfinity;
  for (size_t i = 0; i < plan.mixes.size(); ++i)
    for (int r = 0; r < groupRows; ++r) {
      Expr old = mixOf(j, int(more.size()));
      Expr value = rawValue(i, withinQueries(x), group * groupRows + r, keyAt(withinQueries(x), j, keysOfBlock));
      more.push_back(select(isAbsent, old, old + weights(x, keysOfBlock, j) * value));
    }
  mixed(x, group, j) = Tuple(more);
}

/// Results are made in the device's memory.
void DevicePipeline::defineCopies() {
  made = outputs;
  for (Func &output : outputs) {
    Func stored("stored_" + output.name());
    stored(output.args()) = output(output.args());
    stored.output_buffer().dim(0).set_stride(Expr()); // Any strides.
    output = stored;
  }
}

//===----------------------------------------------------------------------===//
// Schedule
//===----------------------------------------------------------------------===//

static constexpr int copiedAtOnce = 16;

/// A thread has one query: its scores of a block of keys and their weights lie in its own memory, the products of a few keys
/// or elements in registers, and keys and values are read where they are.
void DevicePipeline::schedule() {
  scheduleCopies();
  scheduleState();
  for (size_t i = 0; i < made.size(); ++i) {
    Func &result = made[i];
    result.compute_root();
    std::vector<Var> place = result.args();
    // Nothing is launched for no elements, and nothing has no memory.
    for (size_t d = 0; d < place.size(); ++d)
      result.bound(place[d], 0, max(resultExtent(i, int(d)), 1));
    Var all = place[0];
    for (size_t d = 1; d < place.size(); ++d) {
      Var fused("all" + std::to_string(d));
      result.fuse(all, place[d], fused);
      all = fused;
    }
    result.gpu_tile(all, block, thread, threads, TailStrategy::GuardWithIf);
  }
}

Expr DevicePipeline::tensorExtent(const PlanTensor &tensor, int dimension) const {
  int64_t factor = tensor.factors[tensor.factors.size() - 1 - dimension];
  for (size_t i = 0; i < plan.scalars.size(); ++i)
    if (plan.scalars[i].number == PlanNumber::Factor && plan.scalars[i].ref == tensor.ref && plan.scalars[i].factor == factor)
      return inputs.extent(int64_t(i));
  throw InternalError("a plan for a device that does not know how large " + tensor.name + " is");
}

void DevicePipeline::scheduleCopies() {
  auto copy = [&](Func to, const Expr &isCompact) {
    to.specialize(isCompact).vectorize(to.args()[0], copiedAtOnce, TailStrategy::GuardWithIf);
  };
  for (size_t i = 0; i < inputs.tensors.size(); ++i) {
    if (isStored(i))
      continue;
    ImageParam &tensor = inputs.tensors[i];
    Func there = tensor.in();
    there.compute_root();
    for (int d = 0; d < tensor.dimensions(); ++d)
      there.bound(there.args()[d], 0, max(tensorExtent(plan.tensors[i], d), 1));
    if (tensor.dimensions() > 0)
      copy(there, tensor.dim(0).stride() == 1);
  }
  for (Func &output : outputs)
    copy(output, output.output_buffer().dim(0).stride() == 1);
}

void DevicePipeline::scheduleState() {
  Var other("other"), otherThread("other_thread");
  Expr count = max(queryCount(), 1);
  for (size_t i = 0; i < queries.size(); ++i)
    queries[i]
        .compute_root()
        .bound(x, 0, count)
        .bound(e, 0, max(inputs.extent(plan.terms[i].extent), 1))
        .gpu_tile(x, block, thread, threads, TailStrategy::GuardWithIf);
  state.compute_root().bound(x, 0, count).bound(group, 0, groups());
  state.gpu_tile(x, block, thread, threads, TailStrategy::GuardWithIf);
  state.update()
      .split(x, block, thread, threads, TailStrategy::GuardWithIf)
      .reorder(group, blocks.x, thread, block)
      .gpu_blocks(block)
      .gpu_threads(thread)
      .never_partition_all();
  for (Func *each : {&scores, &maximum, &weights, &sum})
    each->compute_at(state, blocks.x).store_in(MemoryType::Register);
  Var keys("keys"), in("in");
  scores.split(k, keys, in, int(plan.rows)).unroll(in);
  for (size_t i = 0; i < dots.size(); ++i) {
    dots[i].compute_at(scores, keys).store_in(MemoryType::Register).unroll(k);
    dots[i].update().reorder(k, over[i].x).unroll(k);
  }
  if (!plan.mixes.empty())
    mixed.compute_at(state, group).store_in(MemoryType::Register);
}
