//===- Flash.h - a tile of queries as Halide Funcs --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The algorithm of one task of a flash stage in the prefill form, and its schedules.
//===----------------------------------------------------------------------===//
#ifndef ATTN_SCHEDULES_HALIDE_FLASH_H
#define ATTN_SCHEDULES_HALIDE_FLASH_H

#include "schedules/halide/FlashParts.h"

namespace attn {

/// For each block j of `keyTile` keys: scores, their maximum, weights against it, their sum and the mix. Blocks are
/// merged by a tuple reduction.
class FlashPipeline : public BlockParts {
public:
  explicit FlashPipeline(const StagePlan &plan);

  void schedule() override;
  /// The part's own: the first block and the number of blocks.
  std::vector<Halide::Argument> arguments() const override;
  Expr largestExtent(size_t output, int dimension) const override;
  std::map<std::string, Expr> largestParams() const override;
  Halide::Param<int32_t> &firstBlockParam() { return firstBlock; }
  Halide::Param<int32_t> &blocksParam() { return blocks; }

private:
  // Flash.cpp: what is computed.
  void defineSeen();
  void defineScores();
  void defineMix();
  Expr keyAt(const Expr &block, const Expr &number) const;
  int queriesAtOnce() const { return lanes * int(plan.vectors); }

  // FlashSchedule.cpp: how.
  void schedulePanels();
  void scheduleScores();
  void scheduleMix();
  void scheduleOutput(Func &output);

  Halide::Param<int32_t> firstBlock{"first_block"}, blocks{"blocks"};
  Halide::Var tile{"tile"};
  Halide::RDom keysOfBlock, blocksSeen, keysOfBadBlock;
  int lanes, rows, keyTile;
  /// The keys [first, end) that any query of a register block sees.
  Func firstKey{"first_key"}, endKey{"end_key"};
  /// Per term.
  std::vector<Func> queries, keys, dots;
  std::vector<Halide::RDom> over;
  /// Per mix: values with 0 for what is not finite, and where that is.
  std::vector<Func> values, badColumns;
  Func bad{"bad"};
};

} // namespace attn

#endif // ATTN_SCHEDULES_HALIDE_FLASH_H
