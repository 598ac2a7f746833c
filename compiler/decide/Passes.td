// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The only pass that chooses.

#ifndef ATTN_DECIDE_PASSES
#define ATTN_DECIDE_PASSES

include "mlir/Pass/PassBase.td"

def Decide : Pass<"attn-decide", "::mlir::ModuleOp"> {
  let summary = "attn.program to attn.kernel: buffers, stages, schedules";
  let description = [{
    Each value that is worth computing once gets a place: a buffer, or a result that it is written to anyway. What is
    pointwise is computed where it is read, in front of the next stage or behind the one before. Each stage gets the
    schedule that was given for it, when that can work, or the cost model's.

    A value that may be absent is never stored so: the condition is asked again where it is read. A tensor that is
    written is read as it stood before: what is still needed of it is copied first.
  }];
  let options = [
    Option<"target", "target", "std::string", /*default=*/"\"host\"", "the processor, by name">,
    Option<"schedule", "schedule", "std::string", /*default=*/"\"\"", "schedules in YAML; empty: the compiler chooses">
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

#endif // ATTN_DECIDE_PASSES
