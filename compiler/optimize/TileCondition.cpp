//===- TileCondition.cpp - a mask, asked for whole tiles --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "compiler/optimize/TileCondition.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace attn;

bool TileCondition::isUseful() const {
  return kind == Compare || llvm::any_of(parts, [](const TileCondition &part) { return part.isUseful(); });
}

namespace {
class TileMaskReader {
public:
  TileMaskReader(FlashOp flash, ArrayRef<StringAttr> rows) : keys(axisNames(flash.getOver())), rows(rows) {}

  TileCondition ofCondition(Value condition, bool negated) {
    Operation *op = condition.getDefiningOp();
    if (isa_and_nonnull<AndOp, OrOp>(op))
      return join(isa<AndOp>(op) != negated, ofCondition(op->getOperand(0), negated),
                  ofCondition(op->getOperand(1), negated));
    if (auto map = dyn_cast_or_null<MapOp>(op)) {
      // An operand that is absent makes the pair absent, whatever the others say.
      if (llvm::any_of(map.getInputs(), mayBeAbsent))
        return {};
      return ofTruth(map, cast<YieldOp>(map.getBody().front().getTerminator()).getOperand(0), negated);
    }
    std::optional<unsigned> leaf = leafOf(condition);
    return leaf ? compareWith(*leaf, negated ? arith::CmpIPredicate::slt : arith::CmpIPredicate::sge, 1)
                : TileCondition();
  }

  std::vector<TileLeaf> leaves;

private:
  static TileCondition join(bool isAnd, TileCondition lhs, TileCondition rhs) {
    TileCondition result;
    result.kind = isAnd ? TileCondition::All : TileCondition::Any;
    result.parts = {std::move(lhs), std::move(rhs)};
    return result;
  }

  static TileCondition compareWith(unsigned leaf, arith::CmpIPredicate predicate, int64_t number) {
    TileCondition result;
    result.kind = TileCondition::Compare;
    result.predicate = predicate;
    result.lhs = leaf;
    result.number = number;
    return result;
  }

  TileCondition ofTruth(MapOp map, Value scalar, bool negated) {
    if (auto argument = dyn_cast<BlockArgument>(scalar))
      return ofCondition(map.getInputs()[argument.getArgNumber()], negated);
    Operation *op = scalar.getDefiningOp();
    if (isa<arith::AndIOp, arith::OrIOp>(op))
      return join(isa<arith::AndIOp>(op) != negated, ofTruth(map, op->getOperand(0), negated),
                  ofTruth(map, op->getOperand(1), negated));
    if (isa<arith::XOrIOp>(op))
      for (unsigned i : {0, 1})
        if (matchPattern(op->getOperand(i), m_One()))
          return ofTruth(map, op->getOperand(1 - i), !negated);
    if (auto compare = dyn_cast<arith::CmpIOp>(op))
      return ofComparison(map, compare, negated);
    return {};
  }

  TileCondition ofComparison(MapOp map, arith::CmpIOp compare, bool negated) {
    auto predicate = negated ? arith::invertPredicate(compare.getPredicate()) : compare.getPredicate();
    Value lhs = compare.getLhs(), rhs = compare.getRhs();
    IntegerAttr number;
    if (!lhs.getType().isInteger(64))
      return {};
    if (matchPattern(lhs, m_Constant(&number))) {
      std::swap(lhs, rhs);
      predicate = swapped(predicate);
    }
    std::optional<unsigned> x = leafOf(map, lhs);
    if (!x)
      return {};
    if (matchPattern(rhs, m_Constant(&number)))
      return compareWith(*x, predicate, number.getInt());
    std::optional<unsigned> y = leafOf(map, rhs);
    if (!y)
      return {};
    TileCondition result = compareWith(*x, predicate, 0);
    result.rhs = y;
    return result;
  }

  std::optional<unsigned> leafOf(MapOp map, Value scalar) {
    auto argument = dyn_cast<BlockArgument>(scalar);
    return argument ? leafOf(map.getInputs()[argument.getArgNumber()]) : std::nullopt;
  }

  std::optional<unsigned> leafOf(Value value) {
    ValueType type = valueType(value);
    if (!type.isInteger() && !type.isCondition())
      return std::nullopt;
    auto hasAny = [&](ArrayRef<StringAttr> axes) {
      return llvm::any_of(axes, [&](StringAttr axis) { return type.hasAxis(axis); });
    };
    TileLeaf::Side side = !hasAny(keys) ? TileLeaf::Row : !hasAny(rows) ? TileLeaf::Key : TileLeaf::Pair;
    // Looking at every pair pays where that is a load.
    if (side == TileLeaf::Pair && (!value.getDefiningOp<ReadOp>() || keys.size() > 1))
      return std::nullopt;
    auto same = llvm::find_if(leaves, [&](const TileLeaf &leaf) { return leaf.value == value; });
    unsigned number = same - leaves.begin();
    if (same == leaves.end())
      leaves.push_back({side, value});
    return number;
  }

  AxisList keys;
  ArrayRef<StringAttr> rows;
};
} // namespace

TileMask TileMask::of(FlashOp flash, ArrayRef<StringAttr> rows) {
  if (!flash.getMask())
    return {};
  TileMaskReader reader(flash, rows);
  TileCondition condition = reader.ofCondition(flash.getMask(), false);
  return {std::move(condition), std::move(reader.leaves)};
}
