//===- Limits.cpp - what this machine can do at most ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The loops are written once with vector types of any width and compiled once per instruction set.
//===----------------------------------------------------------------------===//
#include "tools/attnc/Limits.h"
#include "attn/runtime.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>
#ifdef __linux__
#include <sys/mman.h>
#endif

using namespace attnc;

// Without this a * x + y stays two instructions.
#pragma STDC FP_CONTRACT ON

namespace {

using Clock = std::chrono::steady_clock;

/// Uses a result, so that the loop that made it cannot be removed.
__attribute__((always_inline)) inline void keep(float result) { asm volatile("" : : "m"(result) : "memory"); }

template <int Lanes> struct Vector {
  typedef float Type __attribute__((vector_size(4 * Lanes)));
};

/// Twelve chains: two units with four cycles of latency need eight, and sixteen registers hold twelve and
/// the two operands.
constexpr int chains = 12;

template <int Lanes> __attribute__((always_inline)) inline void fmaLoop(int64_t steps) {
  using V = typename Vector<Lanes>::Type;
  V sum[chains];
  for (int i = 0; i < chains; ++i)
    sum[i] = V{} + (1.0f + 0.001f * i);
  V factor = V{} + 0.999f, term = V{} + 0.001f;
  asm volatile("" : "+m"(factor), "+m"(term));
  for (int64_t step = 0; step < steps; ++step)
#pragma clang loop unroll(full)
    for (int i = 0; i < chains; ++i)
      sum[i] = sum[i] * factor + term;
  float total = 0;
  for (int i = 0; i < chains; ++i)
    total += sum[i][0];
  keep(total);
}

template <int Lanes> __attribute__((always_inline)) inline void readLoop(const float *data, int64_t count) {
  using V = typename Vector<Lanes>::Type;
  V sum[4] = {};
  for (int64_t i = 0; i + 4 * Lanes <= count; i += 4 * Lanes)
    for (int j = 0; j < 4; ++j) {
      V loaded;
      __builtin_memcpy(&loaded, data + i + j * Lanes, sizeof(loaded));
      sum[j] += loaded;
    }
  V all = sum[0] + sum[1] + sum[2] + sum[3];
  keep(all[0]);
}

#if defined(__x86_64__)
__attribute__((target("avx512f,fma"))) void fma16(int64_t steps) { fmaLoop<16>(steps); }
__attribute__((target("avx2,fma"))) void fma8(int64_t steps) { fmaLoop<8>(steps); }
__attribute__((target("avx512f"))) void read16(const float *data, int64_t count) { readLoop<16>(data, count); }
__attribute__((target("avx2"))) void read8(const float *data, int64_t count) { readLoop<8>(data, count); }
#endif
void fma4(int64_t steps) { fmaLoop<4>(steps); }
void read4(const float *data, int64_t count) { readLoop<4>(data, count); }

struct Loops {
  int lanes;
  void (*fma)(int64_t);
  void (*read)(const float *, int64_t);
};

Loops hostLoops(int64_t mostLanes) {
#if defined(__x86_64__)
  if (mostLanes >= 16 && __builtin_cpu_supports("avx512f"))
    return {16, fma16, read16};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return {8, fma8, read8};
#endif
  return {4, fma4, read4};
}

/// Seconds from the first start to the last end of `work(thread)` on all threads at once. They are the threads of the
/// kernels' own hook: others would share the cores with its idle ones, which spin for a while.
template <typename Work> double together(int threads, Work work) {
  struct Shared {
    int threads;
    Work &work;
    std::atomic<int> ready{0};
    std::vector<Clock::time_point> begin, end;
  } shared{threads, work, {}, std::vector<Clock::time_point>(threads), std::vector<Clock::time_point>(threads)};
  auto body = [](void *data, int64_t task, int32_t) {
    Shared &shared = *static_cast<Shared *>(data);
    ++shared.ready;
    // The hook may have been told to use fewer threads: then they do not wait for each other for long.
    Clock::time_point patience = Clock::now() + std::chrono::milliseconds(100);
    while (shared.ready.load() < shared.threads && Clock::now() < patience)
      std::this_thread::yield();
    shared.begin[task] = Clock::now();
    shared.work(int(task));
    shared.end[task] = Clock::now();
  };
  attn_context context;
  attn_context_init(&context, sizeof context);
  attn_context_set_threads(&context, threads);
  context.parallel_for(&context, threads, body, &shared);
  std::chrono::duration<double> wall = *std::max_element(shared.end.begin(), shared.end.end()) -
                                       *std::min_element(shared.begin.begin(), shared.begin.end());
  return wall.count();
}

} // namespace

/// 256 MiB in all: several times the last cache of most machines, and 15 ms of reading.
static constexpr int64_t mostFloats = (int64_t(256) << 20) / 4;

Limits::Limits(int threads, int64_t mostLanes) : threads(std::max(threads, 1)), mostLanes(mostLanes) {
  constexpr size_t hugePage = size_t(2) << 20; // Small pages would add the misses of their addresses to what is measured.
  memory.reset(static_cast<float *>(std::aligned_alloc(hugePage, mostFloats * sizeof(float))));
#ifdef __linux__
  madvise(memory.get(), mostFloats * sizeof(float), MADV_HUGEPAGE);
#endif
  std::fill_n(memory.get(), mostFloats, 1.0f);
}

Limits::~Limits() = default;

double Limits::sampleFma() {
  const Loops loops = hostLoops(mostLanes);
  constexpr int64_t steps = 2'000'000; // 12 M multiply-adds a thread and lane: about 4 ms
  double seconds = together(threads, [&](int) { loops.fma(steps); });
  return 2.0 * chains * loops.lanes * steps * threads / seconds;
}

double Limits::sampleRead(double bytes) {
  const Loops loops = hostLoops(mostLanes);
  constexpr int64_t smallest = 1024, enough = int64_t(1) << 22; // floats that a thread reads, in all 16 MiB
  int64_t most = mostFloats / threads, share = std::clamp<int64_t>(int64_t(bytes / 4 / threads), smallest, most);
  int64_t times = std::max<int64_t>(1, enough / share);
  auto read = [&](int64_t times) {
    return together(threads, [&](int thread) {
      for (int64_t i = 0; i < times; ++i)
        loops.read(memory.get() + thread * share, share);
    });
  };
  if (share < most)
    read(1); // Whatever cache is to hold it now does.
  return 4.0 * share * threads * times / read(times);
}
