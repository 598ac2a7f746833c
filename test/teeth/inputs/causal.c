/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The kernel of causal.attn written by hand, right unless FAULT says what is wrong with it. */
#include "attn/runtime.h"
#include <math.h>

#define WRONG_MASK 1     /* each query also sees the next key */
#define DROPPED_TAIL 2   /* keys past the last full tile of eight are forgotten */
#define SWAPPED_AXIS 3   /* heads and batch change places where values are read */
#define MISSED_RESCALE 4 /* the accumulator keeps its scale when the maximum grows */
#define OUT_OF_BOUNDS 5  /* one element past the result is written */
#define UNWRITTEN 6      /* rows whose query is the last are left as they were */
#ifndef FAULT
#define FAULT 0
#endif

static const float *at(const DLTensor *t, int64_t i0, int64_t i1, int64_t i2, int64_t i3) {
  int64_t place[4] = {i0, i1, i2, i3}, offset = 0, stride = 1;
  for (int d = 3; d >= 0; --d) {
    offset += place[d] * (t->strides ? t->strides[d] : stride);
    stride *= t->shape[d];
  }
  return (const float *)((const char *)t->data + t->byte_offset) + offset;
}

static void row(const DLTensor *q, const DLTensor *k, const DLTensor *v, DLTensor *o, int64_t b, int64_t h, int64_t s) {
  int64_t width = q->shape[3], values = v->shape[3], keys = k->shape[2];
  if (FAULT == DROPPED_TAIL && keys > 8)
    keys -= keys % 8;
  float top = -INFINITY, sum = 0;
  for (int64_t f = 0; f < values; ++f)
    *(float *)at(o, b, h, s, f) = 0;
  for (int64_t t = 0; t < keys && t <= s + (FAULT == WRONG_MASK); ++t) {
    float score = 0;
    for (int64_t e = 0; e < width; ++e)
      score += *at(q, b, h, s, e) * *at(k, b, h, t, e);
    score /= sqrtf((float)width);
    if (score == -INFINITY)
      continue;
    if (score > top) {
      float factor = FAULT == MISSED_RESCALE ? 1 : expf(top - score);
      for (int64_t f = 0; f < values; ++f)
        *(float *)at(o, b, h, s, f) *= factor;
      sum *= expf(top - score);
      top = score;
    }
    float weight = expf(score - top);
    sum += weight;
    for (int64_t f = 0; f < values; ++f) {
      int64_t vb = b, vh = h;
      if (FAULT == SWAPPED_AXIS && h < v->shape[0] && b < v->shape[1])
        vb = h, vh = b;
      *(float *)at(o, b, h, s, f) += weight * *at(v, vb, vh, t, f);
    }
  }
  for (int64_t f = 0; f < values; ++f)
    *(float *)at(o, b, h, s, f) *= sum > 0 || isnan(sum) ? 1 / sum : 0;
}

attn_status causal(attn_context *context, const DLTensor *q, const DLTensor *k, const DLTensor *v, DLTensor *o) {
  (void)context;
  int64_t queries = q->shape[2] - (FAULT == UNWRITTEN);
  for (int64_t b = 0; b < q->shape[0]; ++b)
    for (int64_t h = 0; h < q->shape[1]; ++h)
      for (int64_t s = 0; s < queries; ++s)
        row(q, k, v, o, b, h, s);
  if (FAULT == OUT_OF_BOUNDS && !o->strides)
    *(float *)at(o, o->shape[0] - 1, o->shape[1] - 1, o->shape[2] - 1, o->shape[3]) = 0;
  return ATTN_OK;
}

attn_status causal_workspace(attn_context *context, const DLTensor *q, const DLTensor *k, const DLTensor *v, DLTensor *o,
                             size_t *bytes) {
  (void)context, (void)q, (void)k, (void)v, (void)o;
  *bytes = 0;
  return ATTN_OK;
}
