/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Calls a kernel without the runtime library: one thread, workspace of the caller's. With queries of zero each causal
 * row is the mean of the values so far. Odd sizes, so that every tail is taken. */
#include "attention.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { H = 3, S = 37, E = 21, F = 19 };

static DLTensor tensor(float *data, int64_t *shape) {
  DLTensor result;
  memset(&result, 0, sizeof result);
  result.data = data;
  result.device.device_type = kDLCPU;
  result.ndim = 4;
  result.dtype.code = kDLFloat;
  result.dtype.bits = 32;
  result.dtype.lanes = 1;
  result.shape = shape;
  return result;
}

static float q[H * S * E], k[H * S * E], v[H * S * F], o[H * S * F];

int main(void) {
  for (int i = 0; i < H * S * E; ++i)
    k[i] = (float)(i % 7);
  for (int i = 0; i < H * S * F; ++i)
    v[i] = (float)((i * 37) % 11);
  int64_t keyed[4] = {1, H, S, E}, valued[4] = {1, H, S, F};
  DLTensor tq = tensor(q, keyed), tk = tensor(k, keyed), tv = tensor(v, valued), to = tensor(o, valued);

  char message[200] = "";
  attn_context context;
  memset(&context, 0, sizeof context);
  context.size = sizeof context;
  context.version = ATTN_ABI_VERSION;
  context.threads = 1;
  context.message = message;
  context.message_size = sizeof message;
  size_t bytes = 0;
  if (causal_workspace(&context, &tq, &tk, &tv, &to, &bytes) != ATTN_OK)
    return printf("workspace: %s\n", message), 1;
  char *memory = malloc(bytes + ATTN_WORKSPACE_ALIGNMENT);
  context.workspace = memory + (ATTN_WORKSPACE_ALIGNMENT - (uintptr_t)memory % ATTN_WORKSPACE_ALIGNMENT);
  context.workspace_bytes = bytes;
  if (causal(&context, &tq, &tk, &tv, &to) != ATTN_OK)
    return printf("refused: %s\n", message), 1;

  double worst = 0;
  for (int h = 0; h < H; ++h)
    for (int f = 0; f < F; ++f) {
      double sum = 0;
      for (int s = 0; s < S; ++s) {
        sum += v[(h * S + s) * F + f];
        worst = fmax(worst, fabs(sum / (s + 1) - o[(h * S + s) * F + f]));
      }
    }
  free(memory);
  printf(worst < 1e-5 ? "right\n" : "wrong by %g\n", worst);
  return worst < 1e-5 ? 0 : 1;
}
