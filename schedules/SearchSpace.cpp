//===- SearchSpace.cpp - schedules near a schedule ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "schedules/SearchSpace.h"
#include "schedules/CostModel.h"
#include "llvm/ADT/STLExtras.h"

using namespace attn;

/// What is predicted to take so many times as long as the start is not worth a measurement.
static constexpr double hopeless = 1.5;

namespace {
/// Collects what can work.
class Variants {
public:
  Variants(const Schedule &from, const StageFacts &facts, const Target &target)
      : from(from), facts(facts), target(target), limit(hopeless * predictedCost(from, facts, target)) {}

  /// `from` with one field changed.
  void add(int64_t Schedule::*field, int64_t value) {
    Schedule changed = from;
    changed.*field = value;
    add(changed);
  }

  void add(const Schedule &changed) {
    auto isChanged = [&](const Priced &other) { return other.schedule == changed; };
    if (changed == from || llvm::any_of(found, isChanged))
      return;
    if (llvm::Error error = validate(changed, facts, target))
      return llvm::consumeError(std::move(error));
    double cost = predictedCost(changed, facts, target);
    if (cost > limit)
      return;
    auto dearer = llvm::find_if(found, [&](const Priced &other) { return other.cost > cost; });
    found.insert(dearer, {cost, changed});
  }

  /// The cheapest first.
  std::vector<Schedule> take() const {
    std::vector<Schedule> schedules;
    for (const Priced &each : found)
      schedules.push_back(each.schedule);
    return schedules;
  }

  const Schedule &from;
  const StageFacts &facts;
  const Target &target;

private:
  struct Priced {
    double cost;
    Schedule schedule;
  };
  double limit;
  std::vector<Priced> found;
};
} // namespace

/// The multiple of `step` next to `size`, at least one step.
static int64_t nearestMultiple(int64_t size, int64_t step) { return std::max((size + step / 2) / step, int64_t(1)) * step; }

/// Other register blocks; tiles are the multiples of the block next to what they were.
static void addBlocks(Variants &variants) {
  const Schedule &from = variants.from;
  bool isContract = variants.facts.kind == StageShape::Contract;
  for (int64_t vectors : {1, 2, 3, 4, 6})
    for (int64_t rows : {2, 3, 4, 5, 6, 7, 8, 10, 12, 14}) {
      Schedule block = from;
      block.vectors = vectors;
      block.rows = rows;
      int64_t width = queryBlock(block);
      block.queryTile = isContract ? width : nearestMultiple(from.queryTile, width);
      block.keyTile = nearestMultiple(from.keyTile, keyBlock(block));
      variants.add(block);
    }
}

static void addFlashTiles(Variants &variants) {
  const Schedule &from = variants.from;
  for (int64_t blocks : {1, 2, 3, 4, 5, 6, 8, 12, 16})
    variants.add(&Schedule::queryTile, blocks * queryBlock(from));
  for (int64_t queries : {0, 1, 2, 4, 8, 16, 24, 32, 64})
    variants.add(&Schedule::decodeQueries, queries);
  for (int64_t chunk : {64, 128, 256, 512, 1024, 2048})
    variants.add(&Schedule::decodeChunk, chunk);
}

/// Tiles are the multiples of the block next to what they were.
static Schedule withProducts(Schedule schedule, Products products) {
  schedule.products = products;
  schedule.queryTile = nearestMultiple(schedule.queryTile, queryBlock(schedule));
  schedule.keyTile = nearestMultiple(schedule.keyTile, keyBlock(schedule));
  return schedule;
}

std::vector<Schedule> attn::variants(const Schedule &from, const StageFacts &facts, const Target &target) {
  Variants variants(from, facts, target);
  if (facts.kind == StageShape::Nest)
    return {};
  addBlocks(variants);
  for (int64_t blocks : {2, 4, 6, 8, 10, 12, 16, 24, 32, 48, 64, 128})
    variants.add(&Schedule::keyTile, blocks * keyBlock(from));
  if (facts.kind == StageShape::Contract)
    for (int64_t depth : {64, 128, 256, 512, 1024, 2048})
      variants.add(&Schedule::depthTile, depth);
  else
    addFlashTiles(variants);
  std::vector<Schedule> all = variants.take();
  if (facts.bf16Parts && target.hasTiles && from.route != Route::Halide)
    all.insert(all.begin(), withProducts(from, from.products == Products::Tiles ? Products::Lanes : Products::Tiles));
  if (facts.hasRoutes) {
    Schedule other = from.products == Products::Tiles ? withProducts(from, Products::Lanes) : from;
    other.route = from.route == Route::Halide ? Route::Mlir : Route::Halide;
    all.insert(all.begin(), other);
  }
  return all;
}
