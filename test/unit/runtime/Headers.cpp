// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whichever definition of DLPack a file sees, it reads the same tensor.

#include "Call.h"

#include <gtest/gtest.h>

extern "C" {
int64_t dlpackFirstC(const DLTensor *tensor);
int64_t dlpackFirstCxx(const DLTensor *tensor);
int64_t foundC(const DLTensor *tensor);
int64_t ownC(const DLTensor *tensor);
int64_t ownCxx(const DLTensor *tensor);
}

TEST(Headers, AgreeOnTheLayout) {
  attn::test::Tensor tensor(kDLBfloat, 16, {3, 50});
  tensor.dl.byte_offset = 1000;
  for (auto *read : {dlpackFirstC, dlpackFirstCxx, foundC, ownC, ownCxx})
    EXPECT_EQ(read(&tensor.dl), 50 + 1000 + kDLBfloat + 16 + kDLCPU);
}
