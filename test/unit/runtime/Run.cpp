// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What kernels ask of their context: memory and workers.

#include "runtime/bind/Bind.h"

#include <gtest/gtest.h>

#include <vector>

namespace {
struct Run : testing::Test {
  char text[128] = "";
  attn_context context = {};
  void *memory = this;
  int32_t owned = 7;

  Run() {
    attn_context_init(&context, sizeof(context));
    context.message = text;
    context.message_size = sizeof(text);
  }
};
} // namespace

TEST_F(Run, ReservesFromAlloc) {
  ASSERT_EQ(attn_reserve(&context, 1000, 64, &memory, &owned), ATTN_OK);
  EXPECT_EQ(owned, 1);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(memory) % 64, 0u);
  attn_release(&context, memory, owned);
}

TEST_F(Run, ReservesNothingForNothing) {
  ASSERT_EQ(attn_reserve(&context, 0, 64, &memory, &owned), ATTN_OK);
  EXPECT_EQ(memory, nullptr);
  EXPECT_EQ(owned, 0);
}

TEST_F(Run, ReservesTheWorkspace) {
  alignas(64) char workspace[256];
  context.workspace = workspace;
  context.workspace_bytes = sizeof(workspace);
  ASSERT_EQ(attn_reserve(&context, 256, 64, &memory, &owned), ATTN_OK);
  EXPECT_EQ(memory, workspace);
  EXPECT_EQ(owned, 0);
  attn_release(&context, memory, owned);
  EXPECT_EQ(attn_reserve(&context, 257, 64, &memory, &owned),
            ATTN_BAD_ARGUMENT);
  EXPECT_STREQ(text, "context: workspace has 256 bytes, but this call needs "
                     "257 aligned to 64");
  context.workspace = workspace + 8;
  EXPECT_EQ(attn_reserve(&context, 16, 64, &memory, &owned), ATTN_BAD_ARGUMENT);
}

TEST_F(Run, OutOfMemory) {
  context.alloc = [](attn_context *, size_t, size_t) -> void * {
    return nullptr;
  };
  EXPECT_EQ(attn_reserve(&context, 100, 64, &memory, &owned),
            ATTN_OUT_OF_MEMORY);
  EXPECT_STREQ(text, "context: alloc could not give 100 bytes of workspace");
  EXPECT_EQ(owned, 0);
  EXPECT_EQ(attn_reserve(&context, -1, 64, &memory, &owned),
            ATTN_OUT_OF_MEMORY);
  EXPECT_STREQ(text,
               "context: this call needs a workspace larger than 2^63 bytes");
  context.alloc = nullptr;
  EXPECT_EQ(attn_reserve(&context, 100, 64, &memory, &owned),
            ATTN_OUT_OF_MEMORY);
  EXPECT_STREQ(text, "context: without workspace and alloc there are no 100 "
                     "bytes of workspace");
}

static void record(void *data, int64_t task, int32_t worker) {
  static_cast<std::vector<int64_t> *>(data)->push_back(task * 10 + worker);
}

TEST_F(Run, SeriallyWithoutAHook) {
  context.parallel_for = nullptr;
  context.threads = 8;
  std::vector<int64_t> seen;
  EXPECT_EQ(attn_workers(&context), 1);
  attn_run(&context, 3, record, &seen);
  EXPECT_EQ(seen, (std::vector<int64_t>{0, 10, 20}));
}

TEST_F(Run, ThroughTheHook) {
  context.threads = 3;
  context.parallel_for = [](attn_context *, int64_t tasks, attn_task_fn body,
                            void *data) {
    for (int64_t task = 0; task < tasks; ++task)
      body(data, task, static_cast<int32_t>(2 - task % 3));
  };
  std::vector<int64_t> seen;
  EXPECT_EQ(attn_workers(&context), 3);
  attn_run(&context, 4, record, &seen);
  EXPECT_EQ(seen, (std::vector<int64_t>{2, 11, 20, 32}));
}
