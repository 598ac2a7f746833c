//===- FactorScales.cpp - factors of whole keys -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "compiler/optimize/FuseSupport.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace attn;

static bool hasAny(Value value, ArrayRef<StringAttr> axes) {
  return llvm::any_of(axes, [&](StringAttr axis) { return valueType(value).hasAxis(axis); });
}

static bool hasAll(Value value, ArrayRef<StringAttr> axes) {
  return llvm::all_of(axes, [&](StringAttr axis) { return valueType(value).hasAxis(axis); });
}

/// A dot over some axes times its scale. An infinite scale gives NaN, as elements of both signs would; the sum of nothing
/// is 0, whatever the scale.
static Value scaledBy(OpBuilder &builder, Location loc, Value dot, Value scale, ArrayRef<StringAttr> over) {
  SmallVector<Value> inputs{dot, scale};
  for (StringAttr axis : over)
    inputs.push_back(extentOf(builder, loc, axis));
  return mapOf(builder, loc, inputs, [](OpBuilder &b, Location loc, ValueRange scalars) -> Value {
    Value zero = arith::SubFOp::create(b, loc, scalars[1], scalars[1]);
    Value factor = arith::AddFOp::create(b, loc, scalars[1], zero);
    Type type = factor.getType();
    for (Value extent : scalars.drop_front(2)) {
      Value none = arith::ConstantOp::create(b, loc, b.getZeroAttr(extent.getType()));
      Value one = arith::ConstantOp::create(b, loc, b.getFloatAttr(type, 1.0));
      Value isEmpty = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, extent, none);
      factor = arith::SelectOp::create(b, loc, isEmpty, one, factor);
    }
    return arith::MulFOp::create(b, loc, scalars[0], factor);
  });
}

/// Whether a value can as well be computed once per pair: nothing is summed, nothing is absent.
static bool isLight(Value value) {
  Operation *op = value.getDefiningOp();
  if (isa_and_nonnull<ReadOp, IndexOp, ExtentOp, ConstantOp>(op))
    return true;
  return isa_and_nonnull<MapOp, SelectOp>(op) && llvm::all_of(op->getOperands(), isLight);
}

namespace {
/// `rest * scale`
struct Scaled {
  Value rest, scale;
};
} // namespace

/// What the map computes but for the product that it yields, of which `argument` is a side.
static Value withoutFactor(OpBuilder &builder, MapOp map, arith::MulFOp product, BlockArgument argument) {
  Value other = product.getLhs() == argument ? product.getRhs() : product.getLhs();
  if (auto input = dyn_cast<BlockArgument>(other))
    return map.getInputs()[input.getArgNumber()];
  SmallVector<Value> inputs(map.getInputs());
  inputs.erase(inputs.begin() + argument.getArgNumber());
  return mapOf(builder, map.getLoc(), inputs, [&](OpBuilder &b, Location, ValueRange scalars) -> Value {
    IRMapping mapping;
    unsigned next = 0;
    for (BlockArgument each : map.getBody().front().getArguments())
      if (each != argument)
        mapping.map(each, scalars[next++]);
    for (Operation &op : map.getBody().front().without_terminator())
      if (&op != product)
        b.clone(op, mapping);
    return mapping.lookup(other);
  });
}

/// Takes off a light factor without `elements`; the rest keeps `keyAxes`.
static std::optional<Scaled> splitScale(OpBuilder &builder, Value value, ArrayRef<StringAttr> elements,
                                        ArrayRef<StringAttr> keyAxes) {
  auto map = value.getDefiningOp<MapOp>();
  if (!map)
    return std::nullopt;
  Block &body = map.getBody().front();
  auto product = body.getTerminator()->getOperand(0).getDefiningOp<arith::MulFOp>();
  if (!product || !product->hasOneUse())
    return std::nullopt;
  for (Value side : product->getOperands()) {
    auto argument = dyn_cast<BlockArgument>(side);
    if (!argument || !argument.hasOneUse())
      continue;
    Value scale = map.getInputs()[argument.getArgNumber()];
    SmallVector<Value> others(map.getInputs());
    others.erase(others.begin() + argument.getArgNumber());
    AxisList axes = unionOfAxes(others);
    bool keeps = llvm::all_of(keyAxes, [&](StringAttr axis) { return llvm::is_contained(axes, axis); });
    if (keeps && hasAny(scale, keyAxes) && !hasAny(scale, elements) && isLight(scale))
      return Scaled{withoutFactor(builder, map, product, argument), scale};
  }
  return std::nullopt;
}

void attn::factorKeyScales(Value score, ArrayRef<StringAttr> keyAxes) {
  for (ScoreTerm term : findTerms(score, keyAxes)) {
    ContractOp contract = term.contract;
    OpBuilder builder(contract);
    AxisList over = axisNames(contract.getOver());
    std::optional<Scaled> split = splitScale(builder, term.key, over, keyAxes);
    if (!split)
      continue;
    Value sides[] = {term.query, split->rest};
    if (!hasAll(split->rest, over))
      continue;
    auto type = ValueType::get(unionOfAxes(sides), contract.getType().getElementType()).without(over);
    auto bare = ContractOp::create(builder, contract.getLoc(), type, term.query, split->rest, contract.getOver(),
                                   contract.getRole());
    Value product = scaledBy(builder, contract.getLoc(), bare, split->scale, over);
    if (product.getType() == contract.getType())
      contract.replaceAllUsesWith(product);
  }
}
