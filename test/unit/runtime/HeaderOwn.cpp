/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The header has to do without DLPack's.
 */
#define ATTN_OWN_DLPACK
#include "attn/runtime.h"

extern "C" int64_t ownCxx(const DLTensor *tensor);

extern "C" int64_t ownCxx(const DLTensor *tensor) {
  attn_context context;
  if (attn_context_init(&context, sizeof(context)) != ATTN_OK)
    return -1;
  return tensor->shape[tensor->ndim - 1] + (int64_t)tensor->byte_offset +
         tensor->dtype.code + tensor->dtype.bits +
         (int64_t)tensor->device.device_type;
}
