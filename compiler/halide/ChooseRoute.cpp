//===- ChooseRoute.cpp - which route a stage takes ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/halide/Passes.h"
#include "compiler/halide/Plan.h"
#include "compiler/halide/ProductPlan.h"
#include "schedules/KernelPlanText.h"
#include "schedules/Target.h"
#include "schedules/halide/CompileStage.h"

namespace attn {
#define GEN_PASS_DEF_CHOOSEROUTE
#include "compiler/halide/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

static constexpr StringLiteral absent = "this attnc was built without Halide: there is no route halide";

namespace {
struct ChooseRoute : attn::impl::ChooseRouteBase<ChooseRoute> {
  using ChooseRouteBase::ChooseRouteBase;

  void runOnOperation() override {
    auto wanted = getOperation()->getAttrOfType<StringAttr>("attn.route");
    route = wanted ? wanted.getValue() : "auto";
    if (route != "mlir" && route != "auto" && route != "halide") {
      getOperation().emitError("'") << route << "' is not a route: mlir, halide or auto";
      return signalPassFailure();
    }
    llvm::Expected<Target> machine = findTarget(target);
    if (!machine)
      return fail(llvm::toString(machine.takeError()));
    onDevice = machine->hasDevice();
    if ((route == "halide" || onDevice) && !hasHalide())
      return fail(absent);
    if (route == "halide" && machine->isCuda())
      return fail("--target=" + target + " has no route halide: --target=cuda is CUDA through Halide");
    if (route == "mlir" && onDevice)
      return fail("--target=" + target + " has no route mlir: its attentions are Halide's");
    for (KernelOp kernel : getOperation().getOps<KernelOp>())
      for (auto [i, stage] : llvm::enumerate(kernel.getBody().getOps<StageOp>()))
        if (takesHalide(stage) && failed(givePlan(kernel, stage, i)))
          return signalPassFailure();
  }

  /// Where the module leaves the choice open, the stage's schedule makes it.
  bool takesHalide(StageOp stage) const {
    if (onDevice)
      return stage.getKind() == StageKind::Flash;
    StringAttr own = stage.getSchedule().getRoute();
    bool isWanted = route == "auto" ? own && own == "halide" : route == "halide";
    return isWanted && (stage.getKind() == StageKind::Flash || (stage.getKind() == StageKind::Contract && isProduct(stage)));
  }

  void fail(const Twine &why) {
    getOperation().emitError(why);
    signalPassFailure();
  }

  LogicalResult givePlan(KernelOp kernel, StageOp stage, size_t number) {
    if (!hasHalide())
      return stage.emitError(absent);
    auto plans = makePlans(stage, (kernel.getSymName() + ".stage" + Twine(number) + ".halide").str(), onDevice);
    if (!plans)
      return stage.emitError("the Halide route cannot say this: ")
             << llvm::toString(plans.takeError())
             << (onDevice ? "; processors (--target=host) can" : "; --route=mlir can");
    SmallVector<std::string> texts = llvm::map_to_vector(*plans, printPlan);
    SmallVector<StringRef> views(texts.begin(), texts.end());
    stage->setAttr("plans", Builder(&getContext()).getStrArrayAttr(views));
    return success();
  }

  StringRef route;
  bool onDevice = false;
};
} // namespace
