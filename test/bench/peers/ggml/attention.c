/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* ggml's flash attention, the one of llama.cpp, for ggml_peer.py: a graph of one node that is computed again and again. */
#include <ggml-cpu.h>
#include <ggml.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct attention {
  struct ggml_context *context;
  struct ggml_tensor *result;
  struct ggml_cgraph *graph;
  struct ggml_cplan plan;
};

/* Extents as in cases.py: batch, heads, key heads, queries, keys, width. */
struct problem {
  int64_t batch, heads, kv_heads, queries, keys, width;
  int64_t window;         /* keys that a query sees at most, the last one its own; 0: all keys */
  const char *dtype;      /* of keys and values: f32, f16 or bf16; queries are f32 */
  float scale, cap, bias; /* cap 0: none; bias: of ALiBi, 8 for slopes from 2^(-8/heads), 0: none */
  int threads;
  const float *query, *key, *value;
};

/* [batch][heads][length][width] as a tensor of the type. */
static struct ggml_tensor *filled(struct ggml_context *context, enum ggml_type type, const float *from, int64_t width,
                                  int64_t length, int64_t heads, int64_t batch) {
  struct ggml_tensor *tensor = ggml_new_tensor_4d(context, type, width, length, heads, batch);
  int64_t count = width * length * heads * batch;
  if (type == GGML_TYPE_F16)
    ggml_fp32_to_fp16_row(from, tensor->data, count);
  else if (type == GGML_TYPE_BF16)
    ggml_fp32_to_bf16_row(from, tensor->data, count);
  else
    memcpy(tensor->data, from, count * sizeof(float));
  return tensor;
}

/* -inf where a query does not see a key; elsewhere 0 or, for ALiBi, what a slope multiplies. */
static struct ggml_tensor *masked(struct ggml_context *context, const struct problem *p) {
  if (!p->window)
    return NULL;
  struct ggml_tensor *mask = ggml_new_tensor_4d(context, GGML_TYPE_F16, p->keys, p->queries, 1, 1);
  ggml_fp16_t *at = mask->data;
  for (int64_t s = 0; s < p->queries; ++s)
    for (int64_t t = 0; t < p->keys; ++t) {
      int64_t distance = s + p->keys - p->queries - t;
      int sees = distance >= 0 && distance < p->window;
      *at++ = ggml_fp32_to_fp16(!sees ? -INFINITY : p->bias != 0 ? -(float)distance : 0.0f);
    }
  return mask;
}

struct attention *ggml_attention_new(const struct problem *p) {
  int64_t rows = p->batch * p->heads * p->queries * p->width, cached = p->batch * p->kv_heads * p->keys * p->width;
  size_t bytes = (rows * 2 + cached * 2) * sizeof(float) + p->queries * p->keys * sizeof(ggml_fp16_t) + (64u << 20);
  struct ggml_init_params parameters = {bytes, NULL, false};
  enum ggml_type type = !strcmp(p->dtype, "f16") ? GGML_TYPE_F16 : !strcmp(p->dtype, "bf16") ? GGML_TYPE_BF16 : GGML_TYPE_F32;
  struct attention *a = calloc(1, sizeof *a);
  struct ggml_context *c = a->context = ggml_init(parameters);
  struct ggml_tensor *query = filled(c, GGML_TYPE_F32, p->query, p->width, p->queries, p->heads, p->batch);
  struct ggml_tensor *key = filled(c, type, p->key, p->width, p->keys, p->kv_heads, p->batch);
  struct ggml_tensor *value = filled(c, type, p->value, p->width, p->keys, p->kv_heads, p->batch);
  a->result = ggml_flash_attn_ext(c, query, key, value, masked(c, p), p->scale, p->bias, p->cap);
  a->graph = ggml_new_graph(c);
  ggml_build_forward_expand(a->graph, a->result);
  struct ggml_threadpool_params pool = ggml_threadpool_params_default(p->threads);
  a->plan = ggml_graph_plan(a->graph, p->threads, ggml_threadpool_new(&pool));
  a->plan.work_data = malloc(a->plan.work_size + 64);
  return a;
}

int ggml_attention_run(struct attention *a) { return ggml_graph_compute(a->graph, &a->plan); }

/* [batch][queries][heads][width] */
const float *ggml_attention_result(struct attention *a) { return a->result->data; }
