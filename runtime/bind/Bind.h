/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The functions that are part of every module of kernels, as assembly
 * (Embedded.h), local to it. They need no library.
 */
#ifndef ATTN_RUNTIME_BIND_BIND_H
#define ATTN_RUNTIME_BIND_BIND_H

#include "attn/cuda.h"
#include "runtime/bind/Descriptor.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Checks a call against its descriptor before anything is written, and fills
 * `frame` (attn_frame_size slots). args[i] points to a DLTensor, or to the
 * value of a scalar. On failure the message names the argument and the axis,
 * and the frame holds nothing of use. Returns an attn_status. */
int32_t attn_bind(const struct attn_desc *desc, attn_context *context,
                  const void *const *args, int64_t *frame);

/** Says that a requirement, which needs data to decide, does not hold. */
int32_t attn_refuse(const struct attn_desc *desc, attn_context *context,
                    const char *text);

/** Whether a tensor lies in memory of a CUDA device, or in memory that CUDA moves. */
int32_t attn_is_on_cuda(const DLTensor *tensor);

/** What this processor runs: on x86-64 the level of the psABI, 1 to 4; 1
 * elsewhere. */
int32_t attn_cpu_level(void);

/** Whether this processor multiplies tiles of bf16, and the process may: asks
 * the system for them. */
int32_t attn_cpu_tiles(void);

/** Says that this processor runs no variant of the kernel. */
int32_t attn_unsupported(attn_context *context, const char *kernel);

/** Memory for a call: the caller's workspace if there is one, else the alloc
 * hook's. *owned says whether attn_release has something to give back.
 * `bytes` < 0 stands for a size that did not fit 64 bits. */
int32_t attn_reserve(attn_context *context, int64_t bytes, int64_t align,
                     void **memory, int32_t *owned);

/** What NAME_workspace answers: attn_reserve's `bytes` into *place. */
int32_t attn_report_workspace(attn_context *context, int64_t bytes,
                              size_t *place);

/** Gives back what attn_reserve took. */
void attn_release(attn_context *context, void *memory, int32_t owned);

/** Workers that attn_run may use: tasks see numbers below this. */
int32_t attn_workers(const attn_context *context);

/** Runs the tasks, through the hook when there is one. */
void attn_run(attn_context *context, int64_t tasks, attn_task_fn body,
              void *data);

/** Scratch of a worker while a task of Halide's runs: where the next allocation
 * goes, the end, and the last allocation that was made; the context that is told
 * what fails, and whether it has been. */
struct attn_arena {
  char *next, *end;
  void *last;
  attn_context *context;
  int64_t told;
};

/** Halide's names for memory and for errors, of which the first is kept; the
 * user context is a struct attn_arena. */
void *halide_malloc(void *user_context, size_t bytes);
void halide_free(void *user_context, void *memory);
void halide_error(void *user_context, const char *text);

/** Finds the device that Halide's runtime, linked into the same object, starts
 * code on. Returns an attn_status. */
int32_t attn_device_start(attn_context *context);

/** The attn_status of what a function of Halide's returns. */
int32_t attn_device_status(int32_t code);

/** attn_reserve for a kernel that runs on a device: the workspace is the
 * device's memory, and it is context->cuda that is asked for more. Refuses a
 * context that cannot start kernels. */
int32_t attn_cuda_reserve(attn_context *context, int64_t bytes, int64_t align,
                          void **memory, int32_t *owned);

/** Gives back what attn_cuda_reserve took. */
int32_t attn_cuda_release(attn_context *context, void *memory, int32_t owned);

/** Starts a kernel that has `tasks` tasks, of which each block takes
 * `tasks_per_block` at a time, unless there are none. `launch` lacks `blocks`;
 * it lies in the caller's memory. */
int32_t attn_cuda_run(attn_context *context, int64_t tasks,
                      int64_t tasks_per_block, attn_cuda_launch *launch);

#ifdef __cplusplus
} /* extern "C" */
#endif
#endif /* ATTN_RUNTIME_BIND_BIND_H */
