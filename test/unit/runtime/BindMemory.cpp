// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// attn_bind against hostile memory: strides, offsets, addresses, overlap.

#include "Call.h"

#include <gtest/gtest.h>

using namespace attn::test;

TEST(BindMemory, NullData) {
  Call call;
  call.x.dl.data = nullptr;
  EXPECT_EQ(call.refusal(), "mha: argument x: data is null");
}

TEST(BindMemory, ByteOffset) {
  Call call;
  call.x.dl.byte_offset = 64;
  ASSERT_EQ(call.refusal(), "ATTN_OK");
  EXPECT_EQ(call.frame[attn_frame_arg(&descriptor(), X)],
            reinterpret_cast<int64_t>(call.x.dl.data) + 64);
  call.x.dl.byte_offset = UINT64_MAX;
  EXPECT_EQ(call.refusal(),
            "mha: argument x: byte_offset reaches past the end of memory");
}

TEST(BindMemory, Alignment) {
  Call call;
  call.x.dl.byte_offset = 2;
  EXPECT_EQ(call.refusal(), "mha: argument x: data and byte_offset are not "
                            "aligned to the element's 4 bytes");
}

TEST(BindMemory, StridesOfInputs) {
  Call call;
  call.x.setStrides({0, -8, 1});
  call.x.dl.byte_offset = 64;
  ASSERT_EQ(call.refusal(), "ATTN_OK");
  EXPECT_EQ(call.frame[attn_frame_stride(&descriptor(), X, 1, 0)], -8);
}

TEST(BindMemory, StridesOfProducts) {
  Call call;
  call.wq.setStrides({-16, 2});
  call.wq.dl.byte_offset = 8 * 16 * 4;
  ASSERT_EQ(call.refusal(), "ATTN_OK");
  EXPECT_EQ(call.frame[attn_frame_stride(&descriptor(), Wq, 0, 0)],
            -32); // H steps over E
  EXPECT_EQ(call.frame[attn_frame_stride(&descriptor(), Wq, 0, 1)], -16);
}

TEST(BindMemory, StridesOfResults) {
  Call call;
  call.y.setStrides({0, 8, 2, 1});
  EXPECT_EQ(call.refusal(), "mha: argument y: dimension 0 has stride 0, but "
                            "what is written needs more than 0, or "
                            "elements share memory");
  call.y.setStrides({24, 7, 2, 1});
  EXPECT_EQ(call.refusal(), "mha: argument y: dimension 1 has stride 7, but "
                            "what is written needs more than 7, or "
                            "elements share memory");
  call.y.setStrides({24, 8, 1, 1});
  EXPECT_NE(call.refusal().find("elements share memory"), std::string::npos);
  call.y.setStrides({1, 2, 6, 24}); // transposed
  EXPECT_EQ(call.refusal(), "ATTN_OK");
  call.y.setStrides({24, -8, 2, 1}); // reversed
  call.y.dl.byte_offset = 256;
  EXPECT_EQ(call.refusal(), "ATTN_OK");
}

TEST(BindMemory, StrideOfAnExtentOfOneMayBeAnything) {
  Call call;
  call.x.setShape({1, 3, 8});
  call.cache.setShape({1, 7, 8});
  call.y.setShape({1, 3, 4, 2});
  call.y.setStrides({0, 8, 2, 1});
  call.x.setStrides({INT64_MIN, 8, 1});
  EXPECT_EQ(call.refusal(), "ATTN_OK");
}

TEST(BindMemory, StridePast64Bits) {
  Call call;
  for (int64_t stride : {INT64_MAX, INT64_MIN, INT64_MAX / 4, INT64_MIN / 4}) {
    call.x.setStrides({24, stride, 1});
    EXPECT_EQ(call.refusal(), "mha: argument x: dimension 1 makes the size or "
                              "an offset larger than 2^63 bytes");
  }
}

TEST(BindMemory, RangePastTheEndOfMemory) {
  Call call;
  call.x.setStrides({24, -(int64_t(1) << 60), 1});
  EXPECT_EQ(call.refusal(),
            "mha: argument x: the elements reach past the end of memory");
}

TEST(BindMemory, BroadcastOfMoreElementsThan64BitsCount) {
  Call call;
  int64_t huge = int64_t(1) << 40;
  call.x.setShape({2, huge, 8});
  call.x.setStrides({0, 0, 1});
  call.cache.setShape({2, huge + 4, 8});
  call.cache.dl.data = reinterpret_cast<void *>(uintptr_t(1) << 44);
  call.y.setShape({2, huge, 4, 2});
  call.y.dl.data = reinterpret_cast<void *>(uintptr_t(1) << 48);
  EXPECT_EQ(call.refusal(), "ATTN_OK"); // large, but addresses fit
  huge <<= 20;
  call.x.setShape({2, huge, 8});
  call.cache.setShape({2, huge + 4, 8});
  call.y.setShape({2, huge, 4, 2});
  EXPECT_EQ(call.refusal(), "mha: argument x: dimension 1 makes the size or an "
                            "offset larger than 2^63 bytes");
}

TEST(BindMemory, ResultOverInput) {
  Call call;
  call.y.dl.data = call.x.dl.data;
  EXPECT_EQ(call.refusal(),
            "mha: argument y: is written, but its memory overlaps that of x");
  call.y.dl.byte_offset = 2 * 3 * 8 * 4 - 4; // x's last element
  EXPECT_EQ(call.refusal(),
            "mha: argument y: is written, but its memory overlaps that of x");
  call.y.dl.byte_offset += 4;
  EXPECT_EQ(call.refusal(), "ATTN_OK");
}

TEST(BindMemory, InoutOverResultAndInput) {
  Call call;
  call.y.dl.data = call.cache.dl.data;
  EXPECT_EQ(
      call.refusal(),
      "mha: argument y: is written, but its memory overlaps that of cache");
  Call other;
  other.wq.dl.data = other.cache.dl.data;
  EXPECT_EQ(
      other.refusal(),
      "mha: argument cache: is written, but its memory overlaps that of wq");
}

TEST(BindMemory, SlicesOfOneBufferInterleave) {
  Call call; // x and y are [2, 3, 8] each, side by side in [2, 3, 16]
  call.x.setStrides({48, 16, 1});
  call.y.setStrides({48, 16, 2, 1});
  call.y.dl.data = call.x.dl.data;
  call.y.dl.byte_offset = 32;
  EXPECT_EQ(call.refusal(), "ATTN_OK");
  call.y.dl.byte_offset = 28; // one element into x's slice
  EXPECT_NE(call.refusal(), "ATTN_OK");
  call.y.dl.byte_offset = 36; // one element into x's next slice
  EXPECT_NE(call.refusal(), "ATTN_OK");
}

TEST(BindMemory, ReversedSlicesInterleave) {
  Call call;
  call.x.setStrides({48, 16, -1});
  call.x.dl.byte_offset = 28;
  call.y.setStrides({48, 16, 2, 1});
  call.y.dl.data = call.x.dl.data;
  call.y.dl.byte_offset = 32;
  EXPECT_EQ(call.refusal(), "ATTN_OK");
  call.y.dl.byte_offset = 28;
  EXPECT_NE(call.refusal(), "ATTN_OK");
}

TEST(BindMemory, EmptyTensorsOverlapNothing) {
  Call call;
  call.x.setShape({2, 0, 8});
  call.y.setShape({2, 0, 4, 2});
  call.y.dl.data = call.x.dl.data;
  EXPECT_EQ(call.refusal(), "ATTN_OK");
}
