/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * attn_bind: is this call one that the kernel was made for? In order: context,
 * each argument alone, the axes, dimensions against axes, facts and
 * requirements, memory. Everything is refused before anything is written.
 */
#include "runtime/bind/Bind.h"
#include "runtime/bind/Explain.h"
#include "runtime/bind/Place.h"

/* Each check returns false after explaining. */

static bool check_threads(struct attn_binding *b, const attn_context *context) {
  if (!context->parallel_for || context->threads >= 1)
    return true;
  say_kernel(b);
  put(&b->message, "context: threads is ");
  put_int(&b->message, context->threads);
  put(&b->message, ", but must be at least 1 (attn_context_set_threads takes 0 "
                   "for all)");
  return false;
}

static bool check_dtype(struct attn_binding *b, int64_t arg) {
  const struct attn_arg *want = &b->desc->args[arg];
  DLDataType found = tensor(b, arg)->dtype;
  if (found.lanes != 1)
    return refuse_number(b, arg, "dtype has lanes = ", found.lanes,
                         ", but 1 is needed");
  if (found.code == want->dtype_code && found.bits == want->dtype_bits)
    return true;
  say_argument(b, arg);
  put(&b->message, "dtype is ");
  put_dtype(&b->message, found.code, found.bits);
  put(&b->message, ", but ");
  put_dtype(&b->message, want->dtype_code, want->dtype_bits);
  put(&b->message, " is needed");
  return false;
}

static bool check_rank(struct attn_binding *b, int64_t arg) {
  const struct attn_arg *want = &b->desc->args[arg];
  if (tensor(b, arg)->ndim == want->rank)
    return true;
  say_argument(b, arg);
  put(&b->message, "rank is ");
  put_int(&b->message, tensor(b, arg)->ndim);
  put(&b->message, ", but ");
  say_shape(b, want);
  put(&b->message, " needs ");
  put_int(&b->message, want->rank);
  return false;
}

static bool check_extents(struct attn_binding *b, int64_t arg) {
  const DLTensor *t = tensor(b, arg);
  if (t->ndim && !t->shape)
    return refuse(b, arg, "shape is null");
  for (int32_t d = 0; d < t->ndim; ++d)
    if (t->shape[d] < 0) {
      say_extent(b, arg, d);
      put(&b->message, b->desc->args[arg].dims[d].text);
      put(&b->message, " cannot be negative");
      return false;
    }
  return true;
}

/* A CUDA device reaches pinned and managed memory too, a processor pinned memory. */
static bool is_reached(int64_t device, int64_t from) {
  if (from != kDLCUDA)
    return device == kDLCPU || device == kDLCUDAHost;
  return device == kDLCUDA || device == kDLCUDAHost || device == kDLCUDAManaged;
}

static bool check_device(struct attn_binding *b, int64_t arg) {
  int64_t device = (int64_t)tensor(b, arg)->device.device_type;
  return is_reached(device, b->desc->device) ||
         refuse_number(b, arg, "lies on a device of DLPack type ", device,
                       b->desc->device == kDLCUDA ? ", but 2 (CUDA) is needed"
                                                  : ", but 1 (CPU) is needed");
}

static bool check_argument(struct attn_binding *b, int64_t arg) {
  if (!b->args[arg])
    return refuse(b, arg, "is null");
  if (b->desc->args[arg].is_scalar)
    return true;
  return check_device(b, arg) && check_dtype(b, arg) && check_rank(b, arg) && check_extents(b, arg);
}

static bool find_axis(struct attn_binding *b, int64_t axis) {
  const struct attn_axis *a = &b->desc->axes[axis];
  b->frame[axis] = 0;
  if (!a->extent.code)
    return true;
  struct attn_value v = evaluate(b, a->extent.code);
  if (v.status == ATTN_EVAL_OK && v.value >= 0) {
    b->frame[axis] = v.value;
    return true;
  }
  say_kernel(b);
  put(&b->message, "axis ");
  put(&b->message, a->name);
  put(&b->message, " = ");
  put(&b->message, a->extent.text);
  if (v.status != ATTN_EVAL_OK)
    return explain_value(b, &a->extent, v);
  put(&b->message, " is ");
  put_int(&b->message, v.value);
  put(&b->message, ", but an extent cannot be negative");
  say_values(b, &a->extent, 1);
  return false;
}

/* The product of a dimension's factors, or false after explaining. A factor 0
 * makes it 0 whatever the others are. */
static bool find_product(struct attn_binding *b, int64_t arg, int64_t d,
                         int64_t *product) {
  const struct attn_dim *dim = &b->desc->args[arg].dims[d];
  bool overflow = false, zero = false;
  *product = 1;
  for (int64_t f = 0; f < dim->num_factors; ++f) {
    struct attn_value v = evaluate(b, dim->factors[f].code);
    if (v.status != ATTN_EVAL_OK) {
      say_dimension(b, arg, d);
      put(&b->message, " needs ");
      put(&b->message, dim->factors[f].text);
      return explain_value(b, &dim->factors[f], v);
    }
    zero |= v.value == 0;
    overflow |= __builtin_mul_overflow(*product, v.value, product);
  }
  if (zero)
    *product = 0;
  if (zero || !overflow)
    return true;
  say_dimension(b, arg, d);
  put(&b->message, " needs ");
  put(&b->message, dim->text);
  put(&b->message, ", which does not fit 64 bits");
  say_values(b, dim->factors, dim->num_factors);
  return false;
}

static bool check_dimension(struct attn_binding *b, int64_t arg, int64_t d) {
  const struct attn_dim *dim = &b->desc->args[arg].dims[d];
  int64_t want;
  if (!attn_is_known(dim))
    return true;
  if (!find_product(b, arg, d, &want))
    return false;
  if (tensor(b, arg)->shape[d] == want)
    return true;
  say_extent(b, arg, d);
  put(&b->message, dim->text);
  put(&b->message, " needs ");
  put_int(&b->message, want);
  say_values(b, dim->factors, dim->num_factors);
  return false;
}

static bool check_fact(struct attn_binding *b, const struct attn_fact *fact) {
  struct attn_value v = evaluate(b, fact->expr.code);
  if (v.status == ATTN_EVAL_OK && v.value == b->frame[fact->axis])
    return true;
  const struct attn_axis *axis = &b->desc->axes[fact->axis];
  say_kernel(b);
  put(&b->message, "axis ");
  put(&b->message, axis->name);
  put(&b->message, " is ");
  put_int(&b->message, b->frame[fact->axis]);
  put(&b->message, " (");
  put(&b->message, axis->extent.text);
  put(&b->message, "), but must be ");
  put(&b->message, fact->expr.text);
  if (v.status != ATTN_EVAL_OK)
    return explain_value(b, &fact->expr, v);
  put(&b->message, " = ");
  put_int(&b->message, v.value);
  say_values(b, &fact->expr, 1);
  return false;
}

static bool check_requirement(struct attn_binding *b,
                              const struct attn_expr *expr) {
  struct attn_value v = evaluate(b, expr->code);
  if (v.status == ATTN_EVAL_OK && v.value)
    return true;
  say_kernel(b);
  put(&b->message, "requires ");
  put(&b->message, expr->text);
  if (v.status != ATTN_EVAL_OK)
    return explain_value(b, expr, v);
  say_values(b, expr, 1);
  return false;
}

static bool check_arguments(struct attn_binding *b) {
  for (int64_t arg = 0; arg < b->desc->num_args; ++arg)
    if (!check_argument(b, arg))
      return false;
  return true;
}

static bool check_axes(struct attn_binding *b) {
  for (int64_t axis = 0; axis < b->desc->num_axes; ++axis)
    if (!find_axis(b, axis))
      return false;
  for (int64_t arg = 0; arg < b->desc->num_args; ++arg)
    for (int64_t d = 0; d < b->desc->args[arg].rank; ++d)
      if (!check_dimension(b, arg, d))
        return false;
  return true;
}

static bool check_facts(struct attn_binding *b) {
  for (int64_t i = 0; i < b->desc->num_facts; ++i)
    if (!check_fact(b, &b->desc->facts[i]))
      return false;
  for (int64_t i = 0; i < b->desc->num_requirements; ++i)
    if (!check_requirement(b, &b->desc->requirements[i]))
      return false;
  return true;
}

int32_t attn_bind(const struct attn_desc *desc, attn_context *context,
                  const void *const *args, int64_t *frame) {
  if (!desc || desc->version != ATTN_DESC_VERSION)
    return ATTN_INTERNAL;
  if (!attn_is_context(context))
    return ATTN_BAD_ARGUMENT;
  struct attn_binding b = {desc, args, frame, attn_message_begin(context),
                           ATTN_BAD_ARGUMENT};
  if (check_threads(&b, context) && check_arguments(&b) && check_axes(&b) &&
      check_facts(&b) && place_arguments(&b) && check_overlap(&b))
    return ATTN_OK;
  return b.status;
}

int32_t attn_refuse(const struct attn_desc *desc, attn_context *context,
                    const char *text) {
  struct attn_message m = attn_message_begin(context);
  put(&m, desc->kernel);
  put(&m, ": requires ");
  put(&m, text);
  return ATTN_BAD_ARGUMENT;
}
