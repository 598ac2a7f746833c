//===- Flash.cpp - a tile of queries as Halide Funcs ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "schedules/halide/Flash.h"

#include "schedules/halide/Scalars.h"
#include <algorithm>

using namespace attn;
using namespace Halide;

FlashPipeline::FlashPipeline(const StagePlan &plan)
    : BlockParts(plan), keysOfBlock(0, int(plan.keyTile), "in_block"), blocksSeen(firstBlock, blocks, "block"),
      lanes(int(plan.lanes)), rows(int(plan.rows)), keyTile(int(plan.keyTile)) {
  defineSeen();
  defineScores();
  defineWeights(keysOfBlock);
  defineMix();
  defineState(blocksSeen);
  defineResults();
}

std::vector<Argument> FlashPipeline::arguments() const {
  std::vector<Argument> all = inputArguments();
  all.push_back(firstBlock);
  all.push_back(blocks);
  return all;
}

/// Of queries a tile at most, of the width all.
Expr FlashPipeline::largestExtent(size_t output, int dimension) const {
  bool isWidth = outputs[output].args()[dimension].name() == e.name();
  return isWidth ? width() : plan.queries.empty() ? Expr(1) : Expr(int(plan.queryTile));
}

std::map<std::string, Expr> FlashPipeline::largestParams() const {
  Expr all = (keyCount() + keyTile - 1) / keyTile;
  return {{firstBlock.name(), all}, {blocks.name(), all}};
}

/// The key with a number in a block; behind the last key, the last one.
Expr FlashPipeline::keyAt(const Expr &block, const Expr &number) const {
  return max(min(likely(block * keyTile + number), keyCount() - 1), 0);
}

/// Of a task's blocks a register block of queries passes over those that none of them sees.
void FlashPipeline::defineSeen() {
  if (plan.ranges.empty())
    return;
  RDom number(0, queriesAtOnce(), "of_queries");
  Points points = pointsAt(withinQueries(x * queriesAtOnce() + number), Expr());
  Expr low, high;
  for (const PlanRange &range : plan.ranges) {
    Expr lower = range.lower < 0 ? Expr(0) : points.bound(range.lower);
    Expr upper = range.upper < 0 ? keyCount() : points.bound(range.upper);
    low = low.defined() ? min(low, lower) : lower;
    high = high.defined() ? max(high, upper) : upper;
  }
  firstKey(x) = keyCount();
  firstKey(x) = min(firstKey(x), low);
  endKey(x) = 0;
  endKey(x) = max(endKey(x), high);
  Expr queriesNumber = x / queriesAtOnce();
  blocksSeen.where(firstKey(queriesNumber) < (blocksSeen + 1) * keyTile && blocksSeen * keyTile < endKey(queriesNumber));
}

//===----------------------------------------------------------------------===//
// Scores
//===----------------------------------------------------------------------===//

void FlashPipeline::defineScores() {
  Expr query = withinQueries(x), key = keyAt(j, k);
  std::vector<Expr> all;
  for (size_t i = 0; i < plan.terms.size(); ++i) {
    std::string number = std::to_string(i);
    Func q("queries" + number), t("keys" + number), dot("dot" + number);
    q(x, e) = queryElement(i, query, e);
    t(e, k, j) = keyElement(i, Expr(), key, e);
    over.emplace_back(0, inputs.extent(plan.terms[i].extent), "over" + number);
    dot(x, k, j) = 0.0f;
    dot(x, k, j) += q(x, over.back()) * t(over.back(), k, j);
    all.push_back(dot(x, k, j));
    queries.push_back(q);
    keys.push_back(t);
    dots.push_back(dot);
  }
  Expr seen = likely(j * keyTile + k < keyCount());
  if (Expr inRanges = isInRanges(query, j * keyTile + k); inRanges.defined())
    seen = seen && inRanges;
  scores(x, k, j) = scoreOf(query, key, all, seen);
}

//===----------------------------------------------------------------------===//
// Mixes
//===----------------------------------------------------------------------===//

/// Weights of absent keys are 0, which hides any number but no NaN and no infinity: such values are left out, and where
/// a block has some they are added for present keys alone.
void FlashPipeline::defineMix() {
  Expr anyBad = Halide::cast<uint8_t>(0);
  for (size_t i = 0; i < plan.mixes.size(); ++i) {
    std::string number = std::to_string(i);
    Func clean("values" + number), column("bad_column" + number);
    Expr raw = rawValue(i, Expr(), e, keyAt(j, k));
    clean(e, k, j) = select(isFinite(raw), raw, 0.0f);
    column(e, j) = Halide::cast<uint8_t>(0);
    column(e, j) = column(e, j) | Halide::cast<uint8_t>(!isFinite(rawValue(i, Expr(), e, keyAt(j, keysOfBlock))));
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
      Expr raw = rawValue(i, Expr(), element, keyAt(j, keysOfBadBlock));
      Expr isAbsent = scores(x, keysOfBadBlock, j) == negativeInfinity;
      fixed.push_back(select(isAbsent || isFinite(raw), old, old + weights(x, keysOfBadBlock, j) * raw));
    }
  mixed(x, group, j) = Tuple(more);
  mixed(x, group, j) = Tuple(fixed);
}
