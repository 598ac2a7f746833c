//===- ClassifyMask.cpp - attn-classify-mask --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "compiler/Remarks.h"
#include "compiler/optimize/MaskReader.h"
#include "compiler/optimize/Passes.h"
#include "dialects/attn/FlashWeights.h"

#define DEBUG_TYPE "attn-classify-mask"

namespace attn {
#define GEN_PASS_DEF_CLASSIFYMASK
#include "compiler/optimize/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

namespace {

/// Builds the bounds of ranges as values in front of the flash.
class BoundBuilder {
public:
  BoundBuilder(OpBuilder &builder, FlashOp flash, ArrayRef<Value> symbols)
      : builder(builder), loc(flash.getLoc()), keys(axisNames(flash.getOver())), symbols(symbols) {}

  /// The smallest lower bound of a hull; null: 0.
  Value lowerOf(const KeyHull &hull) {
    Value smallest;
    for (const KeyRange &range : hull) {
      Value largest = joined<arith::MaxSIOp>(range.lower);
      if (!largest)
        return {};
      smallest = join<arith::MinSIOp>(smallest, largest);
    }
    return position(smallest);
  }

  /// The largest upper bound of a hull; null: all keys.
  Value upperOf(const KeyHull &hull) {
    Value largest;
    for (const KeyRange &range : hull) {
      Value smallest = joined<arith::MinSIOp>(range.upper);
      if (!smallest && range.conditions.empty())
        return {};
      if (!smallest)
        smallest = keyExtent();
      for (const AffineForm &condition : range.conditions)
        smallest = where(condition, smallest);
      largest = join<arith::MaxSIOp>(largest, smallest);
    }
    return position(largest);
  }

  Value number(int64_t value) { return constantOf(builder, loc, builder.getI64IntegerAttr(value)); }

  Value allKeys() { return position(keyExtent()); }

private:
  /// The extent of the axis that is bounded.
  Value keyExtent() { return extentOf(builder, loc, keys.front()); }

  template <typename Op>
  Value join(Value x, Value y) {
    if (!x || x == y)
      return y;
    return mapOf(builder, loc, {x, y}, [](OpBuilder &b, Location loc, ValueRange scalars) -> Value {
      return Op::create(b, loc, scalars[0], scalars[1]);
    });
  }

  template <typename Op>
  Value joined(ArrayRef<KeyBound> bounds) {
    Value result;
    for (const KeyBound &bound : bounds)
      result = join<Op>(result, valueOf(bound));
    return result;
  }

  /// From an index of the outermost key axis to the position of the first key that has it.
  Value position(Value index) {
    if (!index || keys.size() == 1)
      return index;
    SmallVector<Value> inputs{index};
    for (StringAttr axis : keys)
      inputs.push_back(extentOf(builder, loc, axis));
    return mapOf(builder, loc, inputs, [](OpBuilder &b, Location loc, ValueRange scalars) -> Value {
      Value zero = arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(0));
      Value result = arith::MinSIOp::create(b, loc, arith::MaxSIOp::create(b, loc, scalars[0], zero), scalars[1]);
      for (Value extent : scalars.drop_front(2))
        result = arith::MulIOp::create(b, loc, result, extent);
      return result;
    });
  }

  /// `upper` in rows where the condition is at least 0; elsewhere no key.
  Value where(const AffineForm &condition, Value upper) {
    Value holds = truthOf(condition), none = number(0);
    Value inputs[] = {holds, upper};
    return SelectOp::create(builder, loc, ValueType::get(unionOfAxes(inputs), builder.getI64Type()), holds, upper, none);
  }

  Value truthOf(const AffineForm &condition) {
    for (auto [variable, times] : condition.terms) // A condition comes alone.
      if (Value symbol = symbols[variable.number]; valueType(symbol).isCondition())
        return times > 0 ? symbol : notOf(builder, loc, symbol);
    return mapOf(builder, loc, sumOf(condition), [](OpBuilder &b, Location loc, ValueRange scalars) -> Value {
      Value zero = arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(0));
      return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sge, scalars[0], zero);
    });
  }

  Value valueOf(const KeyBound &bound) {
    Value sum = sumOf(bound.form);
    if (bound.divisor == 1)
      return sum;
    return mapOf(builder, loc, sum, [&](OpBuilder &b, Location loc, ValueRange scalars) -> Value {
      Value divisor = arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(bound.divisor));
      return arith::FloorDivSIOp::create(b, loc, scalars[0], divisor);
    });
  }

  /// The sum of small symbols first, then of those that may be anything in 64 bits. A window of 2^63 - 1 is wide and
  /// not narrow: sums stop at the ends of 64 bits, differences of two wide numbers first.
  Value sumOf(const AffineForm &form) {
    SmallVector<std::pair<int64_t, Value>> small;
    SmallVector<Value> plus, minus;
    for (auto [variable, times] : form.terms) {
      Value symbol = symbols[variable.number];
      if (isSmallValue(symbol))
        small.push_back({times, symbol});
      else
        (times > 0 ? plus : minus).push_back(multiple(symbol, times > 0 ? times : -times));
    }
    Value sum;
    for (auto [x, y] : llvm::zip(plus, minus))
      sum = addWide(sum, stoppedDifference(builder, loc, x, y));
    bool hasSmall = !small.empty() || form.constant;
    if (plus.size() > minus.size()) {
      for (Value x : ArrayRef(plus).drop_front(minus.size()))
        sum = addWide(sum, x);
    } else if (minus.size() > plus.size()) {
      sum = addWide(sum, smallSum(small, form.constant));
      for (Value y : ArrayRef(minus).drop_front(plus.size()))
        sum = stoppedDifference(builder, loc, sum, y);
      return sum;
    }
    return hasSmall || !sum ? addWide(sum, smallSum(small, form.constant)) : sum;
  }

  Value addWide(Value x, Value y) { return x ? stoppedSum(builder, loc, x, y) : y; }

  Value multiple(Value value, int64_t times) {
    if (times == 1)
      return value;
    return mapOf(builder, loc, value, [&](OpBuilder &b, Location loc, ValueRange scalars) -> Value {
      return arith::MulIOp::create(b, loc, scalars[0],
                                   arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(times)));
    });
  }

  Value smallSum(ArrayRef<std::pair<int64_t, Value>> parts, int64_t constant) {
    if (parts.empty())
      return number(constant);
    if (parts.size() == 1 && parts[0].first == 1 && constant == 0)
      return parts[0].second;
    SmallVector<Value> inputs = llvm::map_to_vector(parts, [](auto &part) { return part.second; });
    return mapOf(builder, loc, inputs, [&](OpBuilder &b, Location loc, ValueRange scalars) -> Value {
      auto number = [&](int64_t value) -> Value {
        return arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(value));
      };
      Value sum;
      for (auto [part, scalar] : llvm::zip(parts, scalars))
        if (int64_t times = part.first; times != -1) {
          Value term = times == 1 ? Value(scalar) : arith::MulIOp::create(b, loc, scalar, number(times));
          sum = sum ? Value(arith::AddIOp::create(b, loc, sum, term)) : term;
        }
      bool leads = !sum; // the constant, for want of anything else
      if (leads)
        sum = number(constant);
      for (auto [part, scalar] : llvm::zip(parts, scalars))
        if (part.first == -1)
          sum = arith::SubIOp::create(b, loc, sum, scalar);
      if (constant && !leads)
        sum = arith::AddIOp::create(b, loc, sum, number(constant));
      return sum;
    });
  }

  OpBuilder &builder;
  Location loc;
  AxisList keys;
  ArrayRef<Value> symbols;
};

/// Takes the mask of one flash apart. A part that is evaluated although an earlier one fails cannot be seen, because
/// that one excludes the key.
class MaskClassifier {
public:
  explicit MaskClassifier(FlashOp flash)
      : flash(flash), outer(flash), inner(OpBuilder::atBlockTerminator(&flash.getBody().front())), reader(flash, outer) {}

  void run() {
    addConjuncts(flash.getMask());
    std::vector<Formula> formulas;
    for (Value conjunct : conjuncts)
      formulas.push_back(reader.read(conjunct));
    KeyRanges ranges = rangesOf(reader.problemOf(std::move(formulas)), FlashOp::mostRanges);
    if (!ranges.reason.empty())
      remarkMissed(flash.getLoc(), "part of the mask is evaluated pair by pair", ranges.reason);
    addBounds(ranges);
    leave(ranges);
    eraseDead(flash.getBody().front());
  }

private:
  void addConjuncts(Value condition) {
    if (auto both = condition.getDefiningOp<AndOp>()) {
      addConjuncts(both.getLhs());
      addConjuncts(both.getRhs());
    } else {
      conjuncts.push_back(condition);
    }
  }

  void addBounds(const KeyRanges &ranges) {
    if (!ranges.excludes())
      return;
    BoundBuilder bounds(outer, flash, reader.getSymbols());
    SmallVector<Value> lower, upper;
    for (const KeyHull &hull : ranges.hulls) {
      lower.push_back(bounds.lowerOf(hull));
      upper.push_back(bounds.upperOf(hull));
    }
    if (ranges.hulls.empty())
      upper.push_back(bounds.number(0));
    auto add = [](MutableOperandRange operands, ArrayRef<Value> values, llvm::function_ref<Value()> otherwise) {
      if (llvm::none_of(values, [](Value value) { return bool(value); }))
        return;
      for (Value value : values)
        operands.append(value ? value : otherwise());
    };
    add(flash.getLowerMutable(), lower, [&] { return bounds.number(0); });
    add(flash.getUpperMutable(), upper, [&] { return bounds.allKeys(); });
  }

  /// What does not follow from lying in a range stays the condition.
  void leave(const KeyRanges &ranges) {
    Value left;
    for (auto [conjunct, isLeft] : llvm::zip(conjuncts, ranges.isLeft))
      if (isLeft)
        left = andOf(inner, conjunct.getLoc(), left, conjunct);
    SmallVector<Value> yielded{flash.getScore()};
    if (left)
      yielded.push_back(left);
    if (Value changed = changedWeightOf(flash))
      yielded.push_back(changed);
    flash.getBody().front().getTerminator()->setOperands(yielded);
  }

  FlashOp flash;
  OpBuilder outer, inner;
  MaskReader reader;
  SmallVector<Value> conjuncts;
};

/// Positions of keys count along axes whose extents are the same for all.
bool canHaveRanges(FlashOp flash) {
  Signature signature(Signature::around(flash));
  AxisList keys = axisNames(flash.getOver());
  return llvm::none_of(ArrayRef(keys).drop_front(), [&](StringAttr key) { return signature.findAxis(key).isRagged(); });
}

struct ClassifyMask : attn::impl::ClassifyMaskBase<ClassifyMask> {
  void runOnOperation() override {
    getOperation().walk([](FlashOp flash) {
      if (flash.getMask() && canHaveRanges(flash))
        MaskClassifier(flash).run();
    });
    eraseDead(getOperation().getBody().front());
  }
};

} // namespace
