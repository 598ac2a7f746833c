// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ATTN_ROUTE_PASSES
#define ATTN_ROUTE_PASSES

include "mlir/Pass/PassBase.td"

def ChooseRoute : Pass<"attn-choose-route", "::mlir::ModuleOp"> {
  let summary = "give stages that Halide generates their plans";
  let description = [{
    The module says which route it wants by `attn.route`. `mlir` leaves every stage to vector code; `halide` gives each flash and contract
    stage its plans (schedules/KernelPlan.h) as the attribute `plans`, and refuses those that Halide's algebra cannot say; `auto`, which is meant where
    nothing is said, takes the one that the stage's schedule names, as one that was tuned does, and `mlir` where it names none. What is computed
    point by point is vector code on every route. A target with a device that Halide has code for takes Halide's for all attentions.
  }];
  let options = [Option<"target", "target", "std::string", "\"host\"", "the machine, by name (schedules/Target.h)">];
}

#endif // ATTN_ROUTE_PASSES
