/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Stands for a compiled kernel: y = x + what the scalars say, so that a scalar passed wrongly is seen. */
#include "attn/runtime.h"
#include <stdbool.h>

attn_status mixed(attn_context *context, const DLTensor *x, float f, int8_t i, uint16_t bf, bool b, int64_t l, DLTensor *y) {
  if (context->threads != 3 || x->ndim != 1)
    return ATTN_BAD_ARGUMENT;
  for (int64_t n = 0; n < x->shape[0]; ++n)
    ((float *)y->data)[n] = ((const float *)x->data)[n] + f + (float)i + (float)bf + (b ? 0.5f : 0.0f) + (float)l;
  return ATTN_OK;
}

attn_status mixed_workspace(attn_context *context, const DLTensor *x, float f, int8_t i, uint16_t bf, bool b, int64_t l,
                            DLTensor *y, size_t *bytes) {
  (void)context, (void)f, (void)i, (void)bf, (void)b, (void)l, (void)y;
  *bytes = (size_t)x->shape[0] * 64;
  return ATTN_OK;
}
