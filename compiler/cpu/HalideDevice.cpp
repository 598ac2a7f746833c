//===- HalideDevice.cpp - a stage that Halide runs on a device --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "compiler/cpu/HalideDevice.h"

#include "compiler/cpu/HalideTask.h"

using namespace mlir;
using namespace attn;

std::optional<HalideDevice> HalideDevice::of(StageOp stage) {
  if (!stage->hasAttr("plans"))
    return std::nullopt;
  FailureOr<std::vector<StagePlan>> plans = plansOf(stage);
  if (mlir::failed(plans) || plans->front().part != PlanPart::Device)
    return std::nullopt;
  return HalideDevice(*stage.getBody().getOps<FlashOp>().begin(), std::move(plans->front()));
}

/// What Halide's runtime says on the way while something fails.
static constexpr int64_t messageBytes = 64 << 10;

Value HalideDevice::emitScratchBytes(FunctionScope &f) const {
  return f.add(scratchOf(f, flash, plan), f.i64(messageBytes));
}

Value HalideDevice::emitCall(FunctionScope &f) const {
  OpBuilder &b = f.builder();
  Value none = arith::ConstantOp::create(b, f.loc(), b.getI32IntegerAttr(0));
  auto call = [&] {
    HalideTask task(f, flash, plan);
    FunctionScope::Values arguments{task.arena()};
    llvm::append_range(arguments, task.inputs());
    for (const PlanStore &store : plan.stores)
      arguments.push_back(task.result(store, {f.i64(0), queryCount(f, plan)}));
    Value code = callHalide(f, plan.symbol, arguments, &plan);
    return FunctionScope::Values{callHalide(f, "attn_device_status", code, nullptr)};
  };
  Value hasQueries = f.less(f.i64(0), queryCount(f, plan));
  return f.choose(hasQueries, b.getI32Type(), call, [&] { return FunctionScope::Values{none}; }).front();
}
