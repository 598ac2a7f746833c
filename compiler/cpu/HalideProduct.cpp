//===- HalideProduct.cpp - a product whose tasks Halide generates ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls the function that a product's plan becomes. Tasks are those of the vector code (ContractStage.h).
//===----------------------------------------------------------------------===//
#include "compiler/cpu/ContractStage.h"
#include "compiler/cpu/HalideStage.h"
#include "compiler/cpu/HalideTask.h"

using namespace mlir;
using namespace attn;

namespace {
class HalideProductLowering : public StageLowering {
public:
  using StageLowering::StageLowering;

  LogicalResult prepare(const FrameLayout &layout) override {
    FailureOr<std::vector<StagePlan>> plans = plansOf(stage);
    std::string why;
    std::optional<ContractPlan> found = ContractPlan::of(stage, layout, why);
    if (failed(plans) || !found)
      return failure();
    plan = std::move(plans->front());
    cut = std::move(*found);
    return success();
  }

  Value emitTaskCount(FunctionScope &f) override { return cut.taskCount(f); }
  Value emitScratchBytes(FunctionScope &f) override { return scratchOf(f, {}, plan); }

  LogicalResult emitTask(FunctionScope &f, Value task) override {
    HalideTask builder(f, {}, plan);
    ContractPlan::Part part = cut.partOf(f, task);
    for (auto [axis, index] : llvm::zip(cut.product.batch, part.batch))
      builder.bind(axis, index);
    Value slots = f.mul(cut.groupPanels(f), f.i64(cut.vectors)), firstSlot = f.mul(part.group, slots);
    FunctionScope::Values arguments{builder.arena()};
    llvm::append_range(arguments, builder.inputs());
    for (Value number : {part.firstRow, f.sub(part.endRow, part.firstRow), firstSlot,
                         f.min(slots, f.sub(cut.slotCount(f), firstSlot))})
      arguments.push_back(builder.narrow(number));
    arguments.push_back(f.less(f.i64(plan.lanes - 1), f.extent(cut.product.lane)));
    for (const PlanStore &store : plan.stores)
      arguments.push_back(builder.result(store));
    callHalide(f, plan.symbol, arguments, &plan);
    return success();
  }

private:
  StagePlan plan;
  ContractPlan cut;
};
} // namespace

std::unique_ptr<StageLowering> attn::makeHalideProductLowering(StageOp stage) {
  return std::make_unique<HalideProductLowering>(stage);
}
