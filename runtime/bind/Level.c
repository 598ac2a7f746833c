/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Which instructions does this processor have? Asked before a kernel that needs
 * more than its architecture's baseline.
 */
#include "runtime/bind/Bind.h"
#include "runtime/bind/Message.h"

#ifdef __x86_64__
#include "runtime/bind/Processor.h"

struct cpu {
  unsigned c1;     /* leaf 1, ecx */
  unsigned b7;     /* leaf 7, ebx */
  unsigned c81;    /* leaf 0x80000001, ecx */
  unsigned states; /* registers that the system saves */
};

static struct cpu cpu_ask(void) {
  struct cpu cpu = {0, 0, 0, 0};
  unsigned a, b, c, d;
  if (__get_cpuid(1, &a, &b, &c, &d))
    cpu.c1 = c;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d))
    cpu.b7 = b;
  if (__get_cpuid(0x80000001u, &a, &b, &c, &d))
    cpu.c81 = c;
  if (cpu.c1 & BIT(27)) /* OSXSAVE: xgetbv exists. */
    cpu.states = saved_registers();
  return cpu;
}

static int32_t cpu_level(void) {
  struct cpu cpu = cpu_ask();
  /* SSE3, SSSE3, CMPXCHG16B, SSE4.1, SSE4.2, POPCNT; LAHF in long mode */
  if (!has(cpu.c1, BIT(0) | BIT(9) | BIT(13) | BIT(19) | BIT(20) | BIT(23)) ||
      !has(cpu.c81, BIT(0)))
    return 1;
  /* FMA, MOVBE, AVX, F16C; BMI1, AVX2, BMI2; LZCNT; xmm and ymm */
  if (!has(cpu.c1, BIT(12) | BIT(22) | BIT(28) | BIT(29)) ||
      !has(cpu.b7, BIT(3) | BIT(5) | BIT(8)) || !has(cpu.c81, BIT(5)) ||
      !has(cpu.states, BIT(1) | BIT(2)))
    return 2;
  /* AVX512 F, DQ, CD, BW, VL; masks and zmm */
  if (!has(cpu.b7, BIT(16) | BIT(17) | BIT(28) | BIT(30) | BIT(31)) ||
      !has(cpu.states, BIT(5) | BIT(6) | BIT(7)))
    return 3;
  return 4;
}
#else
static int32_t cpu_level(void) { return 1; }
#endif

int32_t attn_cpu_level(void) {
  /* cpuid is slow under a hypervisor. Threads that race find the same. */
  static int32_t found;
  int32_t level = __atomic_load_n(&found, __ATOMIC_RELAXED);
  if (!level) {
    level = cpu_level();
    __atomic_store_n(&found, level, __ATOMIC_RELAXED);
  }
  return level;
}

int32_t attn_unsupported(attn_context *context, const char *kernel) {
  if (!attn_is_context(context))
    return ATTN_BAD_ARGUMENT;
  struct attn_message m = attn_message_begin(context);
  put(&m, kernel);
  put(&m, ": no variant of this kernel runs on this processor");
  return ATTN_UNSUPPORTED;
}
