/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * What a kernel asks of its context while it runs: memory and workers.
 */
#include "runtime/bind/Bind.h"
#include "runtime/bind/Message.h"

static int32_t use_workspace(attn_context *context, int64_t bytes,
                             int64_t align, void **memory) {
  if ((uintptr_t)context->workspace % (uintptr_t)align == 0 &&
      (uint64_t)bytes <= context->workspace_bytes) {
    *memory = context->workspace;
    return ATTN_OK;
  }
  struct attn_message m = attn_message_begin(context);
  put(&m, "context: workspace has ");
  put_unsigned(&m, context->workspace_bytes);
  put(&m, " bytes, but this call needs ");
  put_int(&m, bytes);
  put(&m, " aligned to ");
  put_int(&m, align);
  return ATTN_BAD_ARGUMENT;
}

static int32_t out_of_memory(attn_context *context, int64_t bytes) {
  struct attn_message m = attn_message_begin(context);
  if (bytes < 0) {
    put(&m, "context: this call needs a workspace larger than 2^63 bytes");
    return ATTN_OUT_OF_MEMORY;
  }
  put(&m, context->alloc
              ? "context: alloc could not give "
              : "context: without workspace and alloc there are no ");
  put_int(&m, bytes);
  put(&m, " bytes of workspace");
  return ATTN_OUT_OF_MEMORY;
}

int32_t attn_reserve(attn_context *context, int64_t bytes, int64_t align,
                     void **memory, int32_t *owned) {
  *memory = 0;
  *owned = 0;
  if (bytes == 0)
    return ATTN_OK;
  if (bytes < 0)
    return out_of_memory(context, bytes);
  if (context->workspace)
    return use_workspace(context, bytes, align, memory);
  if (context->alloc)
    *memory = context->alloc(context, (size_t)bytes, (size_t)align);
  if (!*memory)
    return out_of_memory(context, bytes);
  *owned = 1;
  return ATTN_OK;
}

int32_t attn_report_workspace(attn_context *context, int64_t bytes,
                              size_t *place) {
  if (bytes < 0)
    return out_of_memory(context, bytes);
  if (!place) {
    struct attn_message m = attn_message_begin(context);
    put(&m, "workspace: the place for the size is null");
    return ATTN_BAD_ARGUMENT;
  }
  *place = (size_t)bytes;
  return ATTN_OK;
}

void attn_release(attn_context *context, void *memory, int32_t owned) {
  if (owned && context->free)
    context->free(context, memory);
}

int32_t attn_workers(const attn_context *context) {
  return context->parallel_for && context->threads > 1 ? context->threads : 1;
}

void attn_run(attn_context *context, int64_t tasks, attn_task_fn body,
              void *data) {
  if (attn_workers(context) > 1 && tasks > 1) {
    context->parallel_for(context, tasks, body, data);
    return;
  }
  for (int64_t task = 0; task < tasks; ++task)
    body(data, task, 0);
}
