/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * What a kernel for a CUDA device asks of its context while it runs: memory and
 * launches, all through context->cuda.
 */
#include "runtime/bind/Bind.h"
#include "runtime/bind/Message.h"

int32_t attn_is_on_cuda(const DLTensor *tensor) {
  return tensor && (tensor->device.device_type == kDLCUDA ||
                    tensor->device.device_type == kDLCUDAManaged);
}

/* A context may be one of before there were such kernels. */
static bool has_launcher(attn_context *context) {
  if (context->size >= sizeof(attn_context) && context->cuda)
    return true;
  struct attn_message m = attn_message_begin(context);
  put(&m, "context: cuda is null, so kernels cannot be started "
          "(attn_context_init sets it)");
  return false;
}

int32_t attn_cuda_reserve(attn_context *context, int64_t bytes, int64_t align,
                          void **memory, int32_t *owned) {
  *memory = 0;
  *owned = 0;
  if (!has_launcher(context))
    return ATTN_BAD_ARGUMENT;
  if (bytes <= 0 || context->workspace)
    return attn_reserve(context, bytes, align, memory, owned);
  int32_t status = (int32_t)context->cuda->alloc(context, bytes, memory);
  *owned = status == ATTN_OK;
  return status;
}

int32_t attn_cuda_release(attn_context *context, void *memory, int32_t owned) {
  return owned ? (int32_t)context->cuda->free(context, memory)
               : (int32_t)ATTN_OK;
}

int32_t attn_cuda_run(attn_context *context, int64_t tasks,
                      int64_t tasks_per_block, attn_cuda_launch *launch) {
  if (tasks <= 0)
    return ATTN_OK;
  /* Blocks go on to further tasks when a grid cannot have one for each. */
  int64_t blocks = (tasks - 1) / tasks_per_block + 1;
  launch->blocks = blocks < INT32_MAX ? blocks : INT32_MAX;
  return (int32_t)context->cuda->launch(context, launch);
}
