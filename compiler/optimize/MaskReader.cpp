//===- MaskReader.cpp - from a flash's mask to formulas ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "compiler/optimize/MaskReader.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace attn;

/// Expressions with more cases than this are not followed.
static constexpr size_t mostCases = 8;

MaskReader::MaskReader(FlashOp flash, OpBuilder &outer)
    : outer(outer), extents(knownExtents(Signature(Signature::around(flash)))), keys(axisNames(flash.getOver())), rows(outer, keys, flash.getBody()) {}

MaskProblem MaskReader::problemOf(std::vector<Formula> conjuncts) {
  MaskProblem problem;
  problem.keys = keys.size();
  for (StringAttr axis : ArrayRef(keys).drop_front())
    problem.innerExtents.push_back(casesOf(extentOf(outer, outer.getUnknownLoc(), axis)).front().form);
  problem.symbols = symbols.size();
  problem.quotients = quotients;
  problem.conjuncts = std::move(conjuncts);
  problem.facts = facts();
  return problem;
}

/// Indices and extents are not negative, and indices are below their extents.
std::vector<AffineForm> MaskReader::facts() const {
  std::vector<AffineForm> facts;
  for (auto [number, value] : llvm::enumerate(symbols)) {
    AffineForm form = AffineForm::variable(MaskVariable::Symbol, number);
    if (isa_and_nonnull<IndexOp, ExtentOp>(value.getDefiningOp()))
      facts.push_back(form);
    if (auto index = value.getDefiningOp<IndexOp>())
      if (auto extent = extents.find(index.getAxis()); extent != extents.end())
        if (auto below = sumOf(AffineForm::number(extent->second - 1), form, -1))
          facts.push_back(*below);
  }
  return facts;
}

AffineForm MaskReader::symbol(Value value) {
  unsigned number = llvm::find(symbols, value) - symbols.begin();
  symbols.insert(value);
  return AffineForm::variable(MaskVariable::Symbol, number);
}

//===----------------------------------------------------------------------===//
// Conditions
//===----------------------------------------------------------------------===//

static Formula truth(bool holds) { return holds ? Formula::always() : Formula::never(); }

static Formula join(bool isAnd, Formula lhs, Formula rhs) {
  std::vector<Formula> parts{std::move(lhs), std::move(rhs)};
  return isAnd ? Formula::all(std::move(parts)) : Formula::any(std::move(parts));
}

Formula MaskReader::ofRowCondition(Value outside, bool negated) {
  AffineForm form = symbol(outside);
  return Formula::atLeastZero(negated ? *scaled(form, -1) : *sumOf(form, AffineForm::number(-1)));
}

Formula MaskReader::ofChoice(Formula condition, Formula otherwise, Formula onTrue, Formula onFalse) {
  return join(false, join(true, std::move(condition), std::move(onTrue)),
              join(true, std::move(otherwise), std::move(onFalse)));
}

Formula MaskReader::ofCondition(Value condition, bool negated) {
  if (auto constant = condition.getDefiningOp<ConstantOp>())
    return truth(cast<BoolAttr>(constant.getValue()).getValue() != negated);
  if (Value outside = rows.outside(condition))
    return ofRowCondition(outside, negated);
  Operation *op = condition.getDefiningOp();
  if (isa_and_nonnull<AndOp, OrOp>(op))
    return join(isa<AndOp>(op) != negated, ofCondition(op->getOperand(0), negated),
                ofCondition(op->getOperand(1), negated));
  if (auto select = dyn_cast_or_null<SelectOp>(op))
    return ofChoice(ofCondition(select.getCondition(), false), ofCondition(select.getCondition(), true),
                    ofCondition(select.getOnTrue(), negated), ofCondition(select.getOnFalse(), negated));
  auto map = dyn_cast_or_null<MapOp>(op);
  // Where an operand is absent, all of a map is; its parts know only of their own operands.
  if (!map || llvm::any_of(map.getInputs(), mayBeAbsent))
    return Formula::unknown();
  return ofTruth(map, cast<YieldOp>(map.getBody().front().getTerminator()).getOperand(0), negated);
}

Formula MaskReader::ofTruth(MapOp map, Value scalar, bool negated) {
  IntegerAttr number;
  if (matchPattern(scalar, m_Constant(&number)))
    return truth(number.getValue().isZero() == negated);
  if (auto argument = dyn_cast<BlockArgument>(scalar))
    return ofCondition(map.getInputs()[argument.getArgNumber()], negated);
  if (Value outside = rows.outside(map, scalar))
    return ofRowCondition(outside, negated);
  Operation *op = scalar.getDefiningOp();
  auto operand = [&](unsigned i, bool negated) { return ofTruth(map, op->getOperand(i), negated); };
  if (isa<arith::AndIOp, arith::OrIOp>(op))
    return join(isa<arith::AndIOp>(op) != negated, operand(0, negated), operand(1, negated));
  if (isa<arith::XOrIOp>(op))
    return ofChoice(operand(0, false), operand(0, true), operand(1, !negated), operand(1, negated));
  if (isa<arith::SelectOp>(op))
    return ofChoice(operand(0, false), operand(0, true), operand(1, negated), operand(2, negated));
  auto compare = dyn_cast<arith::CmpIOp>(op);
  if (!compare || !compare.getLhs().getType().isInteger(64))
    return Formula::unknown();
  auto predicate = negated ? arith::invertPredicate(compare.getPredicate()) : compare.getPredicate();
  Value lhs = compare.getLhs(), rhs = compare.getRhs();
  if (extremeOf(map, lhs).of.empty() && !extremeOf(map, rhs).of.empty()) {
    std::swap(lhs, rhs);
    predicate = swapped(predicate);
  }
  Extreme extreme = extremeOf(map, lhs);
  using P = arith::CmpIPredicate;
  bool isBelow = predicate == P::slt || predicate == P::sle, isAbove = predicate == P::sgt || predicate == P::sge;
  if (extreme.of.empty() || (!isBelow && !isAbove))
    return ofComparison(predicate, casesOf(map, lhs), casesOf(map, rhs));
  // The largest is below what all are below: no case is told from another, and a window stays one range.
  std::vector<Formula> parts;
  for (const Cases &part : extreme.of)
    parts.push_back(ofComparison(predicate, part, casesOf(map, rhs)));
  return extreme.isLargest == isBelow ? Formula::all(std::move(parts)) : Formula::any(std::move(parts));
}

MaskReader::Extreme MaskReader::extremeOf(MapOp map, Value scalar) {
  while (auto argument = dyn_cast<BlockArgument>(scalar)) {
    map = map.getInputs()[argument.getArgNumber()].getDefiningOp<MapOp>();
    if (!map)
      return {};
    scalar = cast<YieldOp>(map.getBody().front().getTerminator()).getOperand(0);
  }
  Operation *op = scalar.getDefiningOp();
  if (isa<arith::MinSIOp, arith::MaxSIOp>(op))
    return {isa<arith::MaxSIOp>(op), {casesOf(map, op->getOperand(0)), casesOf(map, op->getOperand(1))}};
  if (isa<math::AbsIOp>(op)) {
    Cases x = casesOf(map, op->getOperand(0));
    return {true, {x, negated(x)}};
  }
  return {};
}

Formula MaskReader::ofComparison(arith::CmpIPredicate predicate, const Cases &lhs, const Cases &rhs) {
  if (lhs.empty() || rhs.empty() || lhs.size() * rhs.size() > mostCases)
    return Formula::unknown();
  std::vector<Formula> alternatives;
  for (const Case &l : lhs)
    for (const Case &r : rhs)
      alternatives.push_back(Formula::all({l.guard, r.guard, ofComparison(predicate, l.form, r.form)}));
  return Formula::any(std::move(alternatives));
}

Formula MaskReader::ofComparison(arith::CmpIPredicate predicate, const AffineForm &lhs, const AffineForm &rhs) {
  using P = arith::CmpIPredicate;
  // above = lhs - rhs, below = rhs - lhs
  std::optional<AffineForm> above = sumOf(lhs, rhs, -1), below = sumOf(rhs, lhs, -1);
  if (!above || !below)
    return Formula::unknown();
  auto strictly = [](const AffineForm &form) {
    std::optional<AffineForm> less = sumOf(form, AffineForm::number(-1));
    return less ? Formula::atLeastZero(*less) : Formula::unknown();
  };
  switch (predicate) {
  case P::slt:
    return strictly(*below);
  case P::sle:
    return Formula::atLeastZero(*below);
  case P::sgt:
    return strictly(*above);
  case P::sge:
    return Formula::atLeastZero(*above);
  case P::eq:
    return Formula::zero(*above);
  case P::ne:
    return Formula::any({strictly(*below), strictly(*above)});
  default:
    return Formula::unknown();
  }
}

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

/// Sums of a few such forms cannot leave 64 bits.
bool MaskReader::isSmall(const AffineForm &form) const {
  constexpr int64_t mostTimes = int64_t(1) << 16;
  return llvm::all_of(form.terms, [&](auto &term) {
    auto [variable, times] = term;
    bool isSmall = variable.kind != MaskVariable::Symbol || isSmallValue(symbols[variable.number]);
    return isSmall && -mostTimes <= times && times <= mostTimes;
  });
}

MaskReader::Cases MaskReader::combined(
    const Cases &a, const Cases &b,
    llvm::function_ref<std::optional<AffineForm>(const AffineForm &, const AffineForm &)> join) {
  if (a.size() * b.size() > mostCases)
    return {};
  Cases cases;
  for (const Case &x : a)
    for (const Case &y : b) {
      std::optional<AffineForm> form = join(x.form, y.form);
      if (!form)
        return {};
      cases.push_back({Formula::all({x.guard, y.guard}), *form});
    }
  return cases;
}

MaskReader::Cases MaskReader::negated(const Cases &cases) {
  Cases zero{{Formula::always(), {}}};
  return combined(zero, cases, [](const AffineForm &a, const AffineForm &b) { return sumOf(a, b, -1); });
}

MaskReader::Cases MaskReader::larger(const Cases &a, const Cases &b, bool isSmaller) {
  if (2 * a.size() * b.size() > mostCases)
    return {};
  using P = arith::CmpIPredicate;
  Cases cases;
  for (const Case &x : a)
    for (const Case &y : b) {
      Formula first = ofComparison(isSmaller ? P::sle : P::sge, x.form, y.form);
      Formula second = ofComparison(isSmaller ? P::sgt : P::slt, x.form, y.form);
      cases.push_back({Formula::all({x.guard, y.guard, std::move(first)}), x.form});
      cases.push_back({Formula::all({x.guard, y.guard, std::move(second)}), y.form});
    }
  return cases;
}

MaskReader::Cases MaskReader::chosen(Formula condition, Formula otherwise, const Cases &onTrue, const Cases &onFalse) {
  if (onTrue.empty() || onFalse.empty() || onTrue.size() + onFalse.size() > mostCases)
    return {};
  Cases cases;
  for (const Case &c : onTrue)
    cases.push_back({Formula::all({condition, c.guard}), c.form});
  for (const Case &c : onFalse)
    cases.push_back({Formula::all({otherwise, c.guard}), c.form});
  return cases;
}

MaskReader::Cases MaskReader::ofQuotient(const Cases &dividends, int64_t divisor) {
  Cases cases;
  for (const Case &dividend : dividends) {
    auto same = llvm::find_if(quotients, [&](const MaskQuotient &known) {
      return known.divisor == divisor && known.dividend == dividend.form;
    });
    unsigned number = same - quotients.begin();
    if (same == quotients.end())
      quotients.push_back({dividend.form, divisor});
    cases.push_back({dividend.guard, AffineForm::variable(MaskVariable::Quotient, number)});
  }
  return cases;
}

MaskReader::Cases MaskReader::casesOf(Value value) {
  if (!valueType(value).isInteger())
    return {};
  if (auto index = value.getDefiningOp<IndexOp>())
    if (auto *key = llvm::find(keys, index.getAxisAttr()); key != keys.end())
      return {{Formula::always(), AffineForm::variable(MaskVariable::Key, key - keys.begin())}};
  auto constant = value.getDefiningOp<ConstantOp>();
  if (constant)
    if (auto form = sumOf({}, AffineForm::number(cast<IntegerAttr>(constant.getValue()).getInt())))
      return {{Formula::always(), *form}};
  Value outside = rows.outside(value);
  auto asSymbol = [&]() -> Cases { return {{Formula::always(), symbol(outside)}}; };
  Cases cases;
  if (auto map = value.getDefiningOp<MapOp>()) {
    if (llvm::none_of(map.getInputs(), mayBeAbsent))
      cases = casesOf(map, cast<YieldOp>(map.getBody().front().getTerminator()).getOperand(0));
  } else if (auto select = value.getDefiningOp<SelectOp>(); select && !outside) {
    cases = chosen(ofCondition(select.getCondition(), false), ofCondition(select.getCondition(), true),
                   casesOf(select.getOnTrue()), casesOf(select.getOnFalse()));
  }
  // A number that a row knows is best as a sum of small ones, which others may share.
  if (outside && (cases.size() != 1 || !isSmall(cases.front().form)))
    return asSymbol();
  return cases;
}

MaskReader::Cases MaskReader::casesOf(MapOp map, Value scalar) {
  IntegerAttr number;
  if (matchPattern(scalar, m_Constant(&number)))
    if (auto form = sumOf({}, AffineForm::number(number.getInt())))
      return {{Formula::always(), *form}};
  if (auto argument = dyn_cast<BlockArgument>(scalar))
    return casesOf(map.getInputs()[argument.getArgNumber()]);
  Cases cases = ofArithmetic(map, scalar.getDefiningOp());
  if (cases.size() == 1 && isSmall(cases.front().form))
    return cases;
  // Anything else may be computed apart, if it does not need a key.
  if (Value outside = rows.outside(map, scalar))
    return {{Formula::always(), symbol(outside)}};
  return cases;
}

MaskReader::Cases MaskReader::ofArithmetic(MapOp map, Operation *op) {
  auto operand = [&](unsigned i) { return casesOf(map, op->getOperand(i)); };
  auto minus = [](const AffineForm &a, const AffineForm &b) { return sumOf(a, b, -1); };
  IntegerAttr number;
  if (isa<arith::AddIOp>(op))
    return combined(operand(0), operand(1), [](const AffineForm &a, const AffineForm &b) { return sumOf(a, b); });
  if (isa<arith::SubIOp>(op))
    return combined(operand(0), operand(1), minus);
  if (isa<arith::MinSIOp, arith::MaxSIOp>(op))
    return larger(operand(0), operand(1), isa<arith::MinSIOp>(op));
  if (isa<math::AbsIOp>(op)) {
    Cases x = operand(0);
    return larger(x, negated(x), /*isSmaller=*/false);
  }
  if (isa<arith::SelectOp>(op))
    return chosen(ofTruth(map, op->getOperand(0), false), ofTruth(map, op->getOperand(0), true), operand(1), operand(2));
  if (isa<arith::MulIOp>(op)) {
    for (unsigned i : {0, 1})
      if (matchPattern(op->getOperand(i), m_Constant(&number))) {
        Cases one{{Formula::always(), {}}};
        return combined(one, operand(1 - i), [&](const AffineForm &none, const AffineForm &form) {
          return sumOf(none, form, number.getInt());
        });
      }
    return {};
  }
  // A quotient that a row knows is a symbol.
  bool isQuotient = isa<arith::FloorDivSIOp>(op) && matchPattern(op->getOperand(1), m_Constant(&number));
  if (isQuotient && number.getInt() > 0 && !rows.outside(map, op->getResult(0)))
    return ofQuotient(operand(0), number.getInt());
  return {};
}
