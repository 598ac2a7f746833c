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

TEST_F(Work, RaggedAxesCountBySequence) {
  attn::Signature signature = parse(R"(
attn.program @scores(in "x" %x : !attn.ref<[(B S), E], f32>, in "len" %len : !attn.ref<[B], i64>,
                     out "y" %y : !attn.ref<[(B S)], f32>) axes [<B = len.0>, <E = x.1>, <S[B]>] facts [] {
  %b = attn.index "B" : !attn.value<[B], i64>
  %n = attn.read %len[%b] : (!attn.ref<[B], i64>, !attn.value<[B], i64>) -> !attn.value<[B], i64>
  attn.ragged "S" = %n : !attn.value<[B], i64>
  %s = attn.index "S" : !attn.value<[B, S], i64>
  %e = attn.index "E" : !attn.value<[E], i64>
  %v = attn.read %x[%b, %s, %e] : (!attn.ref<[(B S), E], f32>, !attn.value<[B], i64>, !attn.value<[B, S], i64>, !attn.value<[E], i64>) -> !attn.value<[B, E, S], f32>
  %c = attn.contract dot %v, %v over ["E"] : (!attn.value<[B, E, S], f32>, !attn.value<[B, E, S], f32>) -> !attn.value<[B, S], f32>
  attn.write %c, %y[%b, %s] : !attn.value<[B, S], f32>, !attn.ref<[(B S)], f32>, !attn.value<[B], i64>, !attn.value<[B, S], i64>
}
)");
  attn::reference::Buffers inputs;
  inputs["x"] = attn::reference::Buffer::zeros(attn::reference::Dtype::F32, {5, 4});
  inputs["len"] = attn::reference::Buffer::zeros(attn::reference::Dtype::I64, {3});
  inputs["len"].setInteger(0, 2);
  inputs["len"].setInteger(2, 3);
  Lengths lengths = llvm::cantFail(lengthsOf(signature, inputs));
  EXPECT_EQ(lengths["S"].extents, (std::vector<double>{2, 0, 3}));
  Extents extents = llvm::cantFail(extentsFrom(signature, inputs));
  auto none = [](mlir::Value) -> llvm::Expected<double> { return 1; };
  EXPECT_EQ(llvm::cantFail(countOperations(signature, extents, none, lengths)), 2 * 5 * 4);
}

} // namespace
