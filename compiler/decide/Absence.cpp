//===- Absence.cpp - absence that storage does not keep ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "compiler/decide/Absence.h"
#include "compiler/optimize/Expressions.h"
#include "compiler/optimize/Substitute.h"
#include <limits>

using namespace mlir;
using namespace attn;

static Value isNotMinusInfinity(OpBuilder &builder, Location loc, Value score) {
  return mapOf(builder, loc, score, [](OpBuilder &b, Location loc, ValueRange scalars) -> Value {
    double inf = std::numeric_limits<double>::infinity();
    Value low = arith::ConstantOp::create(b, loc, b.getFloatAttr(scalars[0].getType(), -inf));
    // Unordered: a NaN is present.
    return arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNE, scalars[0], low);
  });
}

static void readUnder(OpBuilder &builder, Value value, Value condition) {
  Value guarded = whereOf(builder, value.getLoc(), value, condition);
  value.replaceUsesWithIf(guarded, [&](OpOperand &use) { return use.getOwner() != guarded.getDefiningOp(); });
}

void attn::makeAbsenceExplicit(ProgramOp program) {
  for (Operation &op : llvm::make_early_inc_range(program.getBody().front())) {
    OpBuilder builder(&op);
    if (auto rope = dyn_cast<RopeOp>(op); rope && mayBeAbsent(rope.getValue())) {
      Presence split = splitPresence(builder, rope.getValue());
      rope.getValueMutable().assign(split.value);
      builder.setInsertionPointAfter(rope);
      readUnder(builder, rope, split.condition);
    } else if (auto softmax = dyn_cast<SoftmaxOp>(op)) {
      // A result stores 0 for what is absent, and so does the softmax.
      if (llvm::all_of(softmax->getUsers(), [](Operation *user) { return isa<WriteOp>(user); }))
        continue;
      Presence split = splitPresence(builder, softmax.getValue());
      Value counts = isNotMinusInfinity(builder, softmax.getLoc(), split.value);
      Value condition = andOf(builder, softmax.getLoc(), split.condition, counts);
      builder.setInsertionPointAfter(softmax);
      readUnder(builder, softmax, condition);
    }
  }
  // Parts that were taken of them are taken of the weights and of the condition now.
  sinkRenames(program);
}
