//===- FlashDevice.cpp - how a flash stage runs on a device ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A thread has one query: its scores of a block of keys, their weights and the mix of a group lie in its own memory, and
// keys and values are read where they are stored. Products are plain arithmetic: tensor cores are the vector code's
// business.
//===----------------------------------------------------------------------===//
#include "schedules/halide/Flash.h"

using namespace attn;
using namespace Halide;

static constexpr int threads = 32;

void FlashPipeline::scheduleForDevice() {
  Var block("block"), thread("thread"), other("other"), otherThread("other_thread");
  for (Func &query : queries)
    query.compute_root().gpu_tile(x, e, block, other, thread, otherThread, threads, 4, TailStrategy::GuardWithIf);
  for (Func &column : badColumns) {
    column.compute_root().gpu_tile(e, block, thread, threads, TailStrategy::GuardWithIf);
    column.update().gpu_tile(e, block, thread, threads, TailStrategy::GuardWithIf);
  }
  if (!badColumns.empty()) {
    bad.compute_root().gpu_tile(j, block, thread, threads, TailStrategy::GuardWithIf);
    bad.update().gpu_tile(j, block, thread, threads, TailStrategy::GuardWithIf);
  }
  state.compute_root().gpu_tile(x, block, thread, threads, TailStrategy::GuardWithIf);
  state.update()
      .split(x, block, thread, threads, TailStrategy::GuardWithIf)
      .reorder(group, blocksSeen.x, thread, block)
      .gpu_blocks(block)
      .gpu_threads(thread);
  scores.compute_at(state, blocksSeen.x);
  maximum.compute_at(state, blocksSeen.x);
  weights.compute_at(state, blocksSeen.x);
  sum.compute_at(state, blocksSeen.x);
  for (Func &dot : dots)
    dot.compute_at(scores, k);
  if (!plan.mixes.empty())
    mixed.compute_at(state, group);
  for (Func &output : outputs)
    output.gpu_tile(output.args().back(), block, thread, threads, TailStrategy::GuardWithIf);
}
