/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Memory for code that Halide generates: a task's allocations come from its
 * worker's scratch. They are given back in the order in which they were made, but
 * for some that go early; those wait until all behind them are gone.
 */
#include "runtime/bind/Bind.h"

enum { ARENA_ALIGN = 128 };

/* In front of each allocation. */
struct arena_head {
  struct arena_head *before;
  uintptr_t is_free;
};

void *halide_malloc(void *user_context, size_t bytes) {
  struct attn_arena *arena = user_context;
  uintptr_t at = (uintptr_t)arena->next + sizeof(struct arena_head);
  at = (at + ARENA_ALIGN - 1) / ARENA_ALIGN * ARENA_ALIGN;
  if (at > (uintptr_t)arena->end || bytes > (uintptr_t)arena->end - at)
    return 0;
  struct arena_head *head = (struct arena_head *)at - 1;
  head->before = arena->last;
  head->is_free = 0;
  arena->last = head;
  arena->next = (char *)at + bytes;
  return (void *)at;
}

void halide_free(void *user_context, void *memory) {
  struct attn_arena *arena = user_context;
  if (!memory)
    return;
  ((struct arena_head *)memory - 1)->is_free = 1;
  while (arena->last && ((struct arena_head *)arena->last)->is_free) {
    struct arena_head *head = arena->last;
    arena->next = (char *)head;
    arena->last = head->before;
  }
}
