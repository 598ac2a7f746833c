/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * With zero queries a causal row is the mean of the values so far; then a call that must be refused. */
#include "causal.h"
#include "scale.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { S = 5, E = 3 };

static DLTensor tensor(float *data, int32_t rank, int64_t *shape) {
  DLTensor result;
  memset(&result, 0, sizeof result);
  result.data = data;
  result.device.device_type = kDLCPU;
  result.ndim = rank;
  result.dtype.code = kDLFloat;
  result.dtype.bits = 32;
  result.dtype.lanes = 1;
  result.shape = shape;
  return result;
}

int main(void) {
  float q[S * E] = {0}, k[S * E] = {0}, v[S * E], o[S * E];
  for (int i = 0; i < S * E; ++i)
    v[i] = (float)i;
  int64_t shape[4] = {1, 1, S, E};
  DLTensor tq = tensor(q, 4, shape), tk = tensor(k, 4, shape), tv = tensor(v, 4, shape), to = tensor(o, 4, shape);

  char message[256] = "";
  attn_context context;
  if (attn_context_init(&context, sizeof context) != ATTN_OK)
    return 1;
  context.message = message;
  context.message_size = sizeof message;
  if (causal(&context, &tq, &tk, &tv, &to) != ATTN_OK) {
    printf("refused: %s\n", message);
    return 1;
  }
  for (int s = 0; s < S; ++s)
    for (int e = 0; e < E; ++e) {
      float mean = 0.5f * (float)(s * E) + (float)e;
      if (fabsf(o[s * E + e] - mean) > 1e-5f) {
        printf("row %d is wrong: %f instead of %f\n", s, o[s * E + e], mean);
        return 1;
      }
    }

  tk.ndim = 3;
  if (causal(&context, &tq, &tk, &tv, &to) != ATTN_BAD_ARGUMENT) {
    printf("a wrong rank was accepted\n");
    return 1;
  }
  printf("refused as it should be: %s\n", message);
  return 0;
}
