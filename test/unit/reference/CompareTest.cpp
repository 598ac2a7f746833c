// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The comparison: each way in which it must fail, and the text of its report.
#include "dialects/reference/Compare.h"
#include <cmath>
#include <gtest/gtest.h>
#include <limits>

using namespace attn::reference;

static const double kInfinity = std::numeric_limits<double>::infinity();
static const double kNaN = std::numeric_limits<double>::quiet_NaN();

static Result expectation(std::vector<double> values,
                          std::vector<double> radii) {
  auto n = static_cast<int64_t>(values.size());
  Result result;
  result.rounded = Buffer::fromDoubles(Dtype::F32, {n}, values);
  result.value = values;
  result.radius = radii;
  result.dimensions = {{{{"s", n}}, {}}};
  return result;
}

static Comparison compared(std::vector<double> values,
                           std::vector<double> radii,
                           std::vector<double> actual) {
  auto n = static_cast<int64_t>(actual.size());
  return llvm::cantFail(compare("y", expectation(values, radii),
                                Buffer::fromDoubles(Dtype::F32, {n}, actual)));
}

static Outcome outcome(double value, double radius, double actual) {
  return compared({value}, {radius}, {actual}).outcome();
}

TEST(Compare, WithinTheRadiusAgrees) {
  EXPECT_EQ(outcome(1, 0.25, 1.25), Outcome::Agree);
  EXPECT_EQ(outcome(1, 0, 1), Outcome::Agree);
}
TEST(Compare, BeyondTheRadiusDiffers) {
  EXPECT_EQ(outcome(1, 0.25, 1.26), Outcome::Mismatch);
  EXPECT_EQ(outcome(1, 0.25, 0.74), Outcome::Mismatch);
  EXPECT_EQ(outcome(0, 0, 1e-30), Outcome::Mismatch);
}
TEST(Compare, NanEqualsOnlyExpectedNan) {
  EXPECT_EQ(outcome(1, 1e9, kNaN), Outcome::Mismatch);
  EXPECT_EQ(outcome(kNaN, 0, 1), Outcome::Mismatch);
  EXPECT_EQ(outcome(kNaN, 0, kInfinity), Outcome::Mismatch);
  EXPECT_EQ(outcome(kNaN, 0, kNaN), Outcome::Agree);
}
TEST(Compare, InfinitiesAreExact) {
  EXPECT_EQ(outcome(kInfinity, 0, kInfinity), Outcome::Agree);
  EXPECT_EQ(outcome(kInfinity, 0, -kInfinity), Outcome::Mismatch);
  EXPECT_EQ(outcome(-kInfinity, 1, -3e38), Outcome::Mismatch);
  EXPECT_EQ(outcome(1, 1e9, kInfinity), Outcome::Mismatch);
}
TEST(Compare, WithoutABoundNothingIsCompared) {
  EXPECT_EQ(outcome(1, kInfinity, 2), Outcome::NothingCompared);
  EXPECT_EQ(outcome(1, kNaN, kNaN), Outcome::NothingCompared);
  EXPECT_EQ(compared({}, {}, {}).outcome(), Outcome::NothingCompared);
  EXPECT_EQ(compared({1, 1}, {kInfinity, 0}, {9, 1}).unbounded, 1);
}
TEST(Compare, OutcomesCombine) {
  EXPECT_EQ(combine(Outcome::Agree, Outcome::NothingCompared), Outcome::Agree);
  EXPECT_EQ(combine(Outcome::NothingCompared, Outcome::NothingCompared),
            Outcome::NothingCompared);
  EXPECT_EQ(combine(Outcome::Agree, Outcome::Mismatch), Outcome::Mismatch);
}

TEST(Compare, OtherStorageIsAnError) {
  Result expected = expectation({1}, {0});
  auto text = [&](const Buffer &actual) {
    return llvm::toString(compare("y", expected, actual).takeError());
  };
  EXPECT_EQ(text(Buffer::zeros(Dtype::F16, {1})),
            "y: f32 was expected, f16 was given");
  EXPECT_EQ(text(Buffer::zeros(Dtype::F32, {2})),
            "y: shape 1 was expected, 2 was given");
}

TEST(Compare, ReportNamesTheWorstElements) {
  Result expected;
  expected.rounded = Buffer::zeros(Dtype::F32, {2, 6, 3});
  expected.value.assign(36, 0);
  expected.radius.assign(36, 0.5);
  expected.dimensions = {
      {{{"b", 2}}, {}}, {{{"h", 2}, {"e", 3}}, {}}, {{{"", 3}}, {}}};
  Buffer actual = expected.rounded;
  actual.set(18 + (1 * 3 + 2) * 3 + 1, 5);
  actual.set(2, -1);
  actual.set(3, 0.25);
  Comparison comparison = llvm::cantFail(compare("y", expected, actual));
  std::string text;
  llvm::raw_string_ostream out(text);
  comparison.print(out);
  EXPECT_EQ(
      text,
      "y: 2 of 36 elements differ (5.56 %), 36 elements, 36 compared, 0 "
      "without a bound, "
      "worst error / bound 10, median 0\n"
      "  b=1 h=1 e=2 #2=1  got 5  expected 0  error 5  bound 0.5  ratio 10\n"
      "  b=0 h=0 e=0 #2=2  got -1  expected 0  error 1  bound 0.5  ratio 2\n"
      "  b=0 h=0 e=1 #2=0  got 0.25  expected 0  error 0.25  bound 0.5  ratio "
      "0.5\n"
      "  b=0 h=0 e=0 #2=0  got 0  expected 0  error 0  bound 0.5  ratio 0\n"
      "  b=0 h=0 e=0 #2=1  got 0  expected 0  error 0  bound 0.5  ratio 0\n"
      "  error / bound:  0: 33  <=0.001: 0  <=0.01: 0  <=0.1: 0  <=0.5: 1  "
      "<=1: 0  <=2: 1"
      "  <=10: 1  more: 0\n");
}

TEST(Compare, RaggedPlacesAreNamedBySequence) {
  Result expected = expectation({0, 0, 0, 0, 0}, {0, 0, 0, 0, 0});
  expected.dimensions = {{{{"b", 3}, {"t", 3}}, {0, 2, 2, 5}}};
  EXPECT_EQ(expected.place(1), "b=0 t=1");
  EXPECT_EQ(expected.place(2), "b=2 t=0");
  EXPECT_EQ(expected.place(4), "b=2 t=2");
}
