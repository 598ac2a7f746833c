//===- TileCondition.h - a mask, asked for whole tiles ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What of a flash's remaining mask can be told for a tile of rows and keys from the smallest and the largest of a few
// integers: whether it holds nowhere in the tile, everywhere, or must be asked pair by pair. Kernels and the map that
// `attnc inspect` draws both follow it. Knows no machine.
//===----------------------------------------------------------------------===//
#ifndef ATTN_COMPILER_OPTIMIZE_TILECONDITION_H
#define ATTN_COMPILER_OPTIMIZE_TILECONDITION_H

#include "compiler/optimize/Expressions.h"
#include <vector>

namespace attn {

/// An integer (or a condition, as 0 or 1) whose extremes over a tile are wanted.
struct TileLeaf {
  enum Side {
    Row,  ///< lacks the key axes
    Key,  ///< lacks the axes that only rows have
    Pair, ///< stored for each pair of a row and a key
  } side;
  mlir::Value value;
};

struct TileCondition {
  enum Kind {
    Unknown, ///< must be asked pair by pair
    Compare, ///< lhs predicate rhs; the right side is `number` where there is no rhs
    All, Any,
  } kind = Unknown;
  mlir::arith::CmpIPredicate predicate = mlir::arith::CmpIPredicate::eq;
  unsigned lhs = 0;
  std::optional<unsigned> rhs;
  int64_t number = 0;
  std::vector<TileCondition> parts;

  /// Whether extremes can tell anything.
  bool isUseful() const;
};

/// The remaining mask of a flash, and the leaves that its comparisons number.
struct TileMask {
  TileCondition condition;
  std::vector<TileLeaf> leaves;

  /// `rows` are the axes that queries have and keys and values do not. Of no use without a mask.
  static TileMask of(FlashOp flash, llvm::ArrayRef<mlir::StringAttr> rows);
};

/// Evaluates a condition over a tile, with `Logic` to build or to compute: `Number number(int64_t)`,
/// `Truth less(Number, Number)`, `Truth both(Truth, Truth)`, `Truth either(Truth, Truth)`, `Truth truth(bool)`.
template <typename Number, typename Truth>
struct TileAnswer {
  Truth may;  ///< false: it holds nowhere
  Truth must; ///< true: it holds everywhere
};

template <typename Number>
struct TileExtremes {
  Number smallest, largest;
};

template <typename Logic, typename Number = typename Logic::Number, typename Truth = typename Logic::Truth>
TileAnswer<Number, Truth> answerFor(const TileCondition &condition, llvm::ArrayRef<TileExtremes<Number>> leaves,
                                    Logic &logic) {
  using P = mlir::arith::CmpIPredicate;
  switch (condition.kind) {
  case TileCondition::Unknown:
    return {logic.truth(true), logic.truth(false)};
  case TileCondition::All:
  case TileCondition::Any: {
    bool isAll = condition.kind == TileCondition::All;
    TileAnswer<Number, Truth> result{logic.truth(isAll), logic.truth(isAll)};
    for (const TileCondition &part : condition.parts) {
      auto answer = answerFor(part, leaves, logic);
      result.may = isAll ? logic.both(result.may, answer.may) : logic.either(result.may, answer.may);
      result.must = isAll ? logic.both(result.must, answer.must) : logic.either(result.must, answer.must);
    }
    return result;
  }
  case TileCondition::Compare:
    break;
  }
  TileExtremes<Number> x = leaves[condition.lhs];
  TileExtremes<Number> y = condition.rhs ? leaves[*condition.rhs]
                                         : TileExtremes<Number>{logic.number(condition.number), logic.number(condition.number)};
  auto atMost = [&](Number a, Number b) { return logic.negate(logic.less(b, a)); };
  auto meet = [&] { return logic.both(atMost(x.smallest, y.largest), atMost(y.smallest, x.largest)); };
  auto same = [&] { return logic.both(atMost(x.largest, y.smallest), atMost(y.largest, x.smallest)); };
  switch (condition.predicate) {
  case P::slt:
    return {logic.less(x.smallest, y.largest), logic.less(x.largest, y.smallest)};
  case P::sle:
    return {atMost(x.smallest, y.largest), atMost(x.largest, y.smallest)};
  case P::sgt:
    return {logic.less(y.smallest, x.largest), logic.less(y.largest, x.smallest)};
  case P::sge:
    return {atMost(y.smallest, x.largest), atMost(y.largest, x.smallest)};
  case P::eq:
    return {meet(), same()};
  case P::ne:
    return {logic.negate(same()), logic.negate(meet())};
  default:
    return {logic.truth(true), logic.truth(false)};
  }
}

} // namespace attn

#endif // ATTN_COMPILER_OPTIMIZE_TILECONDITION_H
