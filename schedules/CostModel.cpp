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
static constexpr int64_t wantedDepth = 256;

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

Schedule attn::chooseSchedule(const StageFacts &facts, const Target &target) {
  Schedule schedule;
  chooseRegisterBlock(schedule, target);
  int64_t width = schedule.lanes * schedule.vectors;
  schedule.queryTile = multipleUpTo(wantedQueries, width);
  schedule.keyTile = multipleUpTo(wantedKeys, schedule.rows);
  schedule.depthTile = wantedDepth;
  int64_t room = target.l1Bytes + target.l2Bytes;
  if (facts.kind == StageShape::Flash) {
    while (flashTileBytes(schedule, facts) > room && schedule.queryTile > width)
      schedule.queryTile -= width;
    while (flashTileBytes(schedule, facts) > room && schedule.keyTile > schedule.rows)
      schedule.keyTile -= schedule.rows;
  } else if (facts.kind == StageShape::Contract) {
    // Half of the caches for the panel, the rest for what streams past it.
    while (contractPanelBytes(schedule) > room / 2 && schedule.queryTile > width)
      schedule.queryTile -= width;
    if (facts.keyWidth && *facts.keyWidth > 0)
      schedule.depthTile = std::min(schedule.depthTile, *facts.keyWidth);
  }
  return schedule;
}
