//===- FlashDevice.cpp - a flash stage as kernels ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "compiler/Remarks.h"
#include "compiler/cuda/AttentionStage.h"
#include "compiler/cuda/FlashKernel.h"

using namespace mlir;
using namespace attn;

namespace {
class FlashDevice : public AttentionStage {
public:
  using AttentionStage::AttentionStage;

  /// Why no tiles can do the stage; empty: they can.
  std::string find(const Signature &signature) {
    FailureOr<FlashAxes> sorted = FlashAxes::of(flash, signature);
    isSound = succeeded(sorted);
    if (!isSound)
      return "";
    std::string why = operands.add(flash, *sorted, signature);
    if (!why.empty())
      return why;
    std::optional<FlashTiling> found = FlashTiling::of(operands, ranges(), registersOf(flash, *sorted));
    if (!found)
      return "its widths leave no room for tiles";
    tiling = *found;
    return "";
  }

  /// What a stage by tiles leaves to be wished.
  void remark() {
    if (operands.hasExactScores())
      remarkMissed(stage.getLoc(), "scores are not computed on tensor cores", operands.whyExactScores);
    if (operands.hasExactMix())
      remarkMissed(stage.getLoc(), "values are not mixed on tensor cores", operands.whyExactMix);
    if (tiling.isReduced)
      remarkMissed(stage.getLoc(), "tiles have " + Twine(tiling.keyTile) + " keys" + (tiling.keepsQuery ? "" : ", and queries stay in shared memory"),
                   "what is read for each score, random numbers and numbers of f64 take registers", "read less in score and mask");
    if (isSound && tiling.rows() < FlashTiling::mostRows)
      remarkMissed(stage.getLoc(),
                   "a block has " + Twine(tiling.rows()) + " of " + Twine(FlashTiling::mostRows) + " rows, so that keys and values are read " +
                       Twine(FlashTiling::mostRows / tiling.rows()) + " times as often",
                   "wide heads leave no room for more in the " + Twine(FlashTiling::mostShared >> 10) +
                       " KiB of shared memory that every device has");
  }

  /// What is wrong has been said.
  LogicalResult prepare(const FrameLayout &layout) override {
    return isSound ? AttentionStage::prepare(layout) : failure();
  }

private:
  unsigned ranges() const { return std::max(1u, FlashOp(flash).getNumRanges()); }
  KernelShape walkShape() const override {
    return {tiling.threads(), /*threadsPerTask=*/tiling.threads(), FlashShared(operands, tiling, ranges()).size};
  }
  Value walkCount(FunctionScope &f) override { return FlashKernel::blockCount(f, axes, tiling); }
  LogicalResult emitWalk(FunctionScope &f, Value task, const KeyChunk *chunk, QueryTask::Filter takes) override {
    return FlashKernel(f, stage, flash, axes, operands, tiling, chunk).emit(task, takes);
  }

  FlashOperands operands;
  FlashTiling tiling;
  bool isSound = false;
};
} // namespace

std::unique_ptr<DeviceStage> attn::makeFlashStage(StageOp stage) {
  auto lowering = std::make_unique<FlashDevice>(stage);
  std::string why = lowering->find(Signature(Signature::around(stage)));
  if (why.empty()) {
    lowering->remark();
    return lowering;
  }
  remarkMissed(stage.getLoc(), "attention is computed by a warp for each query, without tensor cores", why);
  return nullptr;
}
