/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The state of one attn_bind, and the sentences that its refusals are made of.
 * Functions whose name starts with refuse or explain return false, so that a
 * check can return them.
 */
#ifndef ATTN_RUNTIME_BIND_EXPLAIN_H
#define ATTN_RUNTIME_BIND_EXPLAIN_H

#include "runtime/bind/Expression.h"
#include "runtime/bind/Message.h"

struct attn_binding {
  const struct attn_desc *desc;
  const void *const *args;
  int64_t *frame;
  struct attn_message message;
  int32_t status; /**< what a refusal returns */
};

static inline const DLTensor *tensor(const struct attn_binding *b,
                                     int64_t arg) {
  return (const DLTensor *)b->args[arg];
}

static inline struct attn_value evaluate(const struct attn_binding *b,
                                         const int64_t *code) {
  struct attn_scope scope = {b->desc, b->args, b->frame};
  return attn_evaluate(&scope, code);
}

static inline void say_kernel(struct attn_binding *b) {
  put(&b->message, b->desc->kernel);
  put(&b->message, ": ");
}

/** "mha: argument x: " */
static inline void say_argument(struct attn_binding *b, int64_t arg) {
  say_kernel(b);
  put(&b->message, "argument ");
  put(&b->message, b->desc->args[arg].name);
  put(&b->message, ": ");
}

/** "mha: argument x: dimension 2" */
static inline void say_dimension(struct attn_binding *b, int64_t arg,
                                 int64_t dim) {
  say_argument(b, arg);
  put(&b->message, "dimension ");
  put_int(&b->message, dim);
}

/** "mha: argument x: dimension 2 is 7, but " */
static inline void say_extent(struct attn_binding *b, int64_t arg,
                              int64_t dim) {
  say_dimension(b, arg, dim);
  put(&b->message, " is ");
  put_int(&b->message, tensor(b, arg)->shape[dim]);
  put(&b->message, ", but ");
}

/** "[B, (H E)]" */
static inline void say_shape(struct attn_binding *b,
                             const struct attn_arg *arg) {
  put(&b->message, "[");
  for (int64_t d = 0; d < arg->rank; ++d) {
    put(&b->message, d ? ", " : "");
    put(&b->message, arg->dims[d].text);
  }
  put(&b->message, "]");
}

/** Does the code, up to `end` if that is not null, speak of the same axis or
 * scalar as word `at`? */
static inline bool mentions(const int64_t *code, const int64_t *end,
                            const int64_t *at) {
  for (; code != end && *code != ATTN_OP_END; code += 1 + attn_operands(*code))
    if (code[0] == at[0] && code[1] == at[1])
      return true;
  return false;
}

/** Is word `at` of expression `i` the first to speak of its axis or scalar? */
static inline bool is_first_mention(const struct attn_expr *exprs, int64_t i,
                                    const int64_t *at) {
  for (int64_t before = 0; before < i; ++before)
    if (mentions(exprs[before].code, NULL, at))
      return false;
  return !mentions(exprs[i].code, at, at);
}

static inline void say_value(struct attn_binding *b, const int64_t *code,
                             bool first) {
  put(&b->message, first ? " (" : ", ");
  put(&b->message, *code == ATTN_OP_AXIS ? b->desc->axes[code[1]].name
                                         : b->desc->args[code[1]].name);
  put(&b->message, " = ");
  put_int(&b->message,
          *code == ATTN_OP_AXIS
              ? b->frame[code[1]]
              : attn_scalar_bits(&b->desc->args[code[1]], b->args[code[1]]));
}

/** " (S = x.1)": a single axis's value has been said, so its source is. */
static inline bool say_source(struct attn_binding *b,
                              const struct attn_expr *expr) {
  const int64_t *code = expr->code;
  if (code[0] != ATTN_OP_AXIS || code[2] != ATTN_OP_END)
    return false;
  const struct attn_axis *axis = &b->desc->axes[code[1]];
  put(&b->message, " (");
  put(&b->message, axis->name);
  put(&b->message, " = ");
  put(&b->message, axis->extent.text);
  put(&b->message, ")");
  return true;
}

/** " (H = 4, E = 16)": the axes and scalars that the expressions speak of. */
static inline void say_values(struct attn_binding *b,
                              const struct attn_expr *exprs, int64_t count) {
  if (count == 1 && say_source(b, exprs))
    return;
  bool first = true;
  for (int64_t i = 0; i < count; ++i)
    for (const int64_t *c = exprs[i].code; *c != ATTN_OP_END;
         c += 1 + attn_operands(*c)) {
      if ((*c != ATTN_OP_AXIS && *c != ATTN_OP_SCALAR) ||
          !is_first_mention(exprs, i, c))
        continue;
      say_value(b, c, first);
      first = false;
    }
  put(&b->message, first ? "" : ")");
}

/** Ends a sentence that named an expression which has no value. */
static inline bool explain_value(struct attn_binding *b,
                                 const struct attn_expr *expr,
                                 struct attn_value v) {
  struct attn_message *m = &b->message;
  switch (v.status) {
  case ATTN_EVAL_INEXACT:
    put(m, ": ");
    put_int(m, v.left);
    put(m, " is not a multiple of ");
    put_int(m, v.right);
    break;
  case ATTN_EVAL_ZERO:
    put(m, ", which divides by 0");
    break;
  case ATTN_EVAL_OVERFLOW:
    put(m, ", which does not fit 64 bits");
    break;
  default:
    put(m, ", which the compiler got wrong: please report it");
    b->status = ATTN_INTERNAL;
    return false;
  }
  say_values(b, expr, 1);
  return false;
}

static inline bool refuse(struct attn_binding *b, int64_t arg,
                          const char *text) {
  say_argument(b, arg);
  put(&b->message, text);
  return false;
}

static inline bool refuse_number(struct attn_binding *b, int64_t arg,
                                 const char *before, int64_t number,
                                 const char *after) {
  say_argument(b, arg);
  put(&b->message, before);
  put_int(&b->message, number);
  put(&b->message, after);
  return false;
}

#endif /* ATTN_RUNTIME_BIND_EXPLAIN_H */
