//===- ChooseRoute.cpp - which route a stage takes ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/halide/Passes.h"
#include "compiler/halide/Plan.h"
#include "schedules/KernelPlanText.h"
#include "schedules/halide/CompileStage.h"

namespace attn {
#define GEN_PASS_DEF_CHOOSEROUTE
#include "compiler/halide/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

namespace {
struct ChooseRoute : attn::impl::ChooseRouteBase<ChooseRoute> {
  void runOnOperation() override {
    auto wanted = getOperation()->getAttrOfType<StringAttr>("attn.route");
    if (!wanted || wanted == "mlir" || wanted == "auto")
      return;
    if (wanted != "halide") {
      getOperation().emitError("'") << wanted.getValue() << "' is not a route: mlir, halide or auto";
      return signalPassFailure();
    }
    if (!hasHalide()) {
      getOperation().emitError("this attnc was built without Halide: there is no route halide");
      return signalPassFailure();
    }
    for (KernelOp kernel : getOperation().getOps<KernelOp>())
      for (auto [i, stage] : llvm::enumerate(kernel.getBody().getOps<StageOp>()))
        if (stage.getKind() == StageKind::Flash && failed(givePlan(kernel, stage, i)))
          return signalPassFailure();
  }

  LogicalResult givePlan(KernelOp kernel, StageOp stage, size_t number) {
    auto plans = makePlans(stage, (kernel.getSymName() + ".stage" + Twine(number) + ".halide").str());
    if (!plans)
      return stage.emitError("the Halide route cannot say this: ")
             << llvm::toString(plans.takeError()) << "; --route=mlir can";
    SmallVector<std::string> texts = llvm::map_to_vector(*plans, printPlan);
    SmallVector<StringRef> views(texts.begin(), texts.end());
    stage->setAttr("plans", Builder(&getContext()).getStrArrayAttr(views));
    return success();
  }
};
} // namespace
