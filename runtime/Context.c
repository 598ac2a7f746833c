/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Contexts: their defaults, and the names of statuses. How work is spread over
 * threads stands in Parallel.c.
 */
#include "Runtime.h"

#include "attn/cuda.h"

#include <stdlib.h>
#include <string.h>

static void *allocate(attn_context *context, size_t bytes, size_t align) {
  (void)context;
  /* C11 wants a size that is a multiple of the alignment. */
  if (align == 0 || bytes > SIZE_MAX - (align - 1))
    return NULL;
  size_t rounded = (bytes + align - 1) / align * align;
  return aligned_alloc(align, rounded ? rounded : align);
}

static void release(attn_context *context, void *memory) {
  (void)context;
  free(memory);
}

attn_status attn_context_init(attn_context *context, size_t size) {
  /* A caller of an earlier version has fewer fields, one of a later version more;
   * zero is their default. */
  if (!context || size < offsetof(attn_context, cuda) || size > UINT32_MAX)
    return ATTN_BAD_ARGUMENT;
  memset(context, 0, size);
  context->size = (uint32_t)size;
  context->version = ATTN_ABI_VERSION;
  context->threads = attn_all_threads();
  context->parallel_for = attn_parallel_for;
  context->alloc = allocate;
  context->free = release;
  if (size >= sizeof(attn_context))
    context->cuda = &attn_cuda_driver;
  return ATTN_OK;
}

attn_status attn_context_set_threads(attn_context *context, int32_t threads) {
  if (!context || threads < 0)
    return ATTN_BAD_ARGUMENT;
  context->threads = threads ? threads : attn_all_threads();
  return ATTN_OK;
}

const char *attn_status_name(attn_status status) {
  switch (status) {
  case ATTN_OK:
    return "ATTN_OK";
  case ATTN_BAD_ARGUMENT:
    return "ATTN_BAD_ARGUMENT";
  case ATTN_OUT_OF_MEMORY:
    return "ATTN_OUT_OF_MEMORY";
  case ATTN_UNSUPPORTED:
    return "ATTN_UNSUPPORTED";
  case ATTN_INTERNAL:
    return "ATTN_INTERNAL";
  }
  return "unknown attn_status";
}
