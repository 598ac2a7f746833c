/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Weights as products read them: panels of columns that lie side by side. What
 * a kernel's description says of a packed argument is what attn_pack is told.
 */
#include "attn/runtime.h"

#include <stdarg.h>
#include <stdio.h>

#define MOST_DIMENSIONS 32

static attn_status refuse(attn_context *context, const char *format, ...) {
  if (context && context->message && context->message_size) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(context->message, context->message_size, format, arguments);
    va_end(arguments);
  }
  return ATTN_BAD_ARGUMENT;
}

/* Fills in the strides of a tensor, in elements. */
static attn_status bind(attn_context *context, const DLTensor *tensor, const char *name, int64_t *strides) {
  if (!tensor || tensor->ndim < 1 || tensor->ndim > MOST_DIMENSIONS || !tensor->shape)
    return refuse(context, "attn_pack: %s: 1 to %d dimensions are needed", name, MOST_DIMENSIONS);
  if (tensor->dtype.code != kDLFloat || tensor->dtype.bits != 32 || tensor->dtype.lanes != 1)
    return refuse(context, "attn_pack: %s: f32 is needed", name);
  if (tensor->device.device_type != kDLCPU && tensor->device.device_type != kDLCUDAHost)
    return refuse(context, "attn_pack: %s: ordinary memory is needed", name);
  int64_t elements = 1;
  for (int32_t d = tensor->ndim; d-- > 0;) {
    if (tensor->shape[d] < 0)
      return refuse(context, "attn_pack: %s: dimension %d is negative", name, (int)d);
    strides[d] = tensor->strides ? tensor->strides[d] : elements;
    elements *= tensor->shape[d];
  }
  if (elements && !tensor->data)
    return refuse(context, "attn_pack: %s: data is null", name);
  return ATTN_OK;
}

/* What a call copies. */
struct packing {
  const float *from;
  float *to;
  int32_t dimensions, depths;
  int64_t columns, points;
  /* Of the weight: extents and strides of the columns' dimensions, and of the contracted ones. */
  int64_t column_extents[MOST_DIMENSIONS], column_strides[MOST_DIMENSIONS];
  int64_t depth_extents[MOST_DIMENSIONS], depth_strides[MOST_DIMENSIONS];
  /* Of what is packed: per panel, per contracted dimension, per column. */
  int64_t panel_stride, point_strides[MOST_DIMENSIONS], lane_stride;
};

/* Where element `index` of a row-major space lies. */
static int64_t place(int64_t index, int32_t dimensions, const int64_t *extents, const int64_t *strides) {
  int64_t offset = 0;
  for (int32_t d = dimensions; d-- > 0; index /= extents[d])
    offset += index % extents[d] * strides[d];
  return offset;
}

static void pack_panel(void *data, int64_t panel, int32_t worker) {
  (void)worker;
  const struct packing *p = (const struct packing *)data;
  const float *columns[ATTN_PACK_COLUMNS];
  for (int64_t l = 0; l < ATTN_PACK_COLUMNS; ++l)
    columns[l] = p->from + place(panel * ATTN_PACK_COLUMNS + l, p->dimensions, p->column_extents, p->column_strides);
  for (int64_t k = 0; k < p->points; ++k) {
    int64_t from = place(k, p->depths, p->depth_extents, p->depth_strides);
    float *to = p->to + panel * p->panel_stride + place(k, p->depths, p->depth_extents, p->point_strides);
    for (int64_t l = 0; l < ATTN_PACK_COLUMNS; ++l)
      to[l * p->lane_stride] = columns[l][from];
  }
}

attn_status attn_pack(attn_context *context, const DLTensor *weight, uint64_t contracted, DLTensor *packed) {
  int64_t from[MOST_DIMENSIONS], to[MOST_DIMENSIONS];
  attn_status status = bind(context, weight, "weight", from);
  if (status == ATTN_OK)
    status = bind(context, packed, "packed", to);
  if (status != ATTN_OK)
    return status;
  struct packing p = {0};
  p.columns = p.points = 1;
  for (int32_t d = 0; d < weight->ndim; ++d) {
    int64_t extent = weight->shape[d];
    if (contracted >> d & 1) {
      if (packed->ndim <= p.depths + 2 || packed->shape[p.depths + 1] != extent)
        return refuse(context, "attn_pack: packed: dimension %d must be %lld, as dimension %d of weight", (int)p.depths + 1,
                      (long long)extent, (int)d);
      p.depth_extents[p.depths] = extent;
      p.depth_strides[p.depths] = from[d];
      p.point_strides[p.depths] = to[p.depths + 1];
      ++p.depths;
      p.points *= extent;
    } else {
      p.column_extents[p.dimensions] = extent;
      p.column_strides[p.dimensions] = from[d];
      ++p.dimensions;
      p.columns *= extent;
    }
  }
  if (p.columns % ATTN_PACK_COLUMNS != 0)
    return refuse(context, "attn_pack: weight has %lld columns, which is not a multiple of %d", (long long)p.columns,
                  ATTN_PACK_COLUMNS);
  if (packed->ndim != p.depths + 2 || packed->shape[0] != p.columns / ATTN_PACK_COLUMNS ||
      packed->shape[packed->ndim - 1] != ATTN_PACK_COLUMNS)
    return refuse(context, "attn_pack: packed must have %d dimensions, of which the first is %lld and the last %d",
                  (int)p.depths + 2, (long long)(p.columns / ATTN_PACK_COLUMNS), ATTN_PACK_COLUMNS);
  p.from = (const float *)((const char *)weight->data + weight->byte_offset);
  p.to = (float *)((char *)packed->data + packed->byte_offset);
  p.panel_stride = to[0];
  p.lane_stride = to[packed->ndim - 1];
  if (!p.columns || !p.points)
    return ATTN_OK;
  if (context && context->parallel_for)
    context->parallel_for(context, p.columns / ATTN_PACK_COLUMNS, pack_panel, &p);
  else
    for (int64_t panel = 0; panel < p.columns / ATTN_PACK_COLUMNS; ++panel)
      pack_panel(&p, panel, 0);
  return ATTN_OK;
}
