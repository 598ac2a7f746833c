/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Evaluates a descriptor's expressions on 64-bit integers, refusing whatever
 * does not fit. It knows extents and scalars, nothing of messages.
 */
#ifndef ATTN_RUNTIME_BIND_EXPRESSION_H
#define ATTN_RUNTIME_BIND_EXPRESSION_H

#include "attn/runtime.h"
#include "runtime/bind/Descriptor.h"

#include <stdbool.h>

/** Why an expression has no value. */
enum attn_eval {
  ATTN_EVAL_OK,
  ATTN_EVAL_OVERFLOW,
  ATTN_EVAL_INEXACT, /**< left is not a multiple of right */
  ATTN_EVAL_ZERO,    /**< division by zero */
  ATTN_EVAL_BROKEN,  /**< not code */
};

struct attn_value {
  enum attn_eval status;
  int64_t value;
  int64_t left, right; /**< operands of the operation that failed */
};

/** What expressions speak about: arguments whose ranks and dtypes have been
 * checked, and the axes found so far. */
struct attn_scope {
  const struct attn_desc *desc;
  const void *const *args;
  const int64_t *axes;
};

static inline int64_t attn_dim_of(const struct attn_scope *scope, int64_t arg,
                                  int64_t dim) {
  return ((const DLTensor *)scope->args[arg])->shape[dim];
}

/** The bits of a scalar as the frame has them. */
static inline int64_t attn_scalar_bits(const struct attn_arg *arg,
                                       const void *at) {
  bool is_signed = arg->dtype_code == kDLInt;
  switch (arg->dtype_bits) {
  case 8:
    return is_signed ? (int64_t) * (const int8_t *)at
                     : (int64_t) * (const uint8_t *)at;
  case 16:
    return is_signed ? (int64_t) * (const int16_t *)at
                     : (int64_t) * (const uint16_t *)at;
  case 32:
    return is_signed ? (int64_t) * (const int32_t *)at
                     : (int64_t) * (const uint32_t *)at;
  default:
    return *(const int64_t *)at;
  }
}

/** Floor division without overflow: right is neither 0 nor -1. */
static inline int64_t attn_floor_div(int64_t left, int64_t right) {
  int64_t quotient = left / right;
  return quotient - (left % right != 0 && (left < 0) != (right < 0));
}

static inline enum attn_eval attn_divide(int64_t op, int64_t left,
                                         int64_t right, int64_t *out) {
  if (right == 0)
    return ATTN_EVAL_ZERO;
  if (right == -1) {
    if (op == ATTN_OP_MOD) {
      *out = 0;
      return ATTN_EVAL_OK;
    }
    return __builtin_sub_overflow((int64_t)0, left, out) ? ATTN_EVAL_OVERFLOW
                                                         : ATTN_EVAL_OK;
  }
  if (op == ATTN_OP_DIV && left % right != 0)
    return ATTN_EVAL_INEXACT;
  int64_t quotient = attn_floor_div(left, right);
  *out = op == ATTN_OP_MOD ? left - quotient * right : quotient;
  return ATTN_EVAL_OK;
}

static inline enum attn_eval attn_binary(int64_t op, int64_t left,
                                         int64_t right, int64_t *out) {
  bool overflow = false;
  switch (op) {
  case ATTN_OP_ADD:
    overflow = __builtin_add_overflow(left, right, out);
    break;
  case ATTN_OP_SUB:
    overflow = __builtin_sub_overflow(left, right, out);
    break;
  case ATTN_OP_MUL:
    overflow = __builtin_mul_overflow(left, right, out);
    break;
  case ATTN_OP_DIV:
  case ATTN_OP_FLOORDIV:
  case ATTN_OP_MOD:
    return attn_divide(op, left, right, out);
  case ATTN_OP_MIN:
    *out = left < right ? left : right;
    break;
  case ATTN_OP_MAX:
    *out = left > right ? left : right;
    break;
  case ATTN_OP_EQ:
    *out = left == right;
    break;
  case ATTN_OP_NE:
    *out = left != right;
    break;
  case ATTN_OP_LT:
    *out = left < right;
    break;
  case ATTN_OP_LE:
    *out = left <= right;
    break;
  case ATTN_OP_AND:
    *out = left && right;
    break;
  case ATTN_OP_OR:
    *out = left || right;
    break;
  default:
    return ATTN_EVAL_BROKEN;
  }
  return overflow ? ATTN_EVAL_OVERFLOW : ATTN_EVAL_OK;
}

/** Operands that follow an operation in the code. */
static inline int64_t attn_operands(int64_t op) {
  switch (op) {
  case ATTN_OP_DIM:
    return 2;
  case ATTN_OP_PUSH:
  case ATTN_OP_AXIS:
  case ATTN_OP_SCALAR:
    return 1;
  default:
    return 0;
  }
}

static inline int64_t attn_leaf(const struct attn_scope *scope,
                                const int64_t *code) {
  switch (*code) {
  case ATTN_OP_AXIS:
    return scope->axes[code[1]];
  case ATTN_OP_DIM:
    return attn_dim_of(scope, code[1], code[2]);
  case ATTN_OP_SCALAR:
    return attn_scalar_bits(&scope->desc->args[code[1]], scope->args[code[1]]);
  default:
    return code[1];
  }
}

static inline struct attn_value attn_evaluate(const struct attn_scope *scope,
                                              const int64_t *code) {
  struct attn_value result = {ATTN_EVAL_BROKEN, 0, 0, 0};
  int64_t stack[ATTN_STACK_DEPTH];
  int top = 0;
  for (; *code != ATTN_OP_END; code += 1 + attn_operands(*code)) {
    if (attn_operands(*code)) {
      if (top == ATTN_STACK_DEPTH)
        return result;
      stack[top++] = attn_leaf(scope, code);
    } else if (*code == ATTN_OP_NOT) {
      if (top < 1)
        return result;
      stack[top - 1] = !stack[top - 1];
    } else {
      if (top < 2)
        return result;
      int64_t left = stack[top - 2], right = stack[top - 1];
      enum attn_eval status = attn_binary(*code, left, right, &stack[top - 2]);
      if (status != ATTN_EVAL_OK)
        return (struct attn_value){status, 0, left, right};
      --top;
    }
  }
  if (top == 1)
    result = (struct attn_value){ATTN_EVAL_OK, stack[0], 0, 0};
  return result;
}

#endif /* ATTN_RUNTIME_BIND_EXPRESSION_H */
