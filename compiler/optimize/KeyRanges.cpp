//===- KeyRanges.cpp - the keys that a mask lets a row see ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "compiler/optimize/KeyRanges.h"
#include "mlir/Analysis/Presburger/PresburgerRelation.h"
#include "llvm/ADT/STLExtras.h"

using namespace attn;
using namespace mlir::presburger;
using llvm::DynamicAPInt;

/// More alternatives than this are not followed: a condition that would make them counts as unknown.
static constexpr unsigned mostAlternatives = 64;

//===----------------------------------------------------------------------===//
// Formulas
//===----------------------------------------------------------------------===//

int64_t AffineForm::operator[](MaskVariable variable) const {
  auto found = terms.find(variable);
  return found == terms.end() ? 0 : found->second;
}

bool AffineForm::isSymbolic() const {
  return llvm::all_of(terms, [](auto &term) { return term.first.kind == MaskVariable::Symbol; });
}

static std::optional<int64_t> within60Bits(bool overflowed, int64_t value) {
  constexpr int64_t most = int64_t(1) << 60;
  return overflowed || value > most || value < -most ? std::nullopt : std::optional(value);
}

std::optional<AffineForm> attn::sumOf(const AffineForm &a, const AffineForm &b, int64_t times) {
  auto joined = [&](int64_t x, int64_t y) {
    int64_t product, sum;
    bool overflowed = llvm::MulOverflow(y, times, product);
    overflowed |= bool(llvm::AddOverflow(x, product, sum));
    return within60Bits(overflowed, sum);
  };
  AffineForm result = a;
  std::optional<int64_t> constant = joined(a.constant, b.constant);
  if (!constant)
    return std::nullopt;
  result.constant = *constant;
  for (auto [variable, coefficient] : b.terms) {
    std::optional<int64_t> sum = joined(a[variable], coefficient);
    if (!sum)
      return std::nullopt;
    if (*sum)
      result.terms[variable] = *sum;
    else
      result.terms.erase(variable);
  }
  return result;
}

std::optional<AffineForm> attn::scaled(const AffineForm &form, int64_t factor) { return sumOf({}, form, factor); }

bool Formula::isKnown() const {
  return kind != Unknown && llvm::all_of(parts, [](const Formula &part) { return part.isKnown(); });
}

bool KeyRanges::excludes() const {
  return llvm::none_of(hulls, [](const KeyHull &hull) {
    return llvm::any_of(hull, [](const KeyRange &range) {
      return range.lower.empty() && range.upper.empty() && range.conditions.empty();
    });
  });
}

//===----------------------------------------------------------------------===//
// Sets
//===----------------------------------------------------------------------===//

namespace {
class RangeFinder {
public:
  RangeFinder(const MaskProblem &problem, unsigned most)
      : problem(problem), most(most),
        space(PresburgerSpace::getSetSpace(problem.keys, problem.symbols, problem.quotients.size())) {}

  KeyRanges run() {
    PresburgerRelation seen = innerKeys();
    for (const Formula &conjunct : problem.conjuncts) {
      std::optional<PresburgerRelation> set = setOf(conjunct), both;
      if (set)
        both = limited(seen.intersect(*set));
      if (both)
        seen = *both;
      sets.push_back(both ? set : std::nullopt);
    }
    for (const IntegerRelation &alternative : seen.getAllDisjuncts())
      if (!alternative.isIntegerEmpty())
        addShadow(alternative);
    dropContained();
    KeyRanges result;
    for (const IntegerRelation &shadow : shadows)
      result.hulls.push_back({rangeOf(shadow)});
    joinNeighbours(result.hulls);
    bool tooMany = result.hulls.size() > most;
    if (tooMany)
      joinRest(result.hulls);
    findLeft(result, tooMany);
    return result;
  }

private:
  unsigned columnOf(MaskVariable variable) const {
    switch (variable.kind) {
    case MaskVariable::Key:
      return variable.number;
    case MaskVariable::Symbol:
      return problem.keys + variable.number;
    case MaskVariable::Quotient:
      break;
    }
    return problem.keys + problem.symbols + variable.number;
  }

  std::vector<int64_t> row(const AffineForm &form) const {
    std::vector<int64_t> numbers(space.getNumVars() + 1, 0);
    for (auto [variable, coefficient] : form.terms)
      numbers[columnOf(variable)] = coefficient;
    numbers.back() = form.constant;
    return numbers;
  }

  PresburgerRelation universe() const { return PresburgerRelation::getUniverse(space.getSpaceWithoutLocals()); }

  static std::optional<PresburgerRelation> limited(PresburgerRelation set) {
    return set.getNumDisjuncts() > mostAlternatives ? std::nullopt : std::optional(std::move(set));
  }

  void addQuotient(IntegerPolyhedron &polyhedron, std::vector<bool> &done, const AffineForm &form) const {
    for (auto [variable, coefficient] : form.terms) {
      if (variable.kind != MaskVariable::Quotient || done[variable.number])
        continue;
      done[variable.number] = true;
      const MaskQuotient &quotient = problem.quotients[variable.number];
      addQuotient(polyhedron, done, quotient.dividend);
      // 0 <= dividend - divisor * quotient < divisor
      std::vector<int64_t> rest = row(quotient.dividend);
      rest[columnOf(variable)] -= quotient.divisor;
      polyhedron.addInequality(rest);
      for (int64_t &number : rest)
        number = -number;
      rest.back() += quotient.divisor - 1;
      polyhedron.addInequality(rest);
    }
  }

  IntegerPolyhedron polyhedronOf(const Formula &comparison) const {
    IntegerPolyhedron polyhedron(space);
    std::vector<bool> done(problem.quotients.size(), false);
    addQuotient(polyhedron, done, comparison.form);
    if (comparison.kind == Formula::Zero)
      polyhedron.addEquality(row(comparison.form));
    else
      polyhedron.addInequality(row(comparison.form));
    // Quotients that are not spoken of are free.
    for (unsigned q = problem.quotients.size(); q-- > 0;)
      if (!done[q])
        polyhedron.removeVar(VarKind::Local, q);
    return polyhedron;
  }

  /// The points where a condition holds or is unknown; nothing when they are too many sets.
  std::optional<PresburgerRelation> setOf(const Formula &formula) const {
    switch (formula.kind) {
    case Formula::Unknown:
      return universe();
    case Formula::AtLeast:
    case Formula::Zero:
      return PresburgerRelation(polyhedronOf(formula));
    case Formula::All:
    case Formula::Any:
      break;
    }
    bool isAll = formula.kind == Formula::All;
    PresburgerRelation result = isAll ? universe() : PresburgerRelation::getEmpty(space.getSpaceWithoutLocals());
    for (const Formula &part : formula.parts) {
      std::optional<PresburgerRelation> set = setOf(part);
      if (set)
        set = limited(isAll ? result.intersect(*set) : result.unionSet(*set));
      if (!set)
        return std::nullopt;
      result = *set;
    }
    return result;
  }

  PresburgerRelation innerKeys() const {
    IntegerPolyhedron polyhedron(space.getSpaceWithoutLocals());
    for (auto [i, extent] : llvm::enumerate(problem.innerExtents)) {
      MaskVariable key{MaskVariable::Key, unsigned(i) + 1};
      std::vector<int64_t> below = row(extent), from = row({0, {{key, 1}}});
      below[columnOf(key)] -= 1;
      below.back() -= 1;
      for (std::vector<int64_t> *numbers : {&below, &from}) {
        numbers->erase(numbers->end() - 1 - problem.quotients.size(), numbers->end() - 1);
        polyhedron.addInequality(*numbers);
      }
    }
    return PresburgerRelation(polyhedron);
  }

  //===--------------------------------------------------------------------===//
  // Shadows: the same without quotients and inner keys
  //===--------------------------------------------------------------------===//

  void addShadow(const IntegerRelation &alternative) {
    IntegerRelation shadow = alternative;
    isPlain &= shadow.getNumLocalVars() == 0 && problem.keys == 1;
    shadow.projectOut(shadow.getVarKindOffset(VarKind::Local), shadow.getNumLocalVars());
    // Inner keys stay as variables that nothing limits, so that all sets are of one space.
    for (unsigned key = problem.keys; key-- > 1;) {
      shadow.projectOut(key);
      shadow.insertVar(VarKind::SetDim, key);
    }
    shadow.removeRedundantConstraints();
    shadows.push_back(std::move(shadow));
  }

  void dropContained() {
    for (unsigned i = shadows.size(); i-- > 0;)
      for (unsigned j = 0; j < shadows.size(); ++j)
        if (i != j && shadows[i].isSubsetOf(shadows[j])) {
          shadows.erase(shadows.begin() + i);
          break;
        }
  }

  AffineForm formOf(llvm::ArrayRef<DynamicAPInt> numbers, int64_t times) const {
    AffineForm form;
    for (unsigned i = 0; i < problem.symbols; ++i)
      if (int64_t coefficient = int64_t(numbers[problem.keys + i]) * times)
        form.terms[{MaskVariable::Symbol, i}] = coefficient;
    form.constant = int64_t(numbers.back()) * times;
    return form;
  }

  /// Whether all numbers fit what bounds are made of; otherwise the constraint is passed over.
  static bool fits(llvm::ArrayRef<DynamicAPInt> numbers) {
    constexpr int64_t most = int64_t(1) << 61;
    return llvm::all_of(numbers, [](const DynamicAPInt &number) { return number <= most && number >= -most; });
  }

  void addConstraint(KeyRange &range, llvm::ArrayRef<DynamicAPInt> numbers) {
    if (!fits(numbers)) {
      isPlain = isExact = false;
      return;
    }
    int64_t times = int64_t(numbers[0]);
    if (times == 0) {
      if (AffineForm condition = formOf(numbers, 1); !isFact(condition))
        range.conditions.push_back(condition);
    } else if (times > 0) { // t >= ceil(-rest / times)
      KeyBound bound{formOf(numbers, -1), times};
      bound.form.constant += times - 1;
      range.lower.push_back(bound);
    } else { // t < floor(rest / -times) + 1
      KeyBound bound{formOf(numbers, 1), -times};
      bound.form.constant += -times;
      range.upper.push_back(bound);
    }
  }

  /// Whether a condition holds in every row: its opposite contradicts the facts.
  bool isFact(const AffineForm &condition) const {
    IntegerPolyhedron opposite(PresburgerSpace::getSetSpace(0, problem.symbols));
    auto add = [&](const AffineForm &form, int64_t times, int64_t plus) {
      std::vector<int64_t> numbers(problem.symbols + 1, 0);
      for (auto [variable, coefficient] : form.terms)
        numbers[variable.number] = times * coefficient;
      numbers.back() = times * form.constant + plus;
      opposite.addInequality(numbers);
    };
    add(condition, -1, -1);
    for (const AffineForm &fact : problem.facts)
      add(fact, 1, 0);
    return opposite.isIntegerEmpty();
  }

  KeyRange rangeOf(const IntegerRelation &shadow) {
    KeyRange range;
    for (unsigned i = 0; i < shadow.getNumInequalities(); ++i)
      addConstraint(range, shadow.getInequality(i));
    for (unsigned i = 0; i < shadow.getNumEqualities(); ++i) {
      llvm::SmallVector<DynamicAPInt> numbers(shadow.getEquality(i));
      addConstraint(range, numbers);
      for (DynamicAPInt &number : numbers)
        number = -number;
      addConstraint(range, numbers);
    }
    return range;
  }

  //===--------------------------------------------------------------------===//
  // Joining
  //===--------------------------------------------------------------------===//

  /// Ranges that all begin, or all end, at the same place are one.
  static bool areNeighbours(const KeyHull &a, const KeyHull &b) {
    auto same = [&](std::vector<KeyBound> KeyRange::*side) {
      return llvm::all_of(b, [&](const KeyRange &range) { return range.*side == a.front().*side; }) &&
             llvm::all_of(a, [&](const KeyRange &range) { return range.*side == a.front().*side; });
    };
    auto isConditional = [](const KeyRange &range) { return !range.conditions.empty(); };
    return same(&KeyRange::lower) ||
           (same(&KeyRange::upper) && llvm::none_of(a, isConditional) && llvm::none_of(b, isConditional));
  }

  static void joinNeighbours(std::vector<KeyHull> &hulls) {
    for (size_t i = 0; i < hulls.size(); ++i)
      for (size_t j = i + 1; j < hulls.size();) {
        if (!areNeighbours(hulls[i], hulls[j])) {
          ++j;
          continue;
        }
        hulls[i].insert(hulls[i].end(), hulls[j].begin(), hulls[j].end());
        hulls.erase(hulls.begin() + j);
      }
  }

  void joinRest(std::vector<KeyHull> &hulls) const {
    for (size_t i = most; i < hulls.size(); ++i)
      hulls[most - 1].insert(hulls[most - 1].end(), hulls[i].begin(), hulls[i].end());
    hulls.resize(most);
  }

  /// A conjunct is left unless every range lies within it.
  void findLeft(KeyRanges &result, bool tooMany) {
    bool isOver = tooMany || !isExact;
    PresburgerRelation covered = PresburgerRelation::getEmpty(space.getSpaceWithoutLocals());
    for (const IntegerRelation &shadow : shadows)
      covered.unionInPlace(shadow);
    covered = covered.intersect(innerKeys());
    for (auto [conjunct, set] : llvm::zip(problem.conjuncts, sets)) {
      std::string reason;
      if (!set)
        reason = "it has too many alternatives";
      else if (isOver)
        reason = tooMany ? "it makes more ranges of keys than " + std::to_string(most) : "its numbers are too large";
      else if (conjunct.isKnown() && !isPlain && !covered.isSubsetOf(*set))
        reason = "it leaves gaps within ranges of keys";
      result.isLeft.push_back(!conjunct.isKnown() || !reason.empty());
      if (conjunct.isKnown() && !reason.empty())
        result.reason = reason;
    }
  }

  const MaskProblem &problem;
  unsigned most;
  PresburgerSpace space;
  /// Of each conjunct; nothing where it was not followed.
  std::vector<std::optional<PresburgerRelation>> sets;
  std::vector<IntegerRelation> shadows;
  /// No quotient and no inner key was projected out: shadows are what they are the shadows of.
  bool isPlain = true;
  bool isExact = true;
};
} // namespace

KeyRanges attn::rangesOf(const MaskProblem &problem, unsigned most) { return RangeFinder(problem, most).run(); }
