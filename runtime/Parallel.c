/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The default parallel_for. The only file that knows OpenMP.
 */
#include "Runtime.h"

#include <omp.h>

int32_t attn_all_threads(void) {
  int threads = omp_get_max_threads();
  return threads < 1 ? 1 : threads;
}

/* More workers than this are never asked of OpenMP: a system that refuses a
 * thread makes its library abort, and context->threads is only an upper bound.
 */
static int most_workers(void) {
  int processors = omp_get_num_procs();
  int generous = processors < 16 ? 64 : processors * 4;
  int limit = omp_get_thread_limit();
  return limit > 0 && limit < generous ? limit : generous;
}

static int team_size(int32_t threads, int64_t tasks) {
  int64_t size = threads < tasks ? threads : tasks;
  int most = most_workers();
  return size < most ? (int)size : most;
}

struct loop {
  int64_t next, tasks; /* next is shared by the workers */
  attn_task_fn body;
  void *data;
};

/* A shared counter rather than a worksharing loop: tasks start in order, so
 * that the heavy ones, which come first, never start last. Numbers are those of
 * the innermost team, hence small inside a caller's parallel region too. */
static void work(void *data) {
  struct loop *loop = data;
  int32_t worker = omp_get_thread_num();
  for (;;) {
    int64_t task = __atomic_fetch_add(&loop->next, 1, __ATOMIC_RELAXED);
    if (task >= loop->tasks)
      return;
    loop->body(loop->data, task, worker);
  }
}

/* The one way to start a team that the OpenMP libraries of GCC and of LLVM have
 * in common: whichever the program links serves, and none is forced on it. */
void GOMP_parallel(void (*body)(void *), void *data, unsigned threads,
                   unsigned flags);

void attn_parallel_for(attn_context *context, int64_t tasks, attn_task_fn body,
                       void *data) {
  struct loop loop = {0, tasks, body, data};
  int size = team_size(context->threads, tasks);
  if (size > 1) {
    GOMP_parallel(work, &loop, (unsigned)size, 0);
    return;
  }
  for (int64_t task = 0; task < tasks; ++task)
    body(data, task, 0);
}
