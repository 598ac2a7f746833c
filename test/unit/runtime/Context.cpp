// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Contexts and the default hooks.

#include "attn/runtime.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

/// OpenMP's library keeps what it allocated for a caller's thread that has
/// ended.
extern "C" const char *__lsan_default_suppressions();
extern "C" const char *__lsan_default_suppressions() { return "leak:libomp"; }

TEST(Context, InitFillsDefaults) {
  attn_context context;
  std::memset(&context, 0xff, sizeof(context));
  ASSERT_EQ(attn_context_init(&context, sizeof(context)), ATTN_OK);
  EXPECT_EQ(context.size, sizeof(context));
  EXPECT_EQ(context.version, ATTN_ABI_VERSION);
  EXPECT_GE(context.threads, 1);
  EXPECT_TRUE(context.parallel_for && context.alloc && context.free);
  EXPECT_FALSE(context.workspace || context.message || context.stream ||
               context.user);
}

TEST(Context, InitOfOtherSizes) {
  struct {
    attn_context known;
    char later[16];
  } wide;
  std::memset(&wide, 0xff, sizeof(wide));
  ASSERT_EQ(attn_context_init(&wide.known, sizeof(wide)), ATTN_OK);
  EXPECT_EQ(wide.known.size, sizeof(wide));
  for (char c : wide.later)
    EXPECT_EQ(c, 0);
  EXPECT_EQ(attn_context_init(&wide.known, 80), ATTN_BAD_ARGUMENT);
  EXPECT_EQ(attn_context_init(nullptr, sizeof(wide)), ATTN_BAD_ARGUMENT);
}

TEST(Context, SetThreads) {
  attn_context context;
  attn_context_init(&context, sizeof(context));
  int32_t all = context.threads;
  EXPECT_EQ(attn_context_set_threads(&context, 5), ATTN_OK);
  EXPECT_EQ(context.threads, 5);
  EXPECT_EQ(attn_context_set_threads(&context, -1), ATTN_BAD_ARGUMENT);
  EXPECT_EQ(context.threads, 5);
  EXPECT_EQ(attn_context_set_threads(&context, 0), ATTN_OK);
  EXPECT_EQ(context.threads, all);
}

TEST(Context, StatusNames) {
  EXPECT_STREQ(attn_status_name(ATTN_UNSUPPORTED), "ATTN_UNSUPPORTED");
  EXPECT_STREQ(attn_status_name(static_cast<attn_status>(77)),
               "unknown attn_status");
}

TEST(Context, AllocAligns) {
  attn_context context;
  attn_context_init(&context, sizeof(context));
  for (size_t align : {8, 64, 4096}) {
    void *memory = context.alloc(&context, 100, align);
    ASSERT_NE(memory, nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(memory) % align, 0u);
    std::memset(memory, 1, 100);
    context.free(&context, memory);
  }
  EXPECT_EQ(context.alloc(&context, SIZE_MAX, 64), nullptr);
}

namespace {
/// Counts how often each task ran, and that no worker runs two at once.
struct Census {
  std::vector<std::atomic<int>> runs;
  std::vector<std::atomic<int>> busy;
  std::atomic<bool> clash{false};

  Census(int64_t tasks, int32_t threads) : runs(tasks), busy(threads) {}

  static void task(void *data, int64_t task, int32_t worker) {
    auto &census = *static_cast<Census *>(data);
    if (worker < 0 || worker >= static_cast<int32_t>(census.busy.size())) {
      census.clash = true;
      return;
    }
    if (census.busy[worker]++)
      census.clash = true;
    census.runs[task]++;
    std::this_thread::yield();
    census.busy[worker]--;
  }

  void run(attn_context &context) {
    context.threads = static_cast<int32_t>(busy.size());
    context.parallel_for(&context, runs.size(), task, this);
  }

  bool good() const {
    for (const auto &count : runs)
      if (count != 1)
        return false;
    return !clash;
  }
};
} // namespace

TEST(ParallelFor, EachTaskOnceOnItsOwnWorker) {
  attn_context context;
  attn_context_init(&context, sizeof(context));
  for (int32_t threads = 1; threads <= 8; ++threads)
    for (int64_t tasks : {0, 1, 2, 7, 1000}) {
      Census census(tasks, threads);
      census.run(context);
      EXPECT_TRUE(census.good())
          << threads << " threads, " << tasks << " tasks";
    }
}

TEST(ParallelFor, AbsurdThreadsAreNotAskedFor) {
  attn_context context;
  attn_context_init(&context, sizeof(context));
  context.threads = INT32_MAX; // only an upper bound
  std::atomic<int64_t> ran{0};
  context.parallel_for(
      &context, 100000,
      [](void *data, int64_t, int32_t) {
        ++*static_cast<std::atomic<int64_t> *>(data);
      },
      &ran);
  EXPECT_EQ(ran, 100000);
}

TEST(ParallelFor, CallsAtTheSameTimeHaveTheirOwnWorkers) {
  std::atomic<int> good{0};
  std::vector<std::thread> callers;
  for (int i = 0; i < 3; ++i)
    callers.emplace_back([&] {
      attn_context context;
      attn_context_init(&context, sizeof(context));
      Census census(200, 4);
      census.run(context);
      good += census.good();
    });
  for (std::thread &caller : callers)
    caller.join();
  EXPECT_EQ(good, 3);
}

TEST(ParallelFor, NestsInATask) {
  attn_context context;
  attn_context_init(&context, sizeof(context));
  context.threads = 4;
  std::atomic<int> good{0};
  context.parallel_for(
      &context, 4,
      [](void *data, int64_t, int32_t) {
        attn_context inner;
        attn_context_init(&inner, sizeof(inner));
        Census census(50, 3);
        census.run(inner);
        *static_cast<std::atomic<int> *>(data) += census.good();
      },
      &good);
  EXPECT_EQ(good, 4);
}
