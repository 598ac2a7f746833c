/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * What a kernel's arguments must be, as constant data: the compiler emits one
 * attn_desc per kernel, attn_bind (Bind.c) checks a call against it and fills
 * the kernel's frame. Freestanding C11, also read by C++. Integers are all
 * int64_t and the rest plain pointers, so that a descriptor is a handful of
 * constant globals.
 *
 * The frame is an array of int64_t:
 *
 *   axes       one slot per axis, in the plan's order: its extent
 *   arguments  in declared order (results last)
 *     scalar   one slot: its bits; signed integers sign-extended, the rest
 *              (unsigned, bool, floats of any width) zero-extended
 *     tensor   one slot: the address of the element at index 0, byte_offset
 *              applied; then one slot per FACTOR, over all dimensions in order:
 *              its stride in elements. A dimension (H E) with stride s gives
 *              s * E, s.
 *   dimensions for each tensor in declared order, one slot per dimension: its
 *              extent
 *
 * A tensor without elements has strides 0. The attn_frame_... functions below
 * compute slot numbers.
 */
#ifndef ATTN_RUNTIME_BIND_DESCRIPTOR_H
#define ATTN_RUNTIME_BIND_DESCRIPTOR_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ATTN_DESC_VERSION 1

/** Words of an expression's code, for a stack machine over int64_t.
 * ATTN_OP_PUSH, AXIS, DIM and SCALAR have operands in the words that follow.
 * Every result that does not fit 64 bits refuses the call. Conditions are 0
 * and 1. */
enum attn_op {
  ATTN_OP_END = 0,    /**< one value is left: the result */
  ATTN_OP_PUSH = 1,   /**< operand: the constant */
  ATTN_OP_AXIS = 2,   /**< operand: the axis, earlier in the plan */
  ATTN_OP_DIM = 3,    /**< operands: argument (a tensor), dimension */
  ATTN_OP_SCALAR = 4, /**< operand: argument (a scalar, integer or bool) */
  ATTN_OP_ADD = 5,
  ATTN_OP_SUB = 6,
  ATTN_OP_MUL = 7,
  ATTN_OP_DIV = 8,      /**< refuses the call unless it divides exactly */
  ATTN_OP_FLOORDIV = 9, /**< rounds towards minus infinity */
  ATTN_OP_MOD = 10,     /**< the remainder of FLOORDIV */
  ATTN_OP_MIN = 11,
  ATTN_OP_MAX = 12,
  ATTN_OP_EQ = 13,
  ATTN_OP_NE = 14,
  ATTN_OP_LT = 15,
  ATTN_OP_LE = 16,
  ATTN_OP_AND = 17,
  ATTN_OP_OR = 18,
  ATTN_OP_NOT = 19,
};

/** Values that an expression may have on the stack at once. */
#define ATTN_STACK_DEPTH 32

/** An expression: its code, ended by ATTN_OP_END, and its text for messages.
 * Code null: not known before the call runs (a ragged axis). */
struct attn_expr {
  const int64_t *code;
  const char *text;
};

/** A dimension: the product of its factors, row-major; "(H E)" has two. One
 * with a factor of null code is not compared, and each factor gets its stride.
 */
struct attn_dim {
  int64_t num_factors;
  const struct attn_expr *factors;
  const char *text;
};

/** How the kernel uses an argument. */
enum attn_mode { ATTN_MODE_IN = 0, ATTN_MODE_INOUT = 1, ATTN_MODE_OUT = 2 };

/** An argument or a result. A scalar (is_scalar = 1) is passed by value and has
 * rank 0; a tensor of rank 0 is a DLTensor with one element. */
struct attn_arg {
  const char *name;
  int64_t mode;       /**< enum attn_mode */
  int64_t dtype_code; /**< as in DLDataType */
  int64_t dtype_bits; /**< 8, 16, 32 or 64 */
  int64_t is_scalar;
  int64_t rank;
  const struct attn_dim *dims;
};

/** An axis and where its extent comes from: "S = x.1", "E = D / H". A null code
 * makes an axis without an extent of its own (ragged): its slot is 0. */
struct attn_axis {
  const char *name;
  struct attn_expr extent;
};

/** An equality that is left to check: the extent of an axis equals expr. */
struct attn_fact {
  int64_t axis;
  struct attn_expr expr;
};

/** A kernel's arguments, and all that must hold of them. */
struct attn_desc {
  int64_t version; /**< ATTN_DESC_VERSION */
  const char *kernel;
  int64_t num_args;
  const struct attn_arg *args;
  int64_t num_axes; /**< the plan: computed in this order */
  const struct attn_axis *axes;
  int64_t num_facts;
  const struct attn_fact *facts;
  int64_t num_requirements; /**< conditions that must be 1 */
  const struct attn_expr *requirements;
  int64_t device; /**< DLDeviceType of the tensors' memory; 0: the CPU's */
};

/** Factors of all dimensions of an argument. */
static inline int64_t attn_num_factors(const struct attn_arg *arg) {
  int64_t count = 0;
  for (int64_t d = 0; d < arg->rank; ++d)
    count += arg->dims[d].num_factors;
  return count;
}

/** Slot of an axis. */
static inline int64_t attn_frame_axis(const struct attn_desc *desc,
                                      int64_t axis) {
  (void)desc;
  return axis;
}

/** Slot of an argument: a scalar's bits, a tensor's address. */
static inline int64_t attn_frame_arg(const struct attn_desc *desc,
                                     int64_t arg) {
  int64_t slot = desc->num_axes;
  for (int64_t i = 0; i < arg; ++i)
    slot += 1 + attn_num_factors(&desc->args[i]);
  return slot;
}

/** Slot of the stride of a factor; `factor` counts within the dimension. */
static inline int64_t attn_frame_stride(const struct attn_desc *desc,
                                        int64_t arg, int64_t dim,
                                        int64_t factor) {
  int64_t slot = attn_frame_arg(desc, arg) + 1;
  for (int64_t d = 0; d < dim; ++d)
    slot += desc->args[arg].dims[d].num_factors;
  return slot + factor;
}

/** Slot of the extent of a tensor's dimension. */
static inline int64_t attn_frame_dim(const struct attn_desc *desc, int64_t arg,
                                     int64_t dim) {
  int64_t slot = attn_frame_arg(desc, desc->num_args);
  for (int64_t i = 0; i < arg; ++i)
    slot += desc->args[i].rank;
  return slot + dim;
}

/** Slots of the whole frame. */
static inline int64_t attn_frame_size(const struct attn_desc *desc) {
  return attn_frame_dim(desc, desc->num_args, 0);
}

#ifdef __cplusplus
} /* extern "C" */
#endif
#endif /* ATTN_RUNTIME_BIND_DESCRIPTOR_H */
