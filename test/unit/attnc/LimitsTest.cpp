// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/attnc/Limits.h"
#include "gtest/gtest.h"

namespace {

// A loop that the compiler removed would give thousands of times these.
TEST(Limits, RatesArePossible) {
  attnc::Limits limits(/*threads=*/1, /*mostLanes=*/16);
  double fma = limits.sampleFma();
  EXPECT_GT(fma, 1e8);
  EXPECT_LT(fma, 2e12);
  for (double bytes : {0.0, 65536.0, 1e12}) {
    double read = limits.sampleRead(bytes);
    EXPECT_GT(read, 1e7);
    EXPECT_LT(read, 1e12);
  }
}

} // namespace
