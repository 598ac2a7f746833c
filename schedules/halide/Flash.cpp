//===- Flash.cpp - a flash stage as Halide Funcs --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "schedules/halide/Flash.h"

#include "schedules/halide/Scalars.h"
#include <algorithm>

using namespace attn;
using namespace Halide;

static const float negativeInfinity = -std::numeric_limits<float>::infinity();
static constexpr float log2OfE = 1.44269504f, naturalLogOf2 = 0.69314718f;

FlashPipeline::FlashPipeline(const StagePlan &plan)
    : plan(plan), inputs(plan), keysOfBlock(0, int(plan.keyTile), "in_block"), blocksSeen(firstBlock, blocks, "block"),
      lanes(int(plan.lanes)), rows(int(plan.rows)),
      groupRows(std::max(1, rows / std::max(1, int(plan.mixes.size())))), keyTile(int(plan.keyTile)) {
  defineScores();
  defineWeights();
  defineMix();
  defineState();
  for (const PlanStore &store : plan.stores)
    defineStore(store);
}

std::vector<Argument> FlashPipeline::arguments() const {
  std::vector<Argument> all;
  for (size_t i = 0; i < inputs.tensors.size(); ++i) {
    bool isStored = std::any_of(plan.stores.begin(), plan.stores.end(),
                                [&](const PlanStore &store) { return store.tensor == int64_t(i); });
    if (!isStored)
      all.push_back(inputs.tensors[i]);
  }
  for (const Param<int64_t> &scalar : inputs.scalars)
    all.push_back(scalar);
  all.push_back(firstBlock);
  all.push_back(blocks);
  return all;
}

//===----------------------------------------------------------------------===//
// Points
//===----------------------------------------------------------------------===//

/// Lanes behind the last query repeat it.
Expr FlashPipeline::withinQueries(const Expr &query) const {
  return plan.lane.empty() ? Expr(0) : max(min(likely(query), inputs.extent(plan.laneExtent) - 1), 0);
}

/// The key with a number in a block; behind the last key, the last one.
Expr FlashPipeline::keyAt(const Expr &block, const Expr &number) const {
  return max(min(likely(block * keyTile + number), keyCount() - 1), 0);
}

Points FlashPipeline::pointsAt(const Expr &query, const Expr &key) {
  Points points(plan, inputs);
  if (!plan.lane.empty() && query.defined())
    points.bind(plan.lane, query);
  if (key.defined())
    points.bind(plan.key, key);
  return points;
}

/// Whether a query sees a key (which may lie behind the last one) in one of the ranges.
Expr FlashPipeline::isSeen(const Expr &query, const Expr &key) {
  Expr exists = likely(key < keyCount());
  Expr seen;
  for (const PlanRange &range : plan.ranges) {
    Points points = pointsAt(query, Expr());
    Expr here = Internal::const_true();
    if (range.lower >= 0)
      here = likely(key >= points.bound(range.lower));
    if (range.upper >= 0)
      here = here && likely(key < points.bound(range.upper));
    for (int64_t bound : {range.lower, range.upper})
      if (bound >= 0 && points.at(bound).present.defined())
        here = here && points.at(bound).present;
    seen = seen.defined() ? seen || here : here;
  }
  return seen.defined() ? exists && seen : exists;
}

//===----------------------------------------------------------------------===//
// Scores
//===----------------------------------------------------------------------===//

void FlashPipeline::defineScores() {
  Expr query = withinQueries(x), key = keyAt(j, k);
  Points points = pointsAt(query, key);
  for (size_t i = 0; i < plan.terms.size(); ++i) {
    const PlanTerm &term = plan.terms[i];
    std::string number = std::to_string(i);
    Func q("queries" + number), t("keys" + number), dot("dot" + number);
    Points ofQuery = pointsAt(query, Expr()), ofKey = pointsAt(Expr(), key);
    ofQuery.bind(term.over, e);
    ofKey.bind(term.over, e);
    Expr factor = plan.queryFactor >= 0 ? pointsAt(query, Expr()).at(plan.queryFactor).value : Expr(1.0f);
    bool isWhole = plan.queryFactor >= 0;
    q(x, e) = isWhole ? ofQuery.orZero(term.query) * factor * log2OfE : ofQuery.orZero(term.query);
    t(e, k, j) = ofKey.orZero(term.key);
    over.emplace_back(0, inputs.extent(term.extent), "over" + number);
    dot(x, k, j) = 0.0f;
    dot(x, k, j) += q(x, over.back()) * t(over.back(), k, j);
    points.give("term", int64_t(i), dot(x, k, j));
    queries.push_back(q);
    keys.push_back(t);
    dots.push_back(dot);
  }
  Point score = points.at(plan.score);
  Expr value = plan.queryFactor >= 0 ? Expr(dots[0](x, k, j)) : score.value * log2OfE;
  Expr present = isSeen(query, j * keyTile + k);
  if (plan.mask >= 0)
    present = present && points.holds(plan.mask);
  if (score.present.defined())
    present = present && score.present;
  scores(x, k, j) = select(present, value, negativeInfinity);
}

void FlashPipeline::defineWeights() {
  Expr score = scores(x, keysOfBlock, j);
  maximum(x, j) = negativeInfinity;
  // NaN stays once it is there.
  maximum(x, j) = select(score > maximum(x, j) || is_nan(score), score, maximum(x, j));
  // No key yet: shift by 0, so that -inf - -inf never happens.
  Expr shift = select(maximum(x, j) == negativeInfinity, 0.0f, maximum(x, j));
  weights(x, k, j) = exp2NonPositive(scores(x, k, j) - shift);
  sum(x, j) = 0.0f;
  sum(x, j) += weights(x, keysOfBlock, j);
}

//===----------------------------------------------------------------------===//
// Mixes
//===----------------------------------------------------------------------===//

Expr FlashPipeline::rawValue(size_t mix, const Expr &element, const Expr &key) {
  Points points = pointsAt(Expr(), key);
  points.bind(plan.mixes[mix].width, max(min(element, width() - 1), 0));
  return points.orZero(plan.mixes[mix].value);
}

/// By `<`: Halide takes x <= y for not y < x, which holds for NaN.
static Expr isFinite(const Expr &value) { return abs(value) < std::numeric_limits<float>::infinity(); }

/// Weights of absent keys are 0, which hides any number but no NaN and no infinity: such values are left out, and where
/// a block has some they are added for present keys alone.
void FlashPipeline::defineMix() {
  Expr anyBad = Halide::cast<uint8_t>(0);
  for (size_t i = 0; i < plan.mixes.size(); ++i) {
    std::string number = std::to_string(i);
    Func clean("values" + number), column("bad_column" + number);
    Expr raw = rawValue(i, e, keyAt(j, k));
    clean(e, k, j) = select(isFinite(raw), raw, 0.0f);
    column(e, j) = Halide::cast<uint8_t>(0);
    column(e, j) = column(e, j) | Halide::cast<uint8_t>(!isFinite(rawValue(i, e, keyAt(j, keysOfBlock))));
    values.push_back(clean);
    badColumns.push_back(column);
  }
  RDom elements(0, width(), "element");
  bad(j) = Halide::cast<uint8_t>(0);
  Expr any = bad(j);
  for (Func &column : badColumns)
    any = any | column(elements, j);
  if (!badColumns.empty())
    bad(j) = any;

  keysOfBadBlock = RDom(0, keyTile, "in_bad_block");
  keysOfBadBlock.where(bad(j) != 0);
  if (plan.mixes.empty())
    return;
  std::vector<Expr> more, fixed;
  mixed(x, group, j) = Tuple(std::vector<Expr>(parts(), 0.0f));
  for (size_t i = 0; i < plan.mixes.size(); ++i)
    for (int r = 0; r < groupRows; ++r) {
      Expr old = mixOf(j, int(more.size())), element = group * groupRows + r;
      more.push_back(old + weights(x, keysOfBlock, j) * values[i](element, keysOfBlock, j));
      Expr raw = rawValue(i, element, keyAt(j, keysOfBadBlock));
      Expr isAbsent = scores(x, keysOfBadBlock, j) == negativeInfinity;
      fixed.push_back(select(isAbsent || isFinite(raw), old, old + weights(x, keysOfBadBlock, j) * raw));
    }
  mixed(x, group, j) = Tuple(more);
  mixed(x, group, j) = Tuple(fixed);
}

/// An element of a group; a Func of one value is no tuple.
Expr FlashPipeline::mixOf(const Expr &block, int part) {
  return parts() == 1 ? Expr(mixed(x, group, block)) : Expr(mixed(x, group, block)[part]);
}

/// A sink is a logit without a key: it is there before the first block.
Expr FlashPipeline::initialMaximum() {
  if (plan.sink < 0)
    return Expr(negativeInfinity);
  Point sink = pointsAt(withinQueries(x), Expr()).at(plan.sink);
  Expr value = sink.value * log2OfE;
  return sink.present.defined() ? select(sink.present, value, negativeInfinity) : value;
}

void FlashPipeline::defineState() {
  Expr first = initialMaximum();
  std::vector<Expr> initial{first, plan.sink < 0 ? Expr(0.0f) : select(first == negativeInfinity, 0.0f, 1.0f)};
  initial.resize(2 + parts(), 0.0f);
  state(x, group) = Tuple(initial);
  Expr old = state(x, group)[0], block = maximum(x, blocksSeen);
  Expr grew = block > old || is_nan(block);
  Expr now = select(grew, block, old);
  Expr less = select(grew, old - block, block - old);
  // A side without keys counts for nothing, whatever the other one is.
  Expr factor = select(less == negativeInfinity || now == negativeInfinity, 0.0f, exp2NonPositive(less));
  factor = select(block == negativeInfinity, 0.0f, factor);
  Expr ofOld = select(grew, factor, 1.0f), ofBlock = select(grew, 1.0f, factor);
  std::vector<Expr> next{now, state(x, group)[1] * ofOld + sum(x, blocksSeen) * ofBlock};
  for (int i = 0; i < parts(); ++i)
    next.push_back(state(x, group)[2 + i] * ofOld + mixOf(blocksSeen, i) * ofBlock);
  state(x, group) = Tuple(next);
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

void FlashPipeline::defineStore(const PlanStore &store) {
  const PlanTensor &tensor = plan.tensors[store.tensor];
  Func output("result_" + tensor.name);
  bool hasWidth = false;
  std::vector<Var> place;
  for (const std::string &axis : store.dims) {
    bool isLane = axis == plan.lane;
    hasWidth |= !isLane;
    place.insert(place.begin(), isLane ? x : e);
  }
  Points points = pointsAt(x, Expr());
  Expr group = hasWidth ? Expr(e / groupRows) : Expr(0);
  Expr total = state(x, group)[1];
  if (hasWidth) {
    points.bind(plan.mixes[0].width, e);
    for (size_t i = 0; i < plan.mixes.size(); ++i) {
      std::vector<Expr> candidates;
      for (int r = 0; r < groupRows; ++r)
        candidates.push_back(state(x, group)[2 + int(i) * groupRows + r]);
      Expr mix = groupRows == 1 ? candidates[0] : mux(e % groupRows, candidates);
      // Also where a sink is NaN: it does not reach a row without keys.
      points.give("mix", int64_t(i), select(total == 0.0f || mix == 0.0f, 0.0f, mix / total));
    }
  }
  Expr natural = state(x, group)[0] * naturalLogOf2 + naturalLog(total);
  points.give("logsumexp", 0, select(total == 0.0f, negativeInfinity, natural));
  Point value = points.at(store.value);
  Expr present = value.present;
  if (store.condition >= 0) {
    Expr condition = points.holds(store.condition);
    present = present.defined() ? present && condition : condition;
  }
  Expr stored = value.value;
  if (present.defined())
    stored = select(present, stored, Halide::cast(stored.type(), 0));
  output(place) = narrow(stored, tensor.element);
  outputs.push_back(output);
}
