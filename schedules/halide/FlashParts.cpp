//===- FlashParts.cpp - what all forms of a flash stage share -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "schedules/halide/FlashParts.h"

#include "schedules/halide/Scalars.h"
#include <algorithm>

using namespace attn;
using namespace Halide;

static constexpr float naturalLogOf2 = 0.69314718f;

Expr attn::isFinite(const Expr &value) { return abs(value) < std::numeric_limits<float>::infinity(); }

std::vector<Expr> attn::mergedStates(const std::vector<Expr> &one, const std::vector<Expr> &other) {
  const Expr &old = one[0], &more = other[0];
  Expr grew = more > old || is_nan(more); // NaN stays once it is there.
  Expr now = select(grew, more, old);
  Expr less = select(grew, old - more, more - old);
  // A side without keys counts for nothing, whatever the other one is.
  Expr factor = select(less == negativeInfinity || now == negativeInfinity, 0.0f, exp2NonPositive(less));
  factor = select(more == negativeInfinity, 0.0f, factor);
  Expr ofOne = select(grew, factor, 1.0f), ofOther = select(grew, 1.0f, factor);
  std::vector<Expr> merged{now};
  for (size_t i = 1; i < one.size(); ++i)
    merged.push_back(one[i] * ofOne + other[i] * ofOther);
  return merged;
}

//===----------------------------------------------------------------------===//
// Points
//===----------------------------------------------------------------------===//

Expr FlashParts::withinQueries(const Expr &query) const {
  return plan.queries.empty() ? Expr(0) : max(min(likely(query), queryCount() - 1), 0);
}

Points FlashParts::pointsAt(const Expr &query, const Expr &key) const {
  Points points(plan, inputs);
  if (query.defined())
    bindParts(points, plan.queries, query);
  if (key.defined())
    points.bind(plan.key.name, key);
  return points;
}

Expr FlashParts::isInRanges(const Expr &query, const Expr &key) const {
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
  return seen;
}

Expr FlashParts::queryElement(size_t term, const Expr &query, const Expr &element) const {
  Points points = pointsAt(query, Expr());
  points.bind(plan.terms[term].over, element);
  Expr value = points.orZero(plan.terms[term].query);
  return plan.queryFactor < 0 ? value : value * pointsAt(query, Expr()).at(plan.queryFactor).value * log2OfE;
}

Expr FlashParts::keyElement(size_t term, const Expr &query, const Expr &key, const Expr &element) const {
  Points points = pointsAt(query, key);
  points.bind(plan.terms[term].over, max(min(likely(element), inputs.extent(plan.terms[term].extent) - 1), 0));
  return points.orZero(plan.terms[term].key);
}

Expr FlashParts::rawValue(size_t mix, const Expr &query, const Expr &element, const Expr &key) const {
  Points points = pointsAt(query, key);
  points.bind(plan.mixes[mix].width, max(min(likely(element), width() - 1), 0));
  return points.orZero(plan.mixes[mix].value);
}

Expr FlashParts::scoreOf(const Expr &query, const Expr &key, const std::vector<Expr> &dots, const Expr &seen) const {
  Points points = pointsAt(query, key);
  for (size_t i = 0; i < dots.size(); ++i)
    points.give("term", int64_t(i), dots[i]);
  Point score = points.at(plan.score);
  Expr value = plan.queryFactor >= 0 ? dots[0] : score.value * log2OfE;
  Expr present = seen;
  if (plan.mask >= 0)
    present = present && points.holds(plan.mask);
  if (score.present.defined())
    present = present && score.present;
  return select(present, value, negativeInfinity);
}

//===----------------------------------------------------------------------===//
// Blocks of keys
//===----------------------------------------------------------------------===//

BlockParts::BlockParts(const StagePlan &plan)
    : FlashParts(plan), groupRows(std::max(1, int(plan.rows) / std::max(1, int(plan.mixes.size())))) {}

/// A Func of one value is no tuple.
Expr BlockParts::mixOf(const Expr &block, int part) {
  return parts() == 1 ? Expr(mixed(x, group, block)) : Expr(mixed(x, group, block)[part]);
}

void BlockParts::defineState(const RDom &blocks) {
  state(x, group) = Tuple(initialState(withinQueries(x), parts()));
  std::vector<Expr> old, block{maximum(x, blocks), sum(x, blocks)};
  for (int i = 0; i < 2 + parts(); ++i)
    old.push_back(state(x, group)[i]);
  for (int i = 0; i < parts(); ++i)
    block.push_back(mixOf(blocks, i));
  state(x, group) = Tuple(mergedStates(old, block));
}

void BlockParts::defineResults() {
  auto stateAt = [&](const Expr &query, const Expr &element) {
    Expr ofGroup = element.defined() ? element / groupRows : Expr(0);
    std::vector<Expr> all{state(query, ofGroup)[0], state(query, ofGroup)[1]};
    for (size_t i = 0; element.defined() && i < plan.mixes.size(); ++i) {
      std::vector<Expr> candidates;
      for (int r = 0; r < groupRows; ++r)
        candidates.push_back(state(query, ofGroup)[2 + int(i) * groupRows + r]);
      all.push_back(groupRows == 1 ? candidates[0] : mux(element % groupRows, candidates));
    }
    return all;
  };
  for (const PlanStore &store : plan.stores)
    defineResult(store, stateAt);
}

void BlockParts::defineWeights(const RDom &keysOfBlock) {
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
// Results
//===----------------------------------------------------------------------===//

std::vector<Expr> FlashParts::initialState(const Expr &query, size_t mixes) const {
  std::vector<Expr> state{Expr(negativeInfinity), Expr(0.0f)};
  if (plan.sink >= 0) {
    Point sink = pointsAt(query, Expr()).at(plan.sink);
    Expr value = sink.value * log2OfE;
    state[0] = sink.present.defined() ? select(sink.present, value, negativeInfinity) : value;
    state[1] = select(state[0] == negativeInfinity, 0.0f, 1.0f);
  }
  state.resize(2 + mixes, Expr(0.0f));
  return state;
}

void FlashParts::defineResult(const PlanStore &store, const StateAt &stateAt) {
  const PlanTensor &tensor = plan.tensors[store.tensor];
  Func output("result_" + tensor.name);
  std::vector<Var> place;
  std::map<std::string, Var> queries;
  bool hasWidth = false;
  for (const std::string &axis : store.dims) {
    bool isWidth = !plan.mixes.empty() && axis == plan.mixes[0].width;
    hasWidth |= isWidth;
    Var var = isWidth ? e : plan.queries.size() <= 1 ? x : Var("query_" + axis);
    if (!isWidth)
      queries[axis] = var;
    place.insert(place.begin(), var);
  }
  // A stage without an axis of queries has one query, in the dimension "".
  Expr query = plan.queries.empty() ? Expr(x) : Expr(0);
  for (const PlanAxis &axis : plan.queries)
    query = query * inputs.extent(axis.extent) + queries.at(axis.name);
  query = plan.queries.size() == 1 ? Expr(x) : query;
  Points points(plan, inputs);
  for (const PlanAxis &axis : plan.queries)
    points.bind(axis.name, queries.at(axis.name));
  std::vector<Expr> state = stateAt(query, hasWidth ? Expr(e) : Expr());
  Expr total = state[1];
  if (hasWidth) {
    points.bind(plan.mixes[0].width, e);
    for (size_t i = 0; i < plan.mixes.size(); ++i) // Also where a sink is NaN: it does not reach a row without keys.
      points.give("mix", int64_t(i), select(total == 0.0f || state[2 + i] == 0.0f, 0.0f, state[2 + i] / total));
  }
  Expr natural = state[0] * naturalLogOf2 + naturalLog(total);
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
  output(place) = narrow(stored, tensor.element, plan.part == PlanPart::Device);
  for (OutputImageParam &buffer : output.output_buffers()) // Any strides.
    buffer.dim(0).set_stride(Expr());
  outputs.push_back(output);
}

Expr FlashParts::resultExtent(size_t output, int dimension) const {
  std::string name = outputs[output].args()[dimension].name();
  if (name == e.name())
    return width();
  for (const PlanAxis &axis : plan.queries)
    if (plan.queries.size() == 1 || name == "query_" + axis.name)
      return inputs.extent(axis.extent);
  return Expr(1);
}
