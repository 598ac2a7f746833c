// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Ranges of keys against the mask itself, evaluated at every key for all small values of the symbols.
#include "compiler/optimize/KeyRanges.h"
#include "gtest/gtest.h"
#include <algorithm>
#include <random>

using namespace attn;

namespace {

int64_t floorDiv(int64_t x, int64_t y) { return x / y - (x % y < 0); }

AffineForm key(unsigned i = 0) { return AffineForm::variable(MaskVariable::Key, i); }
AffineForm symbol(unsigned i) { return AffineForm::variable(MaskVariable::Symbol, i); }
AffineForm quotient(unsigned i) { return AffineForm::variable(MaskVariable::Quotient, i); }
AffineForm operator+(const AffineForm &a, const AffineForm &b) { return *sumOf(a, b); }
AffineForm operator-(const AffineForm &a, const AffineForm &b) { return *sumOf(a, b, -1); }
AffineForm operator+(const AffineForm &a, int64_t b) { return a + AffineForm::number(b); }
AffineForm operator*(int64_t a, const AffineForm &b) { return *scaled(b, a); }
Formula atMost(const AffineForm &a, const AffineForm &b) { return Formula::atLeastZero(b - a); }
Formula below(const AffineForm &a, const AffineForm &b) { return Formula::atLeastZero(b - a + -1); }

struct Point {
  std::vector<int64_t> keys, symbols, quotients;

  int64_t value(const AffineForm &form) const {
    int64_t sum = form.constant;
    for (auto [variable, times] : form.terms)
      sum += times * (variable.kind == MaskVariable::Key      ? keys
                      : variable.kind == MaskVariable::Symbol ? symbols
                                                              : quotients)[variable.number];
    return sum;
  }
  bool holds(const Formula &formula) const {
    auto partHolds = [&](const Formula &part) { return holds(part); };
    switch (formula.kind) {
    case Formula::Unknown:
      return true;
    case Formula::AtLeast:
      return value(formula.form) >= 0;
    case Formula::Zero:
      return value(formula.form) == 0;
    case Formula::All:
      return std::all_of(formula.parts.begin(), formula.parts.end(), partHolds);
    case Formula::Any:
      return std::any_of(formula.parts.begin(), formula.parts.end(), partHolds);
    }
    return false;
  }
  bool isIn(const KeyHull &hull) const {
    int64_t from = INT64_MAX, to = INT64_MIN;
    for (const KeyRange &range : hull) {
      int64_t lower = -1000, upper = 1000;
      for (const KeyBound &bound : range.lower)
        lower = std::max(lower, floorDiv(value(bound.form), bound.divisor));
      for (const KeyBound &bound : range.upper)
        upper = std::min(upper, floorDiv(value(bound.form), bound.divisor));
      for (const AffineForm &condition : range.conditions)
        upper = value(condition) >= 0 ? upper : -1000;
      from = std::min(from, lower);
      to = std::max(to, upper);
    }
    return from <= keys[0] && keys[0] < to;
  }
};

/// Counts up like an odometer.
bool next(std::vector<int64_t> &digits, int64_t low, int64_t high) {
  for (int64_t &digit : digits) {
    if (++digit < high)
      return true;
    digit = low;
  }
  return false;
}

/// What a mask lets through lies in a range; what lies in one fulfils all conjuncts that are not left.
void expectSound(const MaskProblem &problem, const KeyRanges &ranges, int64_t keys = 9) {
  Point point;
  point.symbols.assign(problem.symbols, -2);
  do {
    point.keys.assign(problem.keys, 0);
    do {
      bool exists = true;
      for (unsigned i = 1; i < problem.keys; ++i)
        exists &= point.keys[i] < point.value(problem.innerExtents[i - 1]);
      if (!exists)
        continue;
      point.quotients.clear();
      for (const MaskQuotient &quotient : problem.quotients)
        point.quotients.push_back(floorDiv(point.value(quotient.dividend), quotient.divisor));
      bool inRange = std::any_of(ranges.hulls.begin(), ranges.hulls.end(), [&](auto &hull) { return point.isIn(hull); });
      bool seen = true, notLeft = true;
      for (size_t i = 0; i < problem.conjuncts.size(); ++i) {
        bool holds = point.holds(problem.conjuncts[i]);
        seen &= holds;
        notLeft &= holds || ranges.isLeft[i];
      }
      ASSERT_TRUE(!seen || inRange) << "a key that is seen lies in no range";
      ASSERT_TRUE(!inRange || notLeft) << "a conjunct that is not left does not hold in a range";
    } while (next(point.keys, 0, keys));
  } while (next(point.symbols, -2, 7));
}

KeyRanges soundRanges(const MaskProblem &problem, unsigned most = 8) {
  KeyRanges ranges = rangesOf(problem, most);
  expectSound(problem, ranges);
  return ranges;
}

bool nothingLeft(const KeyRanges &ranges) {
  return std::none_of(ranges.isLeft.begin(), ranges.isLeft.end(), [](bool left) { return left; });
}

const AffineForm t = key(), s = symbol(0), p = symbol(1);

TEST(KeyRanges, CausalIsOneRange) {
  KeyRanges ranges = soundRanges({1, 1, {}, {}, {atMost(t, s)}});
  ASSERT_EQ(ranges.hulls.size(), 1u);
  EXPECT_TRUE(nothingLeft(ranges));
  EXPECT_TRUE(ranges.hulls[0][0].lower.empty());
  EXPECT_EQ(ranges.hulls[0][0].upper[0].form, s + 1);
}

TEST(KeyRanges, PrefixJoinsWhatBeginsTogether) {
  KeyRanges ranges = soundRanges({1, 2, {}, {}, {Formula::any({atMost(t, s), below(t, p)})}});
  EXPECT_EQ(ranges.hulls.size(), 1u);
  EXPECT_TRUE(nothingLeft(ranges));
}

TEST(KeyRanges, SinksAndWindowAreTwo) {
  Formula window = Formula::all({atMost(t, s), below(s - t, AffineForm::number(3))});
  KeyRanges ranges = soundRanges({1, 1, {}, {}, {atMost(t, s), Formula::any({below(t, AffineForm::number(2)), window})}});
  EXPECT_EQ(ranges.hulls.size(), 2u);
  EXPECT_TRUE(nothingLeft(ranges));
}

TEST(KeyRanges, BlocksAreExactThroughQuotients) {
  // t / 4 <= s / 4, the quotient of the row as a symbol of its own.
  KeyRanges ranges = soundRanges({1, 1, {}, {{t, 4}}, {atMost(quotient(0), s)}});
  ASSERT_EQ(ranges.hulls.size(), 1u);
  EXPECT_TRUE(nothingLeft(ranges));
  EXPECT_EQ(ranges.hulls[0][0].upper[0].form, 4 * s + 4);
}

TEST(KeyRanges, GapsStayConditions) {
  // (s - t) % 2 == 0 within a window: the window is exact, the remainder is left.
  Formula even = Formula::zero(s - t - 2 * quotient(0));
  Formula window = Formula::all({atMost(t, s), below(s - t, p)});
  KeyRanges ranges = soundRanges({1, 2, {}, {{s - t, 2}}, {even, window}});
  EXPECT_EQ(ranges.hulls.size(), 1u);
  EXPECT_EQ(ranges.isLeft, (std::vector<bool>{true, false}));
  EXPECT_EQ(ranges.reason, "it leaves gaps within ranges of keys");
}

TEST(KeyRanges, RowsOfANeighbourhood) {
  // 0 <= i - s < 3 and 0 <= j - p < 3 over keys (I J): ranges of i, the condition on j is left.
  AffineForm i = key(0), j = key(1);
  Formula rows = Formula::all({atMost(s, i), below(i - s, AffineForm::number(3))});
  Formula columns = Formula::all({atMost(p, j), below(j - p, AffineForm::number(3))});
  KeyRanges ranges = soundRanges({2, 2, {AffineForm::number(5)}, {}, {rows, columns}});
  ASSERT_EQ(ranges.hulls.size(), 1u);
  EXPECT_EQ(ranges.isLeft, (std::vector<bool>{false, true}));
  EXPECT_EQ(ranges.hulls[0][0].lower[0].form, s);
}

TEST(KeyRanges, WhatHoldsInEveryRowIsNoCondition) {
  // abs(j - s) <= 1 for some j with 0 <= j < 5 says that s is between -1 and 5; rows know that it is between 0 and 4.
  Formula columns = Formula::all({atMost(key(1), s + 1), atMost(s, key(1) + 1)});
  MaskProblem problem{2, 2, {AffineForm::number(5)}, {}, {columns, atMost(key(0), p)}};
  EXPECT_EQ(soundRanges(problem).hulls[0][0].conditions.size(), 2u);
  problem.facts = {s, AffineForm::number(4) - s};
  EXPECT_TRUE(rangesOf(problem, 8).hulls[0][0].conditions.empty());
}

TEST(KeyRanges, MultiplesRoundInwards) {
  KeyRanges ranges = soundRanges({1, 2, {}, {}, {Formula::all({atMost(3 * t, s), atMost(p, 2 * t)})}});
  EXPECT_TRUE(nothingLeft(ranges));
  KeyRanges equal = soundRanges({1, 1, {}, {}, {Formula::zero(2 * t - s)}});
  EXPECT_TRUE(nothingLeft(equal));
}

TEST(KeyRanges, NeverAndAlways) {
  EXPECT_TRUE(soundRanges({1, 1, {}, {}, {below(t, s), below(s, t)}}).hulls.empty());
  KeyRanges always = soundRanges({1, 1, {}, {}, {Formula::any({atMost(t, s), below(s, t)})}});
  EXPECT_TRUE(nothingLeft(always));
  EXPECT_FALSE(soundRanges({1, 1, {}, {}, {Formula::unknown()}}).excludes());
}

TEST(KeyRanges, MoreThanMostAreJoined) {
  std::vector<Formula> points;
  for (int64_t i = 0; i < 5; ++i)
    points.push_back(Formula::zero(t - s + 2 * i));
  KeyRanges ranges = soundRanges({1, 1, {}, {}, {Formula::any(points)}}, /*most=*/3);
  EXPECT_EQ(ranges.hulls.size(), 3u);
  EXPECT_TRUE(ranges.isLeft[0]);
  EXPECT_EQ(ranges.reason, "it makes more ranges of keys than 3");
}

Formula randomFormula(std::mt19937 &random, unsigned keys, unsigned depth) {
  unsigned kind = random() % (depth == 0 ? 2 : 4);
  if (kind >= 2) {
    std::vector<Formula> parts;
    for (unsigned i = 0; i < 2 + random() % 2; ++i)
      parts.push_back(randomFormula(random, keys, depth - 1));
    return kind == 2 ? Formula::all(parts) : Formula::any(parts);
  }
  auto number = [&](int64_t most) { return int64_t(random() % (2 * most + 1)) - most; };
  AffineForm form = number(2) * s + number(1) * p + number(2) * quotient(0) + number(6);
  for (unsigned i = 0; i < keys; ++i)
    form = form + number(2) * key(i);
  return kind || form.terms.empty() ? Formula::atLeastZero(form) : Formula::zero(form);
}

TEST(KeyRanges, RandomMasks) {
  std::mt19937 random(7);
  for (int n = 0; n < 60; ++n) {
    unsigned keys = 1 + n % 2;
    MaskProblem problem{keys, 2, {}, {{s - key(keys - 1), 2 + int64_t(random() % 3)}}, {}};
    if (keys == 2)
      problem.innerExtents.push_back(AffineForm::number(4));
    for (int i = 0; i < 2; ++i)
      problem.conjuncts.push_back(randomFormula(random, keys, 2));
    SCOPED_TRACE(n);
    soundRanges(problem, 4);
  }
}

} // namespace
