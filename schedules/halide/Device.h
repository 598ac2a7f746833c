//===- Device.h - a flash stage on a device, as Halide Funcs ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A whole stage for a device that Halide has code for. The algorithm is that of a tile (Flash.h), a query to a thread.
//===----------------------------------------------------------------------===//
#ifndef ATTN_SCHEDULES_HALIDE_DEVICE_H
#define ATTN_SCHEDULES_HALIDE_DEVICE_H

#include "schedules/halide/FlashParts.h"

namespace attn {

/// All queries of a stage, of all batch entries, are `x`: row-major, the last axis fastest. Tensors are copied to the
/// device as compact ones, whatever strides the caller's have, and so are the results on their way back.
class DevicePipeline : public BlockParts {
public:
  explicit DevicePipeline(const StagePlan &plan);

  void schedule() override;
  std::vector<Halide::Argument> arguments() const override { return inputArguments(); }
  Expr largestExtent(size_t output, int dimension) const override { return resultExtent(output, dimension); }
  std::map<std::string, Expr> largestParams() const override { return {}; }

private:
  void defineScores();
  void defineMix();
  void defineCopies();
  /// Of the blocks of keys that a query sees by its ranges: the first, and how many there are until the last (may be
  /// negative). Blocks are counted from the first.
  Expr firstBlock(const Expr &query) const;
  Expr blocksSeen(const Expr &query) const;
  Expr keyNumber(const Expr &query, const Expr &block, const Expr &number) const;
  /// Behind the last key, that key.
  Expr keyAt(const Expr &query, const Expr &block, const Expr &number) const;
  Expr blockCount() const { return (keyCount() + keyTile - 1) / keyTile; }
  /// Of a tensor's dimension, which is a factor of the stored one.
  Expr tensorExtent(const PlanTensor &tensor, int dimension) const;
  Expr groups() const { return max((width() + groupRows - 1) / groupRows, 1); }

  void scheduleCopies();
  void scheduleState();

  Halide::Var block{"block"}, thread{"thread"};
  int threads, keyTile;
  Halide::RDom keysOfBlock, blocks;
  /// Per term.
  std::vector<Func> queries, dots;
  std::vector<Halide::RDom> over;
  /// Per result, in the device's memory.
  std::vector<Func> made;
};

} // namespace attn

#endif // ATTN_SCHEDULES_HALIDE_DEVICE_H
