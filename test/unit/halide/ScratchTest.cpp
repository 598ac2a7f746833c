//===- ScratchTest.cpp - what a task allocates ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The bytes that are read off the lowered code, beside what the code asks of its allocator when it runs.
//===----------------------------------------------------------------------===//
#include "CausalPlan.h"
#include "schedules/halide/Decode.h"
#include "schedules/halide/Flash.h"
#include "schedules/halide/Product.h"
#include "schedules/halide/Scratch.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <gtest/gtest.h>

using namespace attn;
using Halide::Buffer;

namespace {

/// Counts as runtime/bind/Arena.c does: nothing is given back before what came after it.
struct Arena {
  int64_t used = 0, peak = 0;
  std::vector<std::pair<void *, int64_t>> stack;
  std::vector<void *> gone;
} arena;

constexpr size_t alignment = 128;

void *allocate(Halide::JITUserContext *, size_t bytes) {
  void *memory = nullptr;
  if (posix_memalign(&memory, alignment, bytes + alignment))
    return nullptr;
  int64_t taken = int64_t(bytes + 2 * alignment);
  arena.stack.emplace_back(memory, taken);
  arena.used += taken;
  arena.peak = std::max(arena.peak, arena.used);
  return memory;
}

void release(Halide::JITUserContext *, void *memory) {
  arena.gone.push_back(memory);
  while (!arena.stack.empty()) {
    auto [last, taken] = arena.stack.back();
    auto found = std::find(arena.gone.begin(), arena.gone.end(), last);
    if (found == arena.gone.end())
      return;
    arena.gone.erase(found);
    arena.stack.pop_back();
    arena.used -= taken;
    free(last);
  }
}

/// The peak of running the pipeline into `results`, which lies within what is read off the code, and not far below.
void expectBounded(StageParts &parts, std::vector<Buffer<>> results) {
  parts.schedule();
  Halide::Target target = Halide::get_host_target().with_feature(Halide::Target::StrictFloat);
  Halide::Module module = parts.pipeline().compile_to_module(parts.arguments(), "task", target);
  int64_t said = Halide::evaluate<int64_t>(scratchBytes(module.get_function_by_name("task"), parts));
  arena = {};
  Halide::Pipeline pipeline = parts.pipeline();
  pipeline.jit_handlers().custom_malloc = allocate;
  pipeline.jit_handlers().custom_free = release;
  Halide::Realization realization(results);
  pipeline.realize(realization, target);
  EXPECT_GT(arena.peak, 0);
  EXPECT_LE(arena.peak, said);
  EXPECT_LE(said, 2 * arena.peak + 8192);
}

class Scratch : public ::testing::TestWithParam<std::array<int, 4>> {
protected:
  StagePlan plan = causalPlan();

  void give(StageInputs &inputs) {
    auto [S, T, E, F] = GetParam();
    q = Buffer<float>(E, S), k = Buffer<float>(E, T), v = Buffer<float>(F, T);
    q.fill(1), k.fill(1), v.fill(1);
    inputs.tensors[0].set(q), inputs.tensors[1].set(k), inputs.tensors[2].set(v);
    for (size_t i = 0; i < 4; ++i)
      inputs.scalars[i].set(GetParam()[i]);
  }

  Buffer<float> q, k, v;
};

TEST_P(Scratch, OfATile) {
  auto [S, T, E, F] = GetParam();
  FlashPipeline flash(plan);
  give(flash.stageInputs());
  flash.firstBlockParam().set(0);
  flash.blocksParam().set(int((T + plan.keyTile - 1) / plan.keyTile));
  expectBounded(flash, {Buffer<float>(F, std::min<int>(S, int(plan.queryTile)))});
}

TEST_P(Scratch, OfAChunk) {
  auto [S, T, E, F] = GetParam();
  plan.part = PlanPart::Chunk;
  plan.rows = 4, plan.queryTile = 4, plan.keyTile = 16, plan.chunk = 48;
  ChunkPipeline chunk(plan);
  give(chunk.stageInputs());
  chunk.firstKeyParam().set(0);
  chunk.keysParam().set(std::min(T, 48));
  int queries = (S + 3) / 4 * 4, width = (F + 15) / 16 * 16;
  expectBounded(chunk, {Buffer<float>(queries), Buffer<float>(queries), Buffer<float>(width, queries)});
}

TEST_P(Scratch, OfAProduct) {
  auto [S, F, D, unused] = GetParam();
  StagePlan product = productPlan();
  ProductPipeline pipeline(product);
  StageInputs &inputs = pipeline.stageInputs();
  Buffer<float> x(D, S), w(D, F), b(F);
  x.fill(1), w.fill(1), b.fill(1);
  inputs.tensors[0].set(x), inputs.tensors[1].set(w), inputs.tensors[2].set(b);
  int extents[] = {S, F, D};
  for (size_t i = 0; i < 3; ++i)
    inputs.scalars[i].set(extents[i]);
  pipeline.setPart({0, std::min(S, 12)}, {0, std::min((F + 7) / 8, 2)}, F >= 8);
  expectBounded(pipeline, {Buffer<float>(F, S)});
}

INSTANTIATE_TEST_SUITE_P(Extents, Scratch,
                         ::testing::Values(std::array{3, 48, 1, 130}, std::array{32, 200, 256, 1}));

} // namespace
