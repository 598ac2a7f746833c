//===- ClassifyMask.cpp - attn-classify-mask --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "compiler/optimize/LinearForm.h"
#include "compiler/optimize/Passes.h"

#define DEBUG_TYPE "attn-classify-mask"

namespace attn {
#define GEN_PASS_DEF_CLASSIFYMASK
#include "compiler/optimize/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

namespace {

/// Takes the mask of one flash apart. All bounds hold together, so their order does not matter; a part that is
/// evaluated although an earlier one fails cannot be seen, because that one excludes the key.
class MaskClassifier {
public:
  MaskClassifier(FlashOp flash)
      : flash(flash), outer(flash), inner(OpBuilder::atBlockTerminator(&flash.getBody().front())),
        key(axisNames(flash.getOver()).front()), forms(outer, key, &flash.getBody()) {}

  void run() {
    addConjunct(flash.getMask());
    Value residual;
    for (Value conjunct : residuals)
      residual = andOf(inner, conjunct.getLoc(), residual, conjunct);
    Operation *yield = flash.getBody().front().getTerminator();
    SmallVector<Value> yielded{flash.getScore()};
    if (residual)
      yielded.push_back(residual);
    yield->setOperands(yielded);
    flash.getLowerMutable().append(lower);
    flash.getUpperMutable().append(upper);
    eraseDead(flash.getBody().front());
  }

private:
  void addConjunct(Value condition) {
    if (auto both = condition.getDefiningOp<AndOp>()) {
      addConjunct(both.getLhs());
      addConjunct(both.getRhs());
      return;
    }
    if (!valueType(condition).hasAxis(key) && addRowCondition(condition))
      return;
    if (auto map = condition.getDefiningOp<MapOp>())
      if (addScalar(map, cast<YieldOp>(map.getBody().front().getTerminator()).getOperand(0)))
        return;
    residuals.push_back(condition);
  }

  /// A condition without the key axis sees all keys of a row, or none.
  bool addRowCondition(Value condition) {
    Value outside = forms.outside(condition);
    if (!outside)
      return false;
    Location loc = condition.getLoc();
    Value extent = extentOf(outer, loc, key), none = constantOf(outer, loc, outer.getI64IntegerAttr(0));
    Value inputs[] = {outside, extent, none};
    upper.push_back(SelectOp::create(outer, loc, ValueType::get(unionOfAxes(inputs), outer.getI64Type()), outside,
                                     extent, none));
    return true;
  }

  /// A comparison, or several joined within one map. Nothing is kept of a map that is bounds in part only.
  bool addScalar(MapOp map, Value scalar) {
    size_t lowers = lower.size(), uppers = upper.size();
    if (addScalarPart(map, scalar))
      return true;
    lower.truncate(lowers);
    upper.truncate(uppers);
    return false;
  }

  bool addScalarPart(MapOp map, Value scalar) {
    if (auto both = scalar.getDefiningOp<arith::AndIOp>())
      return addScalarPart(map, both.getLhs()) && addScalarPart(map, both.getRhs());
    auto compare = scalar.getDefiningOp<arith::CmpIOp>();
    if (!compare || !compare.getLhs().getType().isInteger(64))
      return false;
    std::optional<LinearForm> lhs = forms.ofScalar(map, compare.getLhs()), rhs = forms.ofScalar(map, compare.getRhs());
    return lhs && rhs && addComparison(compare.getPredicate(), lhs->plus(rhs->scaled(-1)), compare.getLoc());
  }

  /// `difference predicate 0`. With coefficient 1 that bounds the key by -rest, with -1 by rest, turned around.
  bool addComparison(arith::CmpIPredicate predicate, const LinearForm &difference, Location loc) {
    using P = arith::CmpIPredicate;
    if (difference.coefficient != 1 && difference.coefficient != -1)
      return false;
    bool turned = difference.coefficient == -1;
    LinearForm bound = difference.scaled(turned ? 1 : -1);
    auto below = [&](int64_t offset) { upper.push_back(bound.rest(outer, loc, offset)); };
    auto from = [&](int64_t offset) { lower.push_back(bound.rest(outer, loc, offset)); };
    switch (predicate) {
    case P::slt: // t < bound
      turned ? from(1) : below(0);
      return true;
    case P::sle:
      turned ? from(0) : below(1);
      return true;
    case P::sgt:
      turned ? below(0) : from(1);
      return true;
    case P::sge:
      turned ? below(1) : from(0);
      return true;
    case P::eq:
      from(0);
      below(1);
      return true;
    default:
      return false;
    }
  }

  FlashOp flash;
  OpBuilder outer, inner;
  StringAttr key;
  LinearForms forms;
  SmallVector<Value> lower, upper, residuals;
};

struct ClassifyMask : attn::impl::ClassifyMaskBase<ClassifyMask> {
  void runOnOperation() override {
    getOperation().walk([](FlashOp flash) {
      if (flash.getMask() && flash.getOver().size() == 1)
        MaskClassifier(flash).run();
    });
    eraseDead(getOperation().getBody().front());
  }
};

} // namespace
