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
  int64_t share;       /* of the tasks left, one in so many is taken at a time */
  attn_task_fn body;
  void *data;
};

/* Takes the tasks from *task on; gives how many, 0 when none is left. Many at
 * first and single ones in the end: what takes next to no time, as chunks of
 * keys behind a window do, is not slowed down by the counter. Polychronopoulos
 * and Kuck, Guided Self-Scheduling (1987). */
static int64_t take(struct loop *loop, int64_t *task) {
  *task = __atomic_load_n(&loop->next, __ATOMIC_RELAXED);
  for (;;) {
    int64_t left = loop->tasks - *task;
    int64_t count = left / loop->share > 1 ? left / loop->share : 1;
    if (left <= 0)
      return 0;
    if (__atomic_compare_exchange_n(&loop->next, task, *task + count, 1,
                                    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
      return count;
  }
}

/* A shared counter rather than a worksharing loop: tasks start in order, so
 * that the heavy ones, which come first, never start last. Numbers are those of
 * the innermost team, hence small inside a caller's parallel region too. */
static void work(void *data) {
  struct loop *loop = data;
  int32_t worker = omp_get_thread_num();
  int64_t task, count;
  while ((count = take(loop, &task)))
    for (int64_t i = 0; i < count; ++i)
      loop->body(loop->data, task + i, worker);
}

/* The one way to start a team that the OpenMP libraries of GCC and of LLVM have
 * in common: whichever the program links serves, and none is forced on it. */
void GOMP_parallel(void (*body)(void *), void *data, unsigned threads,
                   unsigned flags);

void attn_parallel_for(attn_context *context, int64_t tasks, attn_task_fn body,
                       void *data) {
  int size = team_size(context->threads, tasks);
  struct loop loop = {0, tasks, 8 * (int64_t)size, body, data};
  if (size > 1) {
    GOMP_parallel(work, &loop, (unsigned)size, 0);
    return;
  }
  for (int64_t task = 0; task < tasks; ++task)
    body(data, task, 0);
}
