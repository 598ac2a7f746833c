//===- Capacity.cpp - writes stay inside ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "compiler/decide/Capacity.h"
#include "compiler/optimize/Expressions.h"

using namespace mlir;
using namespace attn;

/// Whether an index cannot leave the dimension that it stands for.
static bool alwaysFits(Value index, ExtentAttr extent, const llvm::StringMap<int64_t> &known) {
  auto op = index.getDefiningOp<IndexOp>();
  if (!op)
    return false;
  if (extent.getName() == op.getAxisAttr())
    return true;
  auto found = known.find(op.getAxis());
  return extent.getConstant() && found != known.end() && found->second <= *extent.getConstant();
}

/// An extent that is one axis or a number; null for others. How far a ragged axis reaches depends on the place.
static Value extentValue(OpBuilder &builder, Location loc, ExtentAttr extent, const Signature &signature) {
  if (std::optional<int64_t> number = extent.getConstant())
    return constantOf(builder, loc, builder.getI64IntegerAttr(*number));
  bool isAxis = llvm::any_of(
      signature.axes, [&](AxisAttr axis) { return axis.getName() == extent.getName() && !axis.isRagged(); });
  return isAxis ? extentOf(builder, loc, extent.getName()) : Value();
}

/// Holds also where the write has no elements at all, along an axis that `condition` does not have.
static Value orNothing(OpBuilder &builder, Location loc, Value condition, const AxisList &place) {
  for (StringAttr axis : place) {
    if (valueType(condition).hasAxis(axis))
      continue;
    Value none = mapOf(builder, loc, extentOf(builder, loc, axis), [](OpBuilder &b, Location loc, ValueRange scalars) -> Value {
      Value zero = arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(0));
      return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, scalars[0], zero);
    });
    condition = orOf(builder, loc, none, condition);
  }
  return condition;
}

void attn::requireCapacity(OpBuilder &builder, Inliner &inliner, const Signature &signature, WriteOp write,
                           const llvm::StringMap<int64_t> &known) {
  Location loc = write.getLoc();
  AxisList place = unionOfAxes(write.getIndices());
  auto ref = cast<BlockArgument>(write.getRef());
  StringRef name = signature.args[ref.getArgNumber()].getName().getValue();
  for (auto [index, extent] : llvm::zip_equal(write.getIndices(), cast<RefType>(ref.getType()).getFactors())) {
    if (alwaysFits(index, extent, known))
      continue;
    Value limit = extentValue(builder, loc, extent, signature);
    if (!limit)
      continue;
    Value inside = mapOf(builder, loc, {inliner.inlined(index), limit},
                         [](OpBuilder &b, Location loc, ValueRange scalars) -> Value {
                           // Unsigned: a negative place is past every extent.
                           return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, scalars[0], scalars[1]);
                         });
    if (Value condition = write.getCondition())
      inside = orOf(builder, loc, notOf(builder, loc, inliner.inlined(condition)), inside);
    RequireOp::create(builder, loc, orNothing(builder, loc, inside, place),
                      "positions of " + name.str() + " within " + extent.str());
  }
}
