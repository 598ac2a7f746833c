//===- CostModel.cpp - schedules without being asked ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "schedules/CostModel.h"
#include <algorithm>

using namespace attn;

/// Queries in a tile where caches allow it: each key tile is packed and read once per query tile.
static constexpr int64_t wantedQueries = 192;
/// Keys in a tile: their scores for one register block, 60 x 16 x 4 bytes, leave most of L1 to the operands.
static constexpr int64_t wantedKeys = 64;
static constexpr int64_t unusedDepth = 256;
/// Keys in a task of the decode form: enough to pay for its start and for the merge, few enough to share out one sequence.
static constexpr int64_t wantedChunk = 256;
/// Rows that a packed panel of a contract serves at least: packing it costs as much as eight of them.
static constexpr int64_t wantedRows = 192;
/// Contracted elements in a panel: it is read from L2 at a third of what L2 gives, and sums are put away rarely.
static constexpr int64_t wantedDepth = 512;

/// The largest multiple of `step` up to `wanted`, at least one step.
static int64_t multipleUpTo(int64_t wanted, int64_t step) { return std::max(wanted / step, int64_t(1)) * step; }

/// 6 x 2 and 8 x 3 accumulators are what 16 and 32 registers hold beside their operands: enough independent
/// multiply-adds to fill both units for their whole latency.
static void chooseRegisterBlock(Schedule &schedule, const Target &target) {
  bool many = target.vectorRegisters >= 32;
  schedule.lanes = target.lanes;
  schedule.vectors = many ? 3 : 2;
  schedule.rows = many ? 8 : 6;
}

static void chooseFlashTiles(Schedule &schedule, const StageFacts &facts, int64_t room) {
  schedule.decodeQueries = schedule.lanes * schedule.vectors / 2;
  schedule.decodeChunk = wantedChunk;
  int64_t width = schedule.lanes * schedule.vectors;
  while (flashTileBytes(schedule, facts) > room && schedule.queryTile > width)
    schedule.queryTile -= width;
  while (flashTileBytes(schedule, facts) > room && schedule.keyTile > schedule.rows)
    schedule.keyTile -= schedule.rows;
}

/// 6 x 4 reads 10 vectors and scalars for 24 multiply-adds, 8 x 3 reads 11.
static void chooseContractTiles(Schedule &schedule, const StageFacts &facts, const Target &target) {
  if (target.vectorRegisters >= 32) {
    schedule.vectors = 4;
    schedule.rows = 6;
  }
  schedule.queryTile = schedule.lanes * schedule.vectors;
  schedule.keyTile = multipleUpTo(wantedRows, schedule.rows);
  schedule.depthTile = wantedDepth;
  // Half of L2 for the panel, the rest for what streams past it.
  while (contractPanelBytes(schedule) > target.l2Bytes / 2 && schedule.depthTile > 64)
    schedule.depthTile /= 2;
  if (facts.keyWidth && *facts.keyWidth > 0)
    schedule.depthTile = std::min(schedule.depthTile, *facts.keyWidth);
}

Schedule attn::chooseSchedule(const StageFacts &facts, const Target &target) {
  Schedule schedule;
  chooseRegisterBlock(schedule, target);
  schedule.queryTile = multipleUpTo(wantedQueries, schedule.lanes * schedule.vectors);
  schedule.keyTile = multipleUpTo(wantedKeys, schedule.rows);
  schedule.depthTile = unusedDepth;
  if (facts.kind == StageShape::Flash)
    chooseFlashTiles(schedule, facts, target.l1Bytes + target.l2Bytes);
  else if (facts.kind == StageShape::Contract)
    chooseContractTiles(schedule, facts, target);
  return schedule;
}
