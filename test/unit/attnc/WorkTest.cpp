// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/attnc/Work.h"
#include "test/unit/attnc/Programs.h"

using namespace attnc;

namespace {

struct Work : Programs {};

TEST_F(Work, MaskedPairsAreNotCounted) {
  attn::Signature signature = parse(causal);
  Extents extents = llvm::cantFail(extentsFrom(signature, {{"S", 10}, {"T", 10}, {"E", 8}}));
  int asked = 0;
  auto operations = countOperations(signature, extents, [&](mlir::Value) -> llvm::Expected<double> {
    ++asked;
    return 0.55;
  });
  ASSERT_TRUE(bool(operations)) << llvm::toString(operations.takeError());
  EXPECT_EQ(asked, 1);
  // Two contractions of 10 x 10 x 8 products.
  EXPECT_DOUBLE_EQ(*operations, 2 * 2 * 800 * 0.55);
}

} // namespace
