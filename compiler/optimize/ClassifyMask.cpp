//===- ClassifyMask.cpp - attn-classify-mask --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "compiler/optimize/LinearForm.h"
#include "compiler/optimize/Passes.h"
#include <limits>

#define DEBUG_TYPE "attn-classify-mask"

namespace attn {
#define GEN_PASS_DEF_CLASSIFYMASK
#include "compiler/optimize/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

static Value number(OpBuilder &b, Location loc, int64_t value) {
  return arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(value));
}

/// x - y, or the end of 64 bits behind which it lies.
static Value stoppedDifference(OpBuilder &builder, Location loc, Value x, Value y) {
  return mapOf(builder, loc, {x, y}, [](OpBuilder &b, Location loc, ValueRange scalars) -> Value {
    Value x = scalars[0], y = scalars[1], zero = number(b, loc, 0);
    Value difference = arith::SubIOp::create(b, loc, x, y);
    // It overflowed where the signs of x and y differ and that of the difference is not the sign of x.
    Value signs = arith::AndIOp::create(b, loc, arith::XOrIOp::create(b, loc, x, y),
                                        arith::XOrIOp::create(b, loc, x, difference));
    Value overflowed = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, signs, zero);
    Value negative = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, x, zero);
    Value end = arith::SelectOp::create(b, loc, negative, number(b, loc, std::numeric_limits<int64_t>::min()),
                                        number(b, loc, std::numeric_limits<int64_t>::max()));
    return arith::SelectOp::create(b, loc, overflowed, end, difference);
  });
}

static Value stoppedIncrement(OpBuilder &builder, Location loc, Value value) {
  return mapOf(builder, loc, value, [](OpBuilder &b, Location loc, ValueRange scalars) -> Value {
    Value most = number(b, loc, std::numeric_limits<int64_t>::max() - 1);
    return arith::AddIOp::create(b, loc, arith::MinSIOp::create(b, loc, scalars[0], most), number(b, loc, 1));
  });
}

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
    return lhs && rhs && addComparison(compare.getPredicate(), *lhs, *rhs, compare.getLoc());
  }

  /// lhs - rhs + offset without the key. A window of 2^63 - 1 is wide and not narrow: where the difference may leave 64
  /// bits although both sides do not, it stops at their ends.
  Value restOfDifference(const LinearForm &lhs, const LinearForm &rhs, int64_t offset, Location loc) {
    if (lhs.isSmall() && rhs.isSmall())
      return lhs.plus(rhs.scaled(-1)).rest(outer, loc, offset);
    Value difference = lhs.rest(outer, loc, 0);
    if (rhs.constant || !rhs.parts.empty())
      difference = stoppedDifference(outer, loc, difference, rhs.rest(outer, loc, 0));
    return offset ? stoppedIncrement(outer, loc, difference) : difference;
  }

  /// With the key once more on the left, `key predicate rhs - lhs`; once more on the right, turned around.
  bool addComparison(arith::CmpIPredicate predicate, const LinearForm &lhs, const LinearForm &rhs, Location loc) {
    using P = arith::CmpIPredicate;
    int64_t times = lhs.coefficient - rhs.coefficient;
    if (times != 1 && times != -1)
      return false;
    bool turned = times == -1;
    const LinearForm &plus = turned ? lhs : rhs, &minus = turned ? rhs : lhs;
    auto below = [&](int64_t offset) { upper.push_back(restOfDifference(plus, minus, offset, loc)); };
    auto from = [&](int64_t offset) { lower.push_back(restOfDifference(plus, minus, offset, loc)); };
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
