//===- Decide.cpp - attn-decide ---------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "compiler/decide/Absence.h"
#include "compiler/decide/Decider.h"
#include "compiler/decide/Passes.h"

#define DEBUG_TYPE "attn-decide"

namespace attn {
#define GEN_PASS_DEF_DECIDE
#include "compiler/decide/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

namespace {
struct Decide : attn::impl::DecideBase<Decide> {
  using DecideBase::DecideBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    llvm::Expected<Target> found = findTarget(target);
    if (!found)
      return fail(found.takeError());
    llvm::Expected<std::vector<StageSchedule>> given = parseSchedules(schedule);
    if (!given)
      return fail(given.takeError());
    // What comes next on these reads keys as they are.
    auto route = module->getAttrOfType<StringAttr>("attn.route");
    bool wantsHalide = route && route.getValue() == routeName(Route::Halide);
    bool turnsKeys = !found->isCuda() && !found->hasDevice() && !wantsHalide;
    bool isDevice = found->isCuda();
    ScheduleChooser chooser(std::move(*found), std::move(*given), wantsHalide ? Route::Halide : Route::Unsaid);
    for (ProgramOp program : llvm::to_vector(module.getOps<ProgramOp>())) {
      makeAbsenceExplicit(program);
      FailureOr<KernelOp> kernel = Decider(program, chooser, turnsKeys, isDevice).run();
      if (failed(kernel))
        return signalPassFailure();
      program.erase();
    }
    if (failed(chooser.checkAllUsed(module)))
      signalPassFailure();
  }

  void fail(llvm::Error error) {
    emitError(getOperation().getLoc(), llvm::toString(std::move(error)));
    signalPassFailure();
  }
};
} // namespace
