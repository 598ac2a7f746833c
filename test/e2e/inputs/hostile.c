/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Calls `step` of hostile-calls.test with one thing wrong at a time. Each must give the expected status and a message
 * with the expected words, from the kernel and from its workspace query alike, and change no byte of any argument, of
 * the workspace, or around them. */
#include "hostile.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { B = 2, G = 2, R = 2, S = 3, M = 8, E = 5, H = G * R };
enum { Q, K, V, PAST, KCACHE, VCACHE, O, LSE, TENSORS };
static const char *const names[TENSORS] = {"q", "k", "v", "past", "kcache", "vcache", "o", "lse"};

/* All memory of a call is one block, so that one comparison sees every stray byte. */
enum { ROOM = 4096, BLOCK = ROOM * (TENSORS + 6) };
static _Alignas(64) char block[BLOCK], before[BLOCK];

static struct call {
  DLTensor tensor[TENSORS];
  int64_t shape[TENSORS][5], strides[TENSORS][5];
  DLTensor *pointer[TENSORS];
  attn_context context, *context_pointer;
  size_t bytes, *bytes_pointer;
  char message[300];
  float cap;
} call;

static int faults;
static const char *what;

static void *noMemory(attn_context *context, size_t bytes, size_t align) {
  (void)context, (void)bytes, (void)align;
  return NULL;
}
static void giveBack(attn_context *context, void *memory) { (void)context, (void)memory; }

static void tensor(int t, int code, int rank, const int64_t *shape) {
  DLTensor *to = &call.tensor[t];
  memset(to, 0, sizeof *to);
  to->data = block + ROOM * (t + 1);
  to->device.device_type = kDLCPU;
  to->ndim = rank;
  to->dtype.code = code;
  to->dtype.bits = 32;
  to->dtype.lanes = 1;
  to->shape = call.shape[t];
  to->strides = call.strides[t];
  int64_t stride = 1;
  for (int d = rank - 1; d >= 0; --d) {
    call.shape[t][d] = shape[d];
    call.strides[t][d] = stride;
    stride *= shape[d];
  }
  call.pointer[t] = to;
}

/* A call that is right. */
static void fresh(void) {
  memset(&call, 0, sizeof call);
  tensor(Q, kDLFloat, 4, (int64_t[]){B, H, S, E});
  tensor(K, kDLFloat, 4, (int64_t[]){B, G, S, E});
  tensor(V, kDLFloat, 4, (int64_t[]){B, G, S, E});
  tensor(PAST, kDLInt, 1, (int64_t[]){B});
  tensor(KCACHE, kDLFloat, 4, (int64_t[]){B, G, M, E});
  tensor(VCACHE, kDLFloat, 4, (int64_t[]){B, G, M, E});
  tensor(O, kDLFloat, 4, (int64_t[]){B, H, S, E});
  tensor(LSE, kDLFloat, 3, (int64_t[]){B, H, S});
  for (size_t i = 0; i < BLOCK / sizeof(float); ++i)
    ((float *)block)[i] = (float)((i * 37) % 17) / 8 - 1;
  ((int32_t *)call.tensor[PAST].data)[0] = 0;
  ((int32_t *)call.tensor[PAST].data)[1] = M - S;
  call.cap = 5;
  call.context.size = sizeof call.context;
  call.context.version = ATTN_ABI_VERSION;
  call.context.threads = 1;
  call.context.message = call.message;
  call.context.message_size = sizeof call.message;
  call.context_pointer = &call.context;
  call.bytes_pointer = &call.bytes;
}

static attn_status run(void) {
  DLTensor **p = call.pointer;
  return step(call.context_pointer, p[Q], p[K], p[V], p[PAST], call.cap, p[KCACHE], p[VCACHE], p[O], p[LSE]);
}
static attn_status query(void) {
  DLTensor **p = call.pointer;
  return step_workspace(call.context_pointer, p[Q], p[K], p[V], p[PAST], call.cap, p[KCACHE], p[VCACHE], p[O], p[LSE],
                        call.bytes_pointer);
}

static void complain(const char *which, int status) {
  ++faults;
  printf("%s: %s: %s, \"%s\"\n", what, which, status >= 0 ? "wrong status or message" : "memory changed", call.message);
  if (status >= 0)
    printf("  status %d\n", status);
}

static void begin(const char *text) {
  fresh();
  what = text;
  /* Enough for the right call; what is asked for here is not under test. */
  call.context.workspace = block + ROOM * (TENSORS + 1);
  call.context.workspace_bytes = 4 * ROOM;
}

static void refusedBy(const char *which, attn_status (*function)(void), attn_status wanted, const char *words) {
  memcpy(before, block, BLOCK);
  attn_status status = function();
  if (status != wanted || (words && !strstr(call.message, words)))
    complain(which, status);
  if (memcmp(before, block, BLOCK) != 0)
    complain(which, -1);
  memcpy(block, before, BLOCK);
}

/* The call as it has been changed since `begin` must be refused. */
static void refused(const char *words) {
  refusedBy("kernel", run, ATTN_BAD_ARGUMENT, words);
  call.message[0] = 0;
  call.bytes = 12345;
  refusedBy("workspace", query, ATTN_BAD_ARGUMENT, words);
  if (call.bytes != 12345)
    complain("workspace wrote a size", ATTN_OK);
}

static const char *argument(int t) {
  static char text[40];
  snprintf(text, sizeof text, "argument %s", names[t]);
  return text;
}

static void eachTensor(void) {
  for (int t = 0; t < TENSORS; ++t) {
    DLTensor *x = &call.tensor[t];
    begin("null argument"), call.pointer[t] = NULL, refused(argument(t));
    begin("null data"), x->data = NULL, refused(argument(t));
    begin("null shape"), x->shape = NULL, refused(argument(t));
    begin("rank too large"), x->ndim += 1, refused(argument(t));
    begin("rank too small"), x->ndim -= 1, refused(argument(t));
    begin("rank 0"), x->ndim = 0, refused(argument(t));
    begin("rank negative"), x->ndim = -1, refused(argument(t));
    begin("rank huge"), x->ndim = INT32_MAX, refused(argument(t));
    begin("code"), x->dtype.code = kDLUInt, refused(argument(t));
    begin("bits"), x->dtype.bits = 64, refused(argument(t));
    begin("lanes"), x->dtype.lanes = 4, refused(argument(t));
    begin("device"), x->device.device_type = kDLCUDA, refused(argument(t));
    begin("misaligned data"), x->data = (char *)x->data + 1, refused(argument(t));
    begin("misaligned offset"), x->byte_offset = 2, refused(argument(t));
    begin("offset past memory"), x->byte_offset = UINT64_MAX - 3, refused(argument(t));
    for (int d = 0; d < x->ndim; ++d) {
      begin("extent"), call.shape[t][d] += 1, refused("is ");
      begin("negative extent"), call.shape[t][d] = -1, refused("negative");
      begin("extent of 2^63 - 1"), call.shape[t][d] = INT64_MAX, refused("step: ");
      if (call.shape[t][d] > 1)
        begin("stride past 2^63"), call.strides[t][d] = INT64_MAX, refused(argument(t));
    }
  }
}

static void sizes(void) {
  /* Consistent extents whose product passes 2^63: B = 2^40 and E = 2^40. */
  begin("size past 2^63");
  for (int t = 0; t < TENSORS; ++t)
    call.shape[t][0] = INT64_C(1) << 40;
  for (int t = 0; t < TENSORS; ++t)
    if (t != PAST && t != LSE)
      call.shape[t][3] = INT64_C(1) << 40;
  refused("2^63");
  for (int t = 0; t < TENSORS; ++t)
    call.tensor[t].strides = NULL;
  refused("2^63");
  begin("heads past 2^63");
  call.shape[K][1] = call.shape[V][1] = call.shape[KCACHE][1] = call.shape[VCACHE][1] = INT64_MAX;
  refused("step: ");
  begin("too few positions"), call.shape[KCACHE][2] = call.shape[VCACHE][2] = 2;
  refusedBy("kernel", run, ATTN_BAD_ARGUMENT, "S <= M");
}

static void overlaps(void) {
  begin("result on an input"), call.tensor[O].data = call.tensor[Q].data, refused("argument o");
  begin("result ends in an input"), call.tensor[O].data = (char *)call.tensor[PAST].data - 4 * (B * H * S * E - 1),
                                    refused("argument o");
  begin("cache on an input"), call.tensor[KCACHE].data = call.tensor[K].data, refused("argument kcache");
  begin("caches on each other"), call.tensor[KCACHE].data = (char *)call.tensor[VCACHE].data + 40, refused("overlaps");
  begin("results on each other"), call.tensor[LSE].data = call.tensor[O].data, refused("argument lse");
  for (int t = KCACHE; t < TENSORS; ++t) {
    begin("stride 0 where it is written"), call.strides[t][0] = 0, refused(argument(t));
    begin("rows on each other"), call.strides[t][1] = 1, refused(argument(t));
  }
}

static void data(void) {
  begin("position past the capacity"), ((int32_t *)call.tensor[PAST].data)[1] = M - S + 1;
  refusedBy("kernel", run, ATTN_BAD_ARGUMENT, "kcache");
  begin("negative position"), ((int32_t *)call.tensor[PAST].data)[0] = -1;
  refusedBy("kernel", run, ATTN_BAD_ARGUMENT, "kcache");
  begin("huge position"), ((int32_t *)call.tensor[PAST].data)[0] = INT32_MAX;
  refusedBy("kernel", run, ATTN_BAD_ARGUMENT, "kcache");
}

static void contexts(void) {
  begin("null context"), call.context_pointer = NULL, refused(NULL);
  begin("size of the context"), call.context.size = 8, refused(NULL);
  begin("version of the context"), call.context.version = 99, refused(NULL);
  begin("null place for the size"), call.bytes_pointer = NULL;
  refusedBy("workspace", query, ATTN_BAD_ARGUMENT, "null");
  begin("message of one byte"), call.context.message_size = 1, call.pointer[Q] = NULL, refused("");
  begin("no message"), call.context.message = NULL, call.pointer[Q] = NULL, refused(NULL);

  begin("small workspace");
  if (query() != ATTN_OK || !call.bytes)
    complain("workspace", ATTN_OK);
  size_t needed = call.bytes;
  call.context.workspace_bytes = needed - 1;
  refusedBy("kernel", run, ATTN_BAD_ARGUMENT, "workspace");
  call.context.workspace_bytes = 0;
  refusedBy("kernel", run, ATTN_BAD_ARGUMENT, "workspace");
  call.context.workspace_bytes = needed;
  call.context.workspace = block + ROOM * (TENSORS + 1) + 4;
  refusedBy("kernel", run, ATTN_BAD_ARGUMENT, "aligned");
  call.context.workspace = NULL;
  refusedBy("kernel", run, ATTN_OUT_OF_MEMORY, "workspace");
  call.context.alloc = noMemory, call.context.free = giveBack;
  refusedBy("kernel", run, ATTN_OUT_OF_MEMORY, "alloc");
}

/* Right calls: exactly the results, the written part of the caches and the workspace change. */
static void accepted(int backwards) {
  begin(backwards ? "a right call with results backwards" : "a right call");
  if (query() != ATTN_OK)
    complain("workspace", ATTN_OK);
  call.context.workspace_bytes = call.bytes;
  if (call.bytes > 4 * ROOM) { /* Not in the block. */
    call.context.workspace = aligned_alloc(ATTN_WORKSPACE_ALIGNMENT, (call.bytes + 63) / 64 * 64);
  }
  if (backwards)
    for (int t = O; t <= LSE; ++t) {
      call.tensor[t].byte_offset = 4 * (size_t)(B * H * S * (t == O ? E : 1) - 1);
      for (int d = 0; d < call.tensor[t].ndim; ++d)
        call.strides[t][d] = -call.strides[t][d];
    }
  memcpy(before, block, BLOCK);
  attn_status status = run();
  if (status != ATTN_OK)
    complain("kernel", status);
  for (size_t i = 0; i < BLOCK; ++i) {
    int t = (int)(i / ROOM) - 1;
    size_t place = i % ROOM / 4;
    int written = (t == O && place < B * H * S * E) || (t == LSE && place < B * H * S) || t >= TENSORS;
    if (t == KCACHE || t == VCACHE) {
      size_t b = place / (G * M * E), m = place / E % M, past = b ? M - S : 0;
      written = b < B && m >= past && m < past + S;
    }
    if (!written && block[i] != before[i]) {
      complain("kernel", -1);
      break;
    }
  }
  if (memcmp(block + ROOM * (O + 1), before + ROOM * (O + 1), 4 * B * H * S * E) == 0)
    complain("kernel wrote nothing", status);
  if (call.context.workspace < (void *)block || call.context.workspace >= (void *)(block + BLOCK))
    free(call.context.workspace);
}

int main(void) {
  accepted(0);
  static float forward[B * H * S * E];
  memcpy(forward, block + ROOM * (O + 1), sizeof forward);
  accepted(1);
  const float *result = (const float *)(block + ROOM * (O + 1));
  for (int i = 0; i < B * H * S * E; ++i)
    if (result[B * H * S * E - 1 - i] != forward[i])
      return printf("backwards results differ\n"), 1;
  fresh();
  eachTensor();
  sizes();
  overlaps();
  data();
  contexts();
  printf(faults ? "%d faults\n" : "all refused\n", faults);
  return faults != 0;
}
