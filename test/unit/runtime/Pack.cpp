// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Weights in panels.

#include "attn/runtime.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace {

/// A tensor over its own f32 elements, which count up.
struct Tensor {
  std::vector<int64_t> shape, strides;
  std::vector<float> elements;
  DLTensor tensor;

  explicit Tensor(std::vector<int64_t> dims) : shape(std::move(dims)) {
    elements.resize(std::accumulate(shape.begin(), shape.end(), int64_t(1), std::multiplies<int64_t>()));
    std::iota(elements.begin(), elements.end(), 1.0f);
    tensor = {elements.data(), {kDLCPU, 0}, int32_t(shape.size()), {kDLFloat, 32, 1}, shape.data(), nullptr, 0};
  }
};

struct Pack : testing::Test {
  char message[256] = "";
  attn_context context;

  Pack() {
    attn_context_init(&context, sizeof(context));
    context.message = message;
    context.message_size = sizeof(message);
  }
};

} // namespace

TEST_F(Pack, ColumnsLieSideBySide) {
  Tensor weight({2, 16, 3}), packed({2, 3, 16}); // [(H E), D], D contracted
  ASSERT_EQ(attn_pack(&context, &weight.tensor, 1u << 2, &packed.tensor), ATTN_OK) << message;
  for (int64_t c = 0; c < 32; ++c)
    for (int64_t d = 0; d < 3; ++d)
      EXPECT_EQ(packed.elements[(c / 16 * 3 + d) * 16 + c % 16], weight.elements[c * 3 + d]);
}

TEST_F(Pack, ContractedInFrontBackwardsAndWithoutThreads) {
  Tensor weight({3, 32}), packed({2, 3, 16}); // [D, C]
  weight.strides = {-32, 1};
  weight.tensor.strides = weight.strides.data();
  weight.tensor.byte_offset = 2 * 32 * sizeof(float);
  context.parallel_for = nullptr;
  ASSERT_EQ(attn_pack(&context, &weight.tensor, 1u, &packed.tensor), ATTN_OK) << message;
  for (int64_t c = 0; c < 32; ++c)
    for (int64_t d = 0; d < 3; ++d)
      EXPECT_EQ(packed.elements[(c / 16 * 3 + d) * 16 + c % 16], weight.elements[(2 - d) * 32 + c]);
}

TEST_F(Pack, NothingToCopy) {
  Tensor weight({0, 5}), packed({0, 5, 16}), noDepth({16, 0}), packedToo({1, 0, 16});
  EXPECT_EQ(attn_pack(&context, &weight.tensor, 2u, &packed.tensor), ATTN_OK) << message;
  EXPECT_EQ(attn_pack(&context, &noDepth.tensor, 2u, &packedToo.tensor), ATTN_OK) << message;
}

TEST_F(Pack, WhatDoesNotFitIsRefusedAndNothingWritten) {
  Tensor weight({32, 5}), packed({2, 5, 16}), odd({20, 5}), narrow({2, 4, 16}), flat({2, 80});
  std::vector<float> before = packed.elements;
  EXPECT_EQ(attn_pack(&context, &odd.tensor, 2u, &packed.tensor), ATTN_BAD_ARGUMENT);
  EXPECT_STREQ(message, "attn_pack: weight has 20 columns, which is not a multiple of 16");
  EXPECT_EQ(attn_pack(&context, &weight.tensor, 2u, &narrow.tensor), ATTN_BAD_ARGUMENT);
  EXPECT_STREQ(message, "attn_pack: packed: dimension 1 must be 5, as dimension 1 of weight");
  EXPECT_EQ(attn_pack(&context, &weight.tensor, 2u, &flat.tensor), ATTN_BAD_ARGUMENT);
  EXPECT_EQ(attn_pack(&context, nullptr, 2u, &packed.tensor), ATTN_BAD_ARGUMENT);
  packed.tensor.dtype.bits = 16;
  EXPECT_EQ(attn_pack(&context, &weight.tensor, 2u, &packed.tensor), ATTN_BAD_ARGUMENT);
  EXPECT_STREQ(message, "attn_pack: packed: f32 is needed");
  EXPECT_EQ(packed.elements, before);
}
