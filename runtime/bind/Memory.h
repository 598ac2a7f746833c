/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Where a tensor's elements lie: strides, the range of addresses, and whether
 * two tensors, or two elements of one, can share memory. It knows nothing of
 * descriptors and messages.
 */
#ifndef ATTN_RUNTIME_BIND_MEMORY_H
#define ATTN_RUNTIME_BIND_MEMORY_H

#include "attn/runtime.h"

#include <stdbool.h>

/** A tensor with elements: bytes [low, high) hold them all. */
struct attn_region {
  const DLTensor *tensor;
  int64_t element_bytes;
  uint64_t first; /**< address of the element at index 0 */
  uint64_t low, high;
};

static inline bool attn_has_elements(const DLTensor *t) {
  for (int32_t d = 0; d < t->ndim; ++d)
    if (t->shape[d] == 0)
      return false;
  return true;
}

/** Number of bytes of a compact tensor of this shape, which has elements. False
 * when it does not fit; *dim is then where it grew too large. */
static inline bool attn_compact_bytes(const DLTensor *t, int64_t element_bytes,
                                      int64_t *bytes, int32_t *dim) {
  *bytes = element_bytes;
  for (*dim = 0; *dim < t->ndim; ++*dim)
    if (__builtin_mul_overflow(*bytes, t->shape[*dim], bytes))
      return false;
  return true;
}

/** Stride in elements, once attn_compact_bytes has passed. */
static inline int64_t attn_stride(const DLTensor *t, int32_t dim) {
  if (t->strides)
    return t->strides[dim];
  int64_t stride = 1;
  for (int32_t d = dim + 1; d < t->ndim; ++d)
    stride *= t->shape[d];
  return stride;
}

/** Distance in bytes from the first to the last index of a dimension. */
static inline bool attn_extent_bytes(const struct attn_region *r, int32_t dim,
                                     int64_t *bytes) {
  int64_t elements;
  return !__builtin_mul_overflow(r->tensor->shape[dim] - 1,
                                 attn_stride(r->tensor, dim), &elements) &&
         !__builtin_mul_overflow(elements, r->element_bytes, bytes);
}

/** Finds low and high. False when an address does not fit; *dim is then the
 * dimension at fault, or -1 when it is the address itself. */
static inline bool attn_find_range(struct attn_region *r, int32_t *dim) {
  int64_t below = 0, above = r->element_bytes, bytes;
  for (*dim = 0; *dim < r->tensor->ndim; ++*dim) {
    if (!attn_extent_bytes(r, *dim, &bytes))
      return false;
    int64_t *side = bytes < 0 ? &below : &above;
    if (__builtin_add_overflow(*side, bytes, side))
      return false;
  }
  *dim = -1;
  return !__builtin_sub_overflow(r->first, 0 - (uint64_t)below, &r->low) &&
         !__builtin_add_overflow(r->first, (uint64_t)above, &r->high);
}

static inline uint64_t attn_magnitude(int64_t value) {
  return value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
}

/** A dimension whose stride is not larger than the span of the dimensions of
 * smaller strides, so that two elements may share memory; -1 if there is none.
 * Every slice, permutation or reversal of a compact tensor has none. *span is
 * the stride that the dimension would have to exceed. */
static inline int32_t attn_self_overlap(const DLTensor *t, uint64_t *span) {
  for (int32_t d = 0; d < t->ndim; ++d) {
    if (t->shape[d] == 1)
      continue;
    uint64_t stride = attn_magnitude(attn_stride(t, d));
    *span = 0;
    for (int32_t e = 0; e < t->ndim; ++e) {
      uint64_t other = attn_magnitude(attn_stride(t, e));
      if (e != d && other <= stride)
        *span += other * (uint64_t)(t->shape[e] - 1);
    }
    if (stride <= *span)
      return d;
  }
  return -1;
}

/** The elements' addresses modulo `period` as an interval of `length` bytes
 * that starts at `start`: dimensions whose stride is a multiple of it do not
 * move them. */
struct attn_window {
  uint64_t start, length;
};

static inline struct attn_window attn_find_window(const struct attn_region *r,
                                                  uint64_t period) {
  struct attn_window w = {r->first, (uint64_t)r->element_bytes};
  for (int32_t d = 0; d < r->tensor->ndim; ++d) {
    int64_t bytes = 0;
    uint64_t stride = attn_magnitude(attn_stride(r->tensor, d));
    if (stride * (uint64_t)r->element_bytes % period == 0)
      continue;
    attn_extent_bytes(r, d, &bytes);
    w.length += attn_magnitude(bytes);
    if (bytes < 0)
      w.start -= attn_magnitude(bytes);
  }
  w.start %= period;
  return w;
}

static inline bool attn_apart_modulo(const struct attn_region *a,
                                     const struct attn_region *b,
                                     uint64_t period) {
  struct attn_window x = attn_find_window(a, period);
  struct attn_window y = attn_find_window(b, period);
  uint64_t gap =
      y.start >= x.start ? y.start - x.start : period - (x.start - y.start);
  return gap >= x.length && y.length <= period - gap;
}

/** Tries each stride of `by` as a period: slices of one buffer, such as keys
 * and values side by side, interleave without sharing an element. */
static inline bool attn_interleave(const struct attn_region *by,
                                   const struct attn_region *a,
                                   const struct attn_region *b) {
  for (int32_t d = 0; d < by->tensor->ndim; ++d) {
    uint64_t period = attn_magnitude(attn_stride(by->tensor, d)) *
                      (uint64_t)by->element_bytes;
    if (by->tensor->shape[d] > 1 && period && attn_apart_modulo(a, b, period))
      return true;
  }
  return false;
}

static inline bool attn_may_overlap(const struct attn_region *a,
                                    const struct attn_region *b) {
  if (a->high <= b->low || b->high <= a->low)
    return false;
  return !attn_interleave(a, a, b) && !attn_interleave(b, a, b);
}

#endif /* ATTN_RUNTIME_BIND_MEMORY_H */
