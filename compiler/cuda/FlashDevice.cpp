//===- FlashDevice.cpp - a flash stage as kernels ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "compiler/Remarks.h"
#include "compiler/cuda/DeviceStage.h"
#include "compiler/cuda/FlashKernel.h"

using namespace mlir;
using namespace attn;

namespace {
class FlashDevice : public DeviceStage {
public:
  using DeviceStage::DeviceStage;

  /// Why tensor cores cannot do the stage; empty: they can.
  std::string find(const Signature &signature) {
    flash = *stage.getBody().getOps<FlashOp>().begin();
    FailureOr<FlashAxes> sorted = FlashAxes::of(flash, signature);
    isSound = succeeded(sorted);
    if (!isSound)
      return "";
    axes = *sorted;
    std::string why = operands.add(flash, axes, signature);
    tiling = FlashTiling::of(operands);
    return why;
  }

  /// What is wrong has been said.
  LogicalResult prepare(const FrameLayout &layout) override { return success(isSound); }

  KernelShape shape(unsigned kernel) const override {
    unsigned ranges = std::max(1u, FlashOp(flash).getNumRanges());
    return {tiling.threads(), /*threadsPerTask=*/tiling.threads(), FlashShared(operands, tiling, ranges).size};
  }

  Value emitTaskCount(FunctionScope &f, unsigned kernel) override { return FlashKernel::blockCount(f, axes, tiling); }
  LogicalResult emitTask(FunctionScope &f, unsigned kernel, Value task) override {
    return FlashKernel(f, stage, flash, axes, operands, tiling).emit(task);
  }

private:
  FlashOp flash;
  FlashAxes axes;
  FlashOperands operands;
  FlashTiling tiling;
  bool isSound = false;
};
} // namespace

std::unique_ptr<DeviceStage> attn::makeFlashStage(StageOp stage) {
  auto lowering = std::make_unique<FlashDevice>(stage);
  std::string why = lowering->find(Signature(Signature::around(stage)));
  if (why.empty())
    return lowering;
  remarkMissed(stage.getLoc(), "attention does not use tensor cores", why);
  return nullptr;
}
