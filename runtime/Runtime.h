/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * What the files of the runtime library share. Not installed.
 */
#ifndef ATTN_RUNTIME_RUNTIME_H
#define ATTN_RUNTIME_RUNTIME_H

#include "attn/runtime.h"

#define ATTN_HIDDEN __attribute__((visibility("hidden")))

/** Threads that OpenMP would take of itself, at least 1. */
ATTN_HIDDEN int32_t attn_all_threads(void);

/** The default hook, over OpenMP. */
ATTN_HIDDEN void attn_parallel_for(attn_context *context, int64_t tasks,
                                   attn_task_fn body, void *data);

#endif /* ATTN_RUNTIME_RUNTIME_H */
