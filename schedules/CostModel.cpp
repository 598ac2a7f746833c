//===- CostModel.cpp - schedules without being asked ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "schedules/CostModel.h"
#include "llvm/Support/FormatVariadic.h"
#include <algorithm>

using namespace attn;

/// Queries in a tile where caches allow it: each key tile is packed and read once per query tile.
static constexpr int64_t wantedQueries = 192;
/// The same where L2 is large beside the tiles.
static constexpr int64_t manyQueries = 384;
/// The same where masks are for register blocks, not for whole tiles as on the Halide route (S = 2048, widths 64 and 128: 1 to 4 %
/// less time than 384).
static constexpr int64_t mostQueries = 768;
/// Keys in a tile: their scores for one register block, 64 x 24 x 4 bytes, leave most of L1 to the operands.
static constexpr int64_t wantedKeys = 64;
/// The same where L2 is large beside the tiles: sums are put away half as often, and the scores come from L2 in time.
static constexpr int64_t manyKeys = 128;
/// The same with matrix tiles, which leave less time to putting sums away (S = 2048, widths 64 and 128: 5 % less time than with
/// half as many).
static constexpr int64_t keysOfTiles = 256;
static constexpr int64_t unusedDepth = 256;
/// Keys in a task of the decode form: enough to pay for its start and for the merge, few enough to share out one sequence.
static constexpr int64_t wantedChunk = 256;
/// Rows that a packed panel of a contract serves at least: packing it costs as much as eight of them.
static constexpr int64_t wantedRows = 192;
/// Contracted elements in a panel, where a quarter of L2 holds it: it is read from L2 at a third of what L2 gives, and sums are
/// put away rarely (2048 instead of 512 take 4 to 8 % less time; with half of L2, few rows take 10 % more).
static constexpr int64_t wantedDepth = 4096;

/// The largest multiple of `step` up to `wanted`, at least one step.
static int64_t multipleUpTo(int64_t wanted, int64_t step) { return std::max(wanted / step, int64_t(1)) * step; }

/// 4 x 3 and 8 x 3 accumulators are what 16 and 32 registers hold beside their operands: enough independent
/// multiply-adds to fill both units for their whole latency, with the fewest loads beside them. 8 x 2 fill them as well, and
/// with 16 lanes the narrower block leaves fewer of them empty at the last queries and at the edges of masks (128 queries:
/// 12 % less time, 512 causal ones 7 %, windows of 256 keys 7 to 9 %, 2048 without a mask as long). The Halide route masks whole tiles (2048 causal: 8 x 3 and query tiles of 384 take 14 % less).
static void chooseRegisterBlock(Schedule &schedule, const Target &target) {
  schedule.lanes = target.lanes;
  schedule.vectors = target.lanes >= 16 && schedule.route != Route::Halide ? 2 : 3;
  schedule.rows = target.vectorRegisters >= 32 ? 8 : 4;
}

/// A register block of queries takes the prefill form the same time however few of it are there; the decode form's time
/// grows with their number. They meet at 15 to 19 of 24 queries with 8 lanes, at 16 to 24 of 32 with 16, where
/// sums across lanes and softmax weigh more (measured on x86: widths 64 and 128, groups of 1 and 4 heads, 1024 and 4096 keys).
static int64_t mostDecodeQueries(const Schedule &schedule) {
  int64_t block = schedule.lanes * schedule.vectors;
  return schedule.lanes >= 16 ? block / 2 : block * 2 / 3;
}

/// On a device so many queries leave most of a tile of 64 rows empty, and a grid of few blocks.
static constexpr int64_t mostDeviceDecodeQueries = 16;

/// A thread keeps the scores and weights of a block of keys, and sums in registers (rows 8 and 32 keys took half of the time of 4 and 16
/// on PoCL; more gains little there, and would fill a GPU's registers).
static Schedule deviceSchedule() {
  Schedule schedule;
  schedule.lanes = schedule.vectors = 1;
  schedule.rows = 8;
  schedule.queryTile = 64;
  schedule.keyTile = 32;
  schedule.depthTile = unusedDepth;
  schedule.decodeQueries = 0;
  schedule.decodeChunk = wantedChunk;
  return schedule;
}

static void chooseFlashTiles(Schedule &schedule, const StageFacts &facts, const Target &target) {
  schedule.decodeQueries = target.isCuda() ? mostDeviceDecodeQueries : mostDecodeQueries(schedule);
  schedule.decodeChunk = wantedChunk;
  if (facts.bf16Parts && target.hasTiles)
    schedule.products = Products::Tiles;
  bool isTiles = schedule.products == Products::Tiles;
  int64_t width = queryBlock(schedule), rows = keyBlock(schedule);
  schedule.queryTile = multipleUpTo(wantedQueries, width);
  schedule.keyTile = multipleUpTo(wantedKeys, rows);
  auto enlarge = [&](int64_t Schedule::*tile, int64_t size, double partOfL2) {
    Schedule larger = schedule;
    larger.*tile = size;
    if (double(flashTileBytes(larger, facts)) <= partOfL2 * double(target.l2Bytes))
      schedule = larger;
  };
  enlarge(&Schedule::keyTile, multipleUpTo(manyKeys, rows), 0.25);
  if (isTiles)
    enlarge(&Schedule::keyTile, multipleUpTo(keysOfTiles, rows), 0.25);
  enlarge(&Schedule::queryTile, multipleUpTo(manyQueries, width), 0.6);
  if (schedule.route != Route::Halide)
    enlarge(&Schedule::queryTile, multipleUpTo(mostQueries, width), 0.6);
  int64_t room = target.l1Bytes + target.l2Bytes;
  while (flashTileBytes(schedule, facts) > room && schedule.queryTile > width)
    schedule.queryTile -= width;
  while (flashTileBytes(schedule, facts) > room && schedule.keyTile > rows)
    schedule.keyTile -= rows;
}

/// 6 x 4 reads 10 vectors and scalars for 24 multiply-adds, 8 x 3 reads 11. 6 x 2 reads one more than 4 x 3, but its
/// width divides that of most layers.
static void chooseContractTiles(Schedule &schedule, const StageFacts &facts, const Target &target) {
  schedule.vectors = target.vectorRegisters >= 32 ? 4 : 2;
  schedule.rows = 6;
  schedule.queryTile = schedule.lanes * schedule.vectors;
  schedule.keyTile = multipleUpTo(wantedRows, schedule.rows);
  schedule.depthTile = wantedDepth;
  // The rest of L2 is for what streams past the panel.
  while (contractPanelBytes(schedule) > target.l2Bytes / 4 && schedule.depthTile > 64)
    schedule.depthTile /= 2;
  if (facts.keyWidth && *facts.keyWidth > 0)
    schedule.depthTile = std::min(schedule.depthTile, *facts.keyWidth);
}

Schedule attn::chooseSchedule(const StageFacts &facts, const Target &target, Route route) {
  if (target.hasDevice() && facts.kind == StageShape::Flash)
    return deviceSchedule();
  Schedule schedule;
  schedule.route = route;
  chooseRegisterBlock(schedule, target);
  schedule.queryTile = schedule.lanes * schedule.vectors;
  schedule.keyTile = schedule.rows;
  schedule.depthTile = unusedDepth;
  if (facts.kind == StageShape::Flash)
    chooseFlashTiles(schedule, facts, target);
  else if (facts.kind == StageShape::Contract)
    chooseContractTiles(schedule, facts, target);
  schedule.route = Route::Unsaid; // It is not this choice's.
  return schedule;
}

/// Packing an element of an operand, in multiply-adds.
static constexpr double packing = 8;
/// Putting a sum away and taking it up again, in multiply-adds.
static constexpr double passing = 4;
/// What operands cost that come from beyond L2 again and again.
static constexpr double beyondL2 = 0.25;
/// Multiply-adds under way that fill both units of a core for their latency of 4 cycles.
static constexpr double underWay = 8;

/// The multiply-adds of a register block, as a multiple of what they take when nothing holds them up. Two loads and two
/// multiply-adds per cycle: a step of the block loads its vectors and its scalars.
static double blockCost(const Schedule &schedule) {
  if (schedule.products == Products::Tiles) // Loads of tiles and their products overlap.
    return 1;
  double block = double(schedule.rows * schedule.vectors);
  return std::max({1.0, double(schedule.rows + schedule.vectors) / block, underWay / block});
}

/// Bytes that L2 should hold: of a contract two panels, one that is packed and one that is read.
static int64_t keptBytes(const Schedule &schedule, const StageFacts &facts) {
  return facts.kind == StageShape::Flash ? flashTileBytes(schedule, facts) : 2 * contractPanelBytes(schedule);
}

double attn::predictedCost(const Schedule &schedule, const StageFacts &facts, const Target &target) {
  if (facts.kind == StageShape::Nest)
    return 1;
  double cost = blockCost(schedule);
  bool isFlash = facts.kind == StageShape::Flash;
  // Keys and values are packed once for each query tile, a contract's panel once for the rows of a task.
  cost += packing / double(isFlash ? schedule.queryTile : schedule.keyTile);
  cost += passing / double(isFlash ? schedule.keyTile : schedule.depthTile);
  return keptBytes(schedule, facts) > target.l2Bytes ? cost + beyondL2 : cost;
}

std::vector<std::string> attn::explain(const Schedule &schedule, const StageFacts &facts, const Target &target) {
  std::vector<std::string> lines;
  auto say = [&](const char *format, auto... values) { lines.push_back(llvm::formatv(format, values...).str()); };
  if (target.isCuda()) { // Tiles follow from widths and registers; see docs/cuda.md.
    if (facts.kind == StageShape::Flash && schedule.decodeQueries)
      say("decode_queries {0}, decode_chunk {1}: up to so many queries, keys are split into chunks of at least so many",
          schedule.decodeQueries, schedule.decodeChunk);
    return lines;
  }
  if (target.hasDevice() && facts.kind == StageShape::Flash) {
    say("query_tile {0}: threads of a block, each of which has a query", schedule.queryTile);
    say("key_tile {0}: keys whose scores a thread keeps; rows {1}: keys that it scores, elements of a width that it mixes, at a time",
        schedule.keyTile, schedule.rows);
    return lines;
  }
  say("lanes {0}: of the {1} f32 in a vector of {2}", schedule.lanes, target.lanes, target.name);
  if (facts.kind == StageShape::Nest)
    return lines;
  bool isFlash = facts.kind == StageShape::Flash;
  int64_t block = schedule.rows * schedule.vectors;
  bool isTiles = schedule.products == Products::Tiles;
  if (isTiles)
    say("products tiles: blocks of {0} keys by {0} queries in tile registers; rows and vectors are for the decode form",
        tilesBlock);
  say("rows {0}, vectors {1}: {2} accumulators, with their operands {3} of {4} registers; {5} loads for {2} multiply-adds",
      schedule.rows, schedule.vectors, block, block + schedule.vectors + 1, target.vectorRegisters,
      schedule.rows + schedule.vectors);
  if (isFlash) {
    say("query_tile {0}: so often is a packed key or value used, or less often where tasks are few", schedule.queryTile);
    say("key_tile {0}: scores of a register block take {1} KiB of the {2} KiB of L1; so many keys between two visits of the sums",
        schedule.keyTile, (queryBlock(schedule) * schedule.keyTile * 4 + 1023) >> 10, target.l1Bytes >> 10);
  } else {
    say("key_tile {0}: so many rows at least use a packed panel", schedule.keyTile);
    say("depth_tile {0}: so many products between two visits of the sums", schedule.depthTile);
  }
  say("what is used again and again takes {0} KiB; L2 has {1} KiB", (keptBytes(schedule, facts) + 1023) >> 10,
      target.l2Bytes >> 10);
  if (isFlash && schedule.decodeQueries)
    say("decode_queries {0}, decode_chunk {1}: up to so many queries, tasks of so many keys", schedule.decodeQueries,
        schedule.decodeChunk);
  if (schedule.route == Route::Halide)
    say("route halide: given; what is predicted is meant for both routes");
  else
    say("route mlir: vector code; which one is faster, only `attnc tune` can tell");
  say("predicted: {0:f2} times as long as the multiply-adds alone", predictedCost(schedule, facts, target));
  return lines;
}
