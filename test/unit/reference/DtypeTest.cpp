// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Widening and rounding, exhaustively for the small formats, held against
// APFloat.
#include "dialects/reference/Dtype.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/ArrayRef.h"
#include <cmath>
#include <gtest/gtest.h>
#include <limits>

using namespace attn::reference;
using llvm::APFloat;

static const llvm::fltSemantics &semantics(Dtype dtype) {
  switch (dtype) {
  case Dtype::F16:
    return APFloat::IEEEhalf();
  case Dtype::BF16:
    return APFloat::BFloat();
  case Dtype::F8E4M3:
    return APFloat::Float8E4M3FN();
  case Dtype::F8E5M2:
    return APFloat::Float8E5M2();
  default:
    return APFloat::IEEEsingle();
  }
}

static uint32_t bitsOf(Dtype dtype, double value) {
  uint8_t bytes[8] = {};
  storeDouble(dtype, value, bytes);
  return bytes[0] | bytes[1] << 8 | bytes[2] << 16 |
         static_cast<uint32_t>(bytes[3]) << 24;
}

static double exactly(Dtype dtype, uint32_t bits) {
  APFloat value(semantics(dtype), llvm::APInt(8 * dtypeSize(dtype), bits));
  bool inexact;
  value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &inexact);
  return value.convertToDouble();
}

/// APFloat's rounding, with saturation for fp8 on top.
static double rounded(Dtype dtype, double value) {
  FloatFormat format = floatFormat(dtype);
  if (!format.overflowsToInfinity && std::fabs(value) >= format.largest)
    return std::copysign(format.largest, value);
  APFloat narrow(value);
  bool inexact;
  narrow.convert(semantics(dtype), APFloat::rmNearestTiesToEven, &inexact);
  narrow.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &inexact);
  return narrow.convertToDouble();
}

class SmallFloat : public testing::TestWithParam<Dtype> {};

TEST_P(SmallFloat, EveryPatternWidensAndStoresBack) {
  Dtype dtype = GetParam();
  for (uint32_t bits = 0; bits < (1u << (8 * dtypeSize(dtype))); ++bits) {
    uint8_t bytes[2] = {static_cast<uint8_t>(bits),
                        static_cast<uint8_t>(bits >> 8)};
    double value = loadDouble(dtype, bytes), wanted = exactly(dtype, bits);
    if (std::isnan(wanted)) {
      ASSERT_TRUE(std::isnan(value)) << bits;
      ASSERT_TRUE(std::isnan(exactly(dtype, bitsOf(dtype, value)))) << bits;
      continue;
    }
    ASSERT_EQ(value, wanted) << bits;
    ASSERT_EQ(std::signbit(value), std::signbit(wanted)) << bits;
    if (std::isfinite(value)) {
      ASSERT_EQ(bitsOf(dtype, value), bits);
    }
  }
}

// Rounding changes only at the midpoint of neighbours, so that point and the
// numbers beside it are all there is to test.
TEST_P(SmallFloat, RoundsToNearestEvenBetweenAllNeighbours) {
  Dtype dtype = GetParam();
  uint32_t sign = 1u << (8 * dtypeSize(dtype) - 1);
  for (uint32_t bits = 0; bits < sign; ++bits) {
    double low = exactly(dtype, bits), high = exactly(dtype, bits + 1);
    if (!std::isfinite(low) || !std::isfinite(high))
      continue;
    double middle = (low + high) / 2;
    for (double value :
         {std::nextafter(low, high), std::nextafter(middle, low), middle,
          std::nextafter(middle, high), std::nextafter(high, low)})
      for (double signedValue : {value, -value}) {
        ASSERT_EQ(roundTo(signedValue, dtype), rounded(dtype, signedValue))
            << signedValue;
        ASSERT_EQ(exactly(dtype, bitsOf(dtype, signedValue)),
                  rounded(dtype, signedValue));
      }
  }
}

INSTANTIATE_TEST_SUITE_P(All, SmallFloat,
                         testing::Values(Dtype::F16, Dtype::BF16, Dtype::F8E4M3,
                                         Dtype::F8E5M2),
                         [](const auto &info) {
                           return dtypeName(info.param).str();
                         });

TEST(Dtype, F16AndBf16OverflowToInfinity) {
  double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(roundTo(65519.99, Dtype::F16), 65504);
  EXPECT_EQ(roundTo(65520, Dtype::F16), infinity);
  EXPECT_EQ(roundTo(-1e300, Dtype::F16), -infinity);
  EXPECT_EQ(bitsOf(Dtype::F16, 1e9), 0x7c00u);
  EXPECT_EQ(roundTo(3.39e38, Dtype::BF16), std::ldexp(255.0, 120));
  EXPECT_EQ(roundTo(3.40e38, Dtype::BF16), infinity);
  EXPECT_EQ(roundTo(1e39, Dtype::F32), infinity);
}

TEST(Dtype, Fp8Saturates) {
  double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(roundTo(1e9, Dtype::F8E4M3), 448);
  EXPECT_EQ(roundTo(-infinity, Dtype::F8E4M3), -448);
  EXPECT_EQ(roundTo(infinity, Dtype::F8E5M2), 57344);
  EXPECT_EQ(bitsOf(Dtype::F8E5M2, infinity), 0x7bu);
  EXPECT_TRUE(std::isnan(roundTo(std::nan(""), Dtype::F8E4M3)));
}

TEST(Dtype, IntegersRoundToEvenAndSaturate) {
  EXPECT_EQ(roundTo(2.5, Dtype::I8), 2);
  EXPECT_EQ(roundTo(3.5, Dtype::I8), 4);
  EXPECT_EQ(roundTo(-128.6, Dtype::I8), -128);
  EXPECT_EQ(roundTo(300, Dtype::I8), 127);
  EXPECT_EQ(roundTo(-3, Dtype::U8), 0);
  EXPECT_EQ(roundTo(255.5, Dtype::U8), 255);
  EXPECT_EQ(roundTo(std::nan(""), Dtype::I32), 0);
  EXPECT_EQ(saturate(int64_t(1) << 40, Dtype::I32),
            std::numeric_limits<int32_t>::max());
  uint8_t bytes[8];
  storeDouble(Dtype::I64, 1e30, bytes);
  EXPECT_EQ(loadInteger(Dtype::I64, bytes),
            std::numeric_limits<int64_t>::max());
  storeDouble(Dtype::I64, -1e30, bytes);
  EXPECT_EQ(loadInteger(Dtype::I64, bytes),
            std::numeric_limits<int64_t>::min());
}

TEST(Dtype, NamesRoundTrip) {
  for (Dtype dtype : allDtypes())
    EXPECT_EQ(parseDtype(dtypeName(dtype)), dtype);
  EXPECT_EQ(allDtypes().size(), 10u);
  EXPECT_FALSE(parseDtype("f64"));
}
