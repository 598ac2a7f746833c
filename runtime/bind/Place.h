/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The last part of attn_bind: is the memory of the tensors such that a kernel
 * can walk it, and where does each factor of a dimension step? Extents have
 * been checked.
 */
#ifndef ATTN_RUNTIME_BIND_PLACE_H
#define ATTN_RUNTIME_BIND_PLACE_H

#include "runtime/bind/Explain.h"
#include "runtime/bind/Memory.h"

static inline bool attn_is_known(const struct attn_dim *dim) {
  for (int64_t f = 0; f < dim->num_factors; ++f)
    if (!dim->factors[f].code)
      return false;
  return true;
}

static inline bool refuse_span(struct attn_binding *b, int64_t arg,
                               int64_t dim) {
  if (dim < 0)
    return refuse(b, arg, "the elements reach past the end of memory");
  say_dimension(b, arg, dim);
  put(&b->message, " makes the size or an offset larger than 2^63 bytes");
  return false;
}

static inline bool check_sharing(struct attn_binding *b, int64_t arg) {
  uint64_t span = 0;
  int32_t dim = attn_self_overlap(tensor(b, arg), &span);
  if (dim < 0)
    return true;
  say_dimension(b, arg, dim);
  put(&b->message, " has stride ");
  put_int(&b->message, attn_stride(tensor(b, arg), dim));
  put(&b->message, ", but what is written needs more than ");
  put_unsigned(&b->message, span);
  put(&b->message, ", or elements share memory");
  return false;
}

/** Finds the range of a tensor that has elements. */
static inline bool check_memory(struct attn_binding *b, int64_t arg,
                                struct attn_region *region) {
  const DLTensor *t = region->tensor;
  int64_t bytes;
  int32_t dim;
  if (!t->data)
    return refuse(b, arg, "data is null");
  if (region->first % (uint64_t)region->element_bytes != 0)
    return refuse_number(
        b, arg, "data and byte_offset are not aligned to the element's ",
        region->element_bytes, " bytes");
  if (!attn_compact_bytes(t, region->element_bytes, &bytes, &dim) ||
      !attn_find_range(region, &dim))
    return refuse_span(b, arg, dim);
  return b->desc->args[arg].mode == ATTN_MODE_IN || check_sharing(b, arg);
}

/** The tensor's memory, an empty range when it has no elements. */
static inline bool find_region(struct attn_binding *b, int64_t arg,
                               struct attn_region *region) {
  const DLTensor *t = tensor(b, arg);
  uint64_t address = (uint64_t)(uintptr_t)t->data;
  if (__builtin_add_overflow(address, t->byte_offset, &address))
    return refuse(b, arg, "byte_offset reaches past the end of memory");
  *region = (struct attn_region){t, b->desc->args[arg].dtype_bits / 8, address,
                                 address, address};
  return !attn_has_elements(t) || check_memory(b, arg, region);
}

/** Fills the strides of a dimension's factors, last factor first. */
static inline bool place_factors(struct attn_binding *b, int64_t arg, int64_t d,
                                 int64_t stride) {
  const struct attn_dim *dim = &b->desc->args[arg].dims[d];
  bool known = attn_is_known(dim);
  for (int64_t f = dim->num_factors - 1; f >= 0; --f) {
    b->frame[attn_frame_stride(b->desc, arg, d, f)] = stride;
    if (!f || !known || !stride)
      continue;
    struct attn_value v = evaluate(b, dim->factors[f].code);
    if (__builtin_mul_overflow(stride, v.value, &stride))
      return refuse_span(b, arg, d);
  }
  return true;
}

static inline bool place_tensor(struct attn_binding *b, int64_t arg) {
  const DLTensor *t = tensor(b, arg);
  struct attn_region region;
  if (!find_region(b, arg, &region))
    return false;
  b->frame[attn_frame_arg(b->desc, arg)] = (int64_t)region.first;
  bool elements = attn_has_elements(t);
  for (int32_t d = 0; d < t->ndim; ++d) {
    b->frame[attn_frame_dim(b->desc, arg, d)] = t->shape[d];
    if (!place_factors(b, arg, d, elements ? attn_stride(t, d) : 0))
      return false;
  }
  return true;
}

static inline bool place_arguments(struct attn_binding *b) {
  for (int64_t arg = 0; arg < b->desc->num_args; ++arg) {
    if (!b->desc->args[arg].is_scalar) {
      if (!place_tensor(b, arg))
        return false;
      continue;
    }
    b->frame[attn_frame_arg(b->desc, arg)] =
        attn_scalar_bits(&b->desc->args[arg], b->args[arg]);
  }
  return true;
}

/** Kernels write while they read: what is written shares no element with any
 * other argument. */
static inline bool check_pair(struct attn_binding *b, int64_t written,
                              int64_t other) {
  struct attn_region x, y;
  if (!find_region(b, written, &x) || !find_region(b, other, &y))
    return false;
  if (!attn_may_overlap(&x, &y))
    return true;
  say_argument(b, written);
  put(&b->message, "is written, but its memory overlaps that of ");
  put(&b->message, b->desc->args[other].name);
  return false;
}

static inline bool check_overlap(struct attn_binding *b) {
  const struct attn_arg *args = b->desc->args;
  for (int64_t i = 0; i < b->desc->num_args; ++i)
    for (int64_t j = 0; j < b->desc->num_args; ++j) {
      bool both = args[j].mode != ATTN_MODE_IN;
      if (args[i].mode == ATTN_MODE_IN || i == j || (both && j > i) ||
          args[j].is_scalar)
        continue;
      if (!check_pair(b, i, j))
        return false;
    }
  return true;
}

#endif /* ATTN_RUNTIME_BIND_PLACE_H */
