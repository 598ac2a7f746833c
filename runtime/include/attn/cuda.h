/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Between kernels for CUDA devices and what starts them: context->cuda. Objects
 * know no driver; attn_context_init gives them attn_cuda_driver, and a program
 * may give its own. C11 and C++.
 */
#ifndef ATTN_CUDA_H
#define ATTN_CUDA_H

#include "attn/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Code for one kind of device. */
typedef struct attn_cuda_image {
  int64_t arch;      /**< ten times the compute capability: 80 */
  int64_t is_binary; /**< 1: machine code, which later devices of the same major
                        version run; 0: PTX, which all later devices run */
  const char *data;  /**< PTX ends with a zero byte */
  int64_t bytes;     /**< of data, with that zero byte */
} attn_cuda_image;

/** The device code of a spec file: the same kernels in each image. */
typedef struct attn_cuda_module {
  int64_t num_images;
  const attn_cuda_image *images;
} attn_cuda_module;

/** A kernel to be started. Its only parameter is `frame`, by value. */
typedef struct attn_cuda_launch {
  const attn_cuda_module *module;
  const char *kernel;
  int64_t blocks;       /**< 1 to 2^31 - 1, in one dimension */
  int64_t threads;      /**< of a block */
  int64_t shared_bytes; /**< of dynamic shared memory of a block */
  const void *frame;
  int64_t frame_bytes;
} attn_cuda_launch;

/** What kernels ask for. Nothing waits for the device; everything happens in the
 * order of context->stream. Failing functions explain themselves in
 * context->message. */
typedef struct attn_cuda {
  attn_status (*launch)(attn_context *context, const attn_cuda_launch *launch);
  /** Memory for what comes next on the stream, aligned to 256 bytes. */
  attn_status (*alloc)(attn_context *context, int64_t bytes, void **memory);
  /** Gives it back when the stream has come this far. */
  attn_status (*free)(attn_context *context, void *memory);
} attn_cuda;

/** The CUDA driver of this system, opened at the first use. Kernels run in the
 * CUDA context that is current. */
extern const attn_cuda attn_cuda_driver;

#ifdef __cplusplus
} /* extern "C" */
#endif
#endif /* ATTN_CUDA_H */
