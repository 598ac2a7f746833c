// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// y[s] = the mean of v[0 .. s] weighted by 2^scores[s, :], and log2 of the weights' sum: one pass, a warp for each row. Lanes
// keep their own maximum, and are merged at the end.
#include "device.h"
#include "faults.h"

KERNEL softmax(float *y, float *lse, const float *scores, const float *v, u32 rows) {
  u32 lane = thread() % 32, row = block_x() * 4 + thread() / 32;
  if (row >= rows)
    return;
  float max = -__builtin_inff(), sum = 0, mix = 0;
  for (u32 t = lane; HAS(OFF_BY_ONE) ? t < row : t <= row; t += 32) {
    float score = scores[(unsigned long)row * rows + t];
    if (score > max) {
      float scale = HAS(MISSED_RESCALE) ? 1 : exp2_fast(max - score);
      sum *= scale;
      mix *= scale;
      max = score;
    }
    float weight = exp2_fast(score - max);
    sum += weight;
    mix += weight * v[t];
  }
  for (int bits = HAS(MISSED_LANES) ? 8 : 16; bits; bits /= 2) {
    float other = exchange(max, bits), next = larger(max, other);
    // A lane without keys has nothing to give.
    float mine = max == next ? 1 : exp2_fast(max - next), theirs = other == next ? 1 : exp2_fast(other - next);
    sum = sum * mine + exchange(sum, bits) * theirs;
    mix = mix * mine + exchange(mix, bits) * theirs;
    max = next;
  }
  if (lane == 0) {
    y[row] = mix / sum;
    lse[row] = max + __nvvm_lg2_approx_f(sum);
  }
}
