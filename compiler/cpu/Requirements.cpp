//===- Requirements.cpp - conditions on a call ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Evaluated once per call, before anything is written: plain loops, one element at a time.
//===----------------------------------------------------------------------===//
#include "compiler/cpu/Requirements.h"

using namespace mlir;
using namespace attn;

/// Whether the condition holds at every point. What is absent does not hold.
static Value holdsEverywhere(FunctionScope &f, Expressions &expressions, Value condition) {
  Value yes = arith::ConstantOp::create(f.builder(), f.loc(), f.builder().getBoolAttr(true));
  return expressions.loops(valueType(condition).getAxes(), {yes}, [&](ValueRange carried) -> FunctionScope::Values {
    Datum datum = expressions.evaluate(condition);
    return {expressions.both(carried[0], expressions.both(datum.value, datum.present))};
  })[0];
}

FailureOr<Value> attn::emitRequirements(FunctionScope &f, ArrayRef<RequireOp> requirements) {
  OpBuilder &b = f.builder();
  Expressions expressions(f, /*lanes=*/1);
  auto number = [&](int32_t value) -> Value {
    return arith::ConstantOp::create(b, f.loc(), b.getI32IntegerAttr(value));
  };
  Value failing = number(0);
  for (size_t i = requirements.size(); i-- > 0;) {
    RequireOp requirement = requirements[i];
    f.setLoc(requirement.getLoc());
    Value holds = holdsEverywhere(f, expressions, requirement.getCondition());
    failing = arith::SelectOp::create(b, f.loc(), holds, failing, number(i + 1));
  }
  if (expressions.failed())
    return failure();
  return failing;
}
