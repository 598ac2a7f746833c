//===- Flash.h - a flash stage as Halide Funcs ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The algorithm of one task of a flash stage, and its schedules. Scores are kept in base 2.
//===----------------------------------------------------------------------===//
#ifndef ATTN_SCHEDULES_HALIDE_FLASH_H
#define ATTN_SCHEDULES_HALIDE_FLASH_H

#include "schedules/halide/Points.h"

namespace attn {

/// For each block j of `keyTile` keys: scores, their maximum, weights against it, their sum and the mix. Blocks are
/// merged by a tuple reduction (Milakov and Gimelshein, Online normalizer calculation for softmax, 2018):
///   (m, l, o) + (m', l', o') = (M, l 2^(m - M) + l' 2^(m' - M), o 2^(m - M) + o' 2^(m' - M)),  M = max(m, m')
/// The width is cut into groups of `rows` elements, each a tuple with a maximum and a sum of its own, so that the
/// accumulators of a group stay in registers.
class FlashPipeline {
public:
  explicit FlashPipeline(const StagePlan &plan);

  void scheduleForCpu();
  /// One query is a thread's; works for every device that Halide has code for.
  void scheduleForDevice();
  Halide::Pipeline pipeline() const { return Halide::Pipeline(outputs); }
  /// The arguments in order: tensors that are read, scalars, the first block and the number of blocks.
  std::vector<Halide::Argument> arguments() const;
  /// The same to be given values, by programs that run the pipeline in their own process.
  StageInputs &stageInputs() { return inputs; }
  Halide::Param<int32_t> &firstBlockParam() { return firstBlock; }
  Halide::Param<int32_t> &blocksParam() { return blocks; }

private:
  using Expr = Halide::Expr;
  using Func = Halide::Func;

  // Flash.cpp: what is computed.
  void defineScores();
  void defineWeights();
  void defineMix();
  void defineState();
  void defineStore(const PlanStore &store);
  Expr mixOf(const Expr &block, int part);
  Expr initialMaximum();
  Expr isSeen(const Expr &query, const Expr &key);
  Expr rawValue(size_t mix, const Expr &element, const Expr &key);
  Expr keyAt(const Expr &block, const Expr &number) const;
  Points pointsAt(const Expr &query, const Expr &key);
  Expr withinQueries(const Expr &query) const;
  Expr width() const { return plan.mixes.empty() ? Expr(1) : inputs.extent(plan.mixes[0].extent); }
  Expr keyCount() const { return inputs.extent(plan.keyExtent); }
  int parts() const { return groupRows * int(plan.mixes.size()); }

  // FlashSchedule.cpp: how.
  Expr liesSideBySide(int64_t node, const std::string &axis) const;
  void schedulePanels();
  void scheduleScores();
  void scheduleMix();
  void scheduleOutput(Func &output);

  const StagePlan &plan;
  StageInputs inputs;
  Halide::Param<int32_t> firstBlock{"first_block"}, blocks{"blocks"};
  Halide::Var x{"x"}, e{"e"}, k{"k"}, j{"j"}, group{"group"}, tile{"tile"};
  Halide::RDom keysOfBlock, blocksSeen, keysOfBadBlock;
  int lanes, rows, groupRows, keyTile;
  /// Per term.
  std::vector<Func> queries, keys, dots;
  std::vector<Halide::RDom> over;
  Func scores{"scores"}, maximum{"maximum"}, weights{"weights"}, sum{"sum"};
  /// Per mix: values with 0 for what is not finite, and where that is.
  std::vector<Func> values, badColumns;
  Func bad{"bad"}, mixed{"mixed"}, state{"state"};
  std::vector<Func> outputs;
};

} // namespace attn

#endif // ATTN_SCHEDULES_HALIDE_FLASH_H
