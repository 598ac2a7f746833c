/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Does this processor multiply tiles of bf16, and may this process? A part of
 * its own, for only kernels with tiles may ask.
 */
#include "runtime/bind/Bind.h"
#include <stdbool.h>

#ifdef __x86_64__
#include "runtime/bind/Processor.h"

/* Linux hands out the tile registers on request only, once for a process (its
 * documentation, arch/x86/xstate). */
static bool may_use_tiles(void) {
#ifdef __linux__
  enum { arch_prctl = 158, request = 0x1023, tile_data = 18 };
  long result = arch_prctl;
  __asm__ volatile("syscall"
                   : "+a"(result)
                   : "D"((long)request), "S"((long)tile_data)
                   : "rcx", "r11", "memory");
  return result == 0;
#else
  return false;
#endif
}

static bool cpu_tiles(void) {
  unsigned a, b, c, d, also;
  /* AMX-BF16, AMX-TILE; AVX512-BF16; tile configuration and data */
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) && has(d, BIT(22) | BIT(24)) &&
         __get_cpuid_count(7, 1, &also, &b, &c, &d) && has(also, BIT(5)) &&
         has(saved_registers(), BIT(17) | BIT(18)) && may_use_tiles();
}
#else
static bool cpu_tiles(void) { return false; }
#endif

int32_t attn_cpu_tiles(void) {
  static int32_t found; /* 1: no, 2: yes */
  int32_t tiles = __atomic_load_n(&found, __ATOMIC_RELAXED);
  if (!tiles) {
    tiles = attn_cpu_level() >= 4 && cpu_tiles() ? 2 : 1;
    __atomic_store_n(&found, tiles, __ATOMIC_RELAXED);
  }
  return tiles == 2;
}
