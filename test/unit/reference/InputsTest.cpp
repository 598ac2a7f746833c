// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Inputs follow from the seed alone, and each case is what it says.
#include "dialects/reference/Inputs.h"
#include "dialects/reference/Philox.h"
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <set>

using namespace attn::reference;

static Buffer made(const ArgumentSpec &argument, llvm::StringRef name,
                   uint64_t seed = 7) {
  return llvm::cantFail(makeInput(argument, *findInputCase(name), seed));
}
static const ArgumentSpec kQuery = {"q", Dtype::F32, {2, 3, 8, 16}, {}};

TEST(Inputs, SameSeedSameNumbers) {
  EXPECT_EQ(made(kQuery, "normal").bytes, made(kQuery, "normal").bytes);
  EXPECT_NE(made(kQuery, "normal").bytes, made(kQuery, "normal", 8).bytes);
  ArgumentSpec key = kQuery;
  key.name = "k";
  EXPECT_NE(made(kQuery, "normal").bytes, made(key, "normal").bytes);
}

TEST(Inputs, NormalHasMeanZeroAndUnitVariance) {
  double sum = 0, squares = 0;
  std::vector<double> values = made(kQuery, "normal").numbers();
  for (double x : values) {
    sum += x;
    squares += x * x;
  }
  EXPECT_NEAR(sum / values.size(), 0, 0.15);
  EXPECT_NEAR(squares / values.size(), 1, 0.15);
}

TEST(Inputs, TinyHoldsDenormals) {
  std::vector<double> values = made(kQuery, "tiny").numbers();
  EXPECT_TRUE(std::any_of(values.begin(), values.end(), [](double x) {
    return x != 0 && std::fabs(x) < std::ldexp(1, -126);
  }));
}

TEST(Inputs, NanRowIsTheLastOne) {
  std::vector<double> values = made(kQuery, "nan-row").numbers();
  for (size_t i = 0; i < values.size(); ++i)
    EXPECT_EQ(std::isnan(values[i]), i / 16 % 8 == 7) << i;
}

TEST(Inputs, PaddingKeepsOneEndOfEachRow) {
  ArgumentSpec keep = {"keep", Dtype::Bool, {64, 5}, {}};
  std::set<int> counts;
  for (auto [name, sign] :
       {std::make_pair("ties", 1), std::make_pair("opposed", -1)}) {
    Buffer rows = made(keep, name);
    for (int64_t b = 0; b < 64; ++b) {
      int count = 0;
      for (int64_t t = 0; t < 5; ++t) {
        count += rows.integer(b * 5 + t);
        if (t)
          EXPECT_LE(sign * rows.integer(b * 5 + t),
                    sign * rows.integer(b * 5 + t - 1));
      }
      counts.insert(count);
    }
  }
  EXPECT_EQ(counts, (std::set<int>{0, 1, 2, 3, 4, 5}));
  for (int64_t i = 0; i < 320; ++i)
    EXPECT_EQ(made(keep, "empty").integer(i), 0);
}

TEST(Inputs, IntegersKeepTheirRange) {
  ArgumentSpec length = {"len", Dtype::I32, {100}, {IntegerRange::Any, 1, 9}};
  for (const InputCase &inputs : inputCases()) {
    Buffer values = llvm::cantFail(makeInput(length, inputs, 3));
    for (int64_t i = 0; i < 100; ++i) {
      EXPECT_GE(values.integer(i), 1);
      EXPECT_LE(values.integer(i), 9);
    }
  }
  EXPECT_EQ(made(length, "empty").integer(5), 1);
  EXPECT_EQ(made(length, "zeros").integer(5), 9);
}

TEST(Inputs, OffsetsRiseFromZeroToTheEnd) {
  ArgumentSpec offsets = {
      "off", Dtype::I32, {6}, {IntegerRange::Offsets, 0, 20}};
  Buffer values = made(offsets, "normal");
  EXPECT_EQ(values.integer(0), 0);
  EXPECT_EQ(values.integer(5), 20);
  for (int64_t i = 1; i < 6; ++i)
    EXPECT_LE(values.integer(i - 1), values.integer(i));
}

TEST(Inputs, PagesDiffer) {
  ArgumentSpec pages = {
      "page", Dtype::I32, {3, 4}, {IntegerRange::Distinct, 0, 12}};
  Buffer values = made(pages, "normal");
  std::set<int64_t> seen;
  for (int64_t i = 0; i < 12; ++i)
    seen.insert(values.integer(i));
  EXPECT_EQ(seen.size(), 12u);
  EXPECT_EQ(*seen.begin(), 0);
  EXPECT_EQ(*seen.rbegin(), 11);
}

TEST(Inputs, HopelessShapesAreErrors) {
  ArgumentSpec huge = {
      "x", Dtype::F32, {int64_t(1) << 40, int64_t(1) << 40}, {}};
  EXPECT_EQ(llvm::toString(makeInput(huge, inputCases()[0], 0).takeError()),
            "x: a tensor of 1099511627776x1099511627776 f32 is too large");
}

// The first vector of Random123's known answers for this generator.
TEST(Philox, KnownAnswer) {
  EXPECT_EQ(philox(0, 0), (std::array<uint32_t, 4>{0x6627e8d5, 0xe169c58d,
                                                   0xbc57ac4c, 0x9b00dbd8}));
}
