/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Reading what an x86 processor says of itself.
 */
#ifndef ATTN_RUNTIME_BIND_PROCESSOR_H
#define ATTN_RUNTIME_BIND_PROCESSOR_H

#include <cpuid.h>
#include <stdbool.h>

/* Names of cpuid.h differ between compilers, so bits are given by number: Intel
 * 64 manual, volume 2, CPUID. */
#define BIT(n) (1u << (n))

static inline bool has(unsigned word, unsigned bits) {
  return (word & bits) == bits;
}

/* Registers that the system saves, by the bits of XCR0. For processors with
 * OSXSAVE. */
static inline unsigned saved_registers(void) {
  unsigned states, high;
  __asm__("xgetbv" : "=a"(states), "=d"(high) : "c"(0));
  return states;
}

#endif /* ATTN_RUNTIME_BIND_PROCESSOR_H */
