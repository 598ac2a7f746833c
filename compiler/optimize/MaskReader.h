//===- MaskReader.h - from a flash's mask to formulas -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads and, or, not, comparisons, sums, multiples, floored quotients, remainders, minima, maxima and absolute values;
// whatever lacks the key axes becomes a symbol. Builds no bounds.
//===----------------------------------------------------------------------===//
#ifndef ATTN_COMPILER_OPTIMIZE_MASKREADER_H
#define ATTN_COMPILER_OPTIMIZE_MASKREADER_H

#include "compiler/optimize/KeyRanges.h"
#include "compiler/optimize/RowValues.h"
#include "llvm/ADT/SetVector.h"

namespace attn {

class MaskReader {
public:
  /// Symbols stand at `outer`.
  MaskReader(FlashOp flash, mlir::OpBuilder &outer);

  /// What is known of a condition of the flash's region.
  Formula read(mlir::Value condition) { return ofCondition(condition, /*negated=*/false); }
  /// The problem of these conjuncts.
  MaskProblem problemOf(std::vector<Formula> conjuncts);
  /// The symbols, by number: integers, and conditions, which count as 0 or 1.
  llvm::ArrayRef<mlir::Value> getSymbols() const { return symbols.getArrayRef(); }

private:
  using Value = mlir::Value;
  /// What an expression is where the guard holds.
  struct Case {
    Formula guard;
    AffineForm form;
  };
  /// None: it is not affine. One of them holds everywhere.
  using Cases = std::vector<Case>;

  AffineForm symbol(Value value);
  std::vector<AffineForm> facts() const;
  Formula ofRowCondition(Value outside, bool negated);
  Formula ofCondition(Value condition, bool negated);
  Formula ofTruth(MapOp map, Value scalar, bool negated);
  Formula ofComparison(mlir::arith::CmpIPredicate predicate, const AffineForm &lhs, const AffineForm &rhs);
  Formula ofComparison(mlir::arith::CmpIPredicate predicate, const Cases &lhs, const Cases &rhs);
  /// The numbers of which an expression is the largest, or the smallest; none: it is no extreme.
  struct Extreme {
    bool isLargest = false;
    std::vector<Cases> of;
  };
  Extreme extremeOf(MapOp map, Value scalar);
  Formula ofChoice(Formula condition, Formula otherwise, Formula onTrue, Formula onFalse);
  Cases casesOf(Value value);
  Cases casesOf(MapOp map, Value scalar);
  Cases ofArithmetic(MapOp map, mlir::Operation *op);
  Cases ofQuotient(const Cases &dividends, int64_t divisor);
  Cases combined(const Cases &a, const Cases &b,
                 llvm::function_ref<std::optional<AffineForm>(const AffineForm &, const AffineForm &)> join);
  Cases negated(const Cases &cases);
  Cases larger(const Cases &a, const Cases &b, bool isSmaller);
  Cases chosen(Formula condition, Formula otherwise, const Cases &onTrue, const Cases &onFalse);
  bool isSmall(const AffineForm &form) const;

  mlir::OpBuilder &outer;
  llvm::StringMap<int64_t> extents; ///< that are numbers
  AxisList keys;
  RowValues rows;
  llvm::SetVector<Value> symbols;
  std::vector<MaskQuotient> quotients;
};

} // namespace attn

#endif // ATTN_COMPILER_OPTIMIZE_MASKREADER_H
