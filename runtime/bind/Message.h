/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Writes a message piece by piece into a context's buffer, cutting it where the
 * buffer ends. The text always ends with a zero byte. No library.
 */
#ifndef ATTN_RUNTIME_BIND_MESSAGE_H
#define ATTN_RUNTIME_BIND_MESSAGE_H

#include "attn/runtime.h"
#include <stdbool.h>

/** Where the next character goes; left counts the final zero byte too. */
struct attn_message {
  char *next;
  size_t left;
};

/** Can the caller's context be read, but for the fields of CUDA? */
static inline bool attn_is_context(const attn_context *context) {
  return context && context->size >= offsetof(attn_context, cuda) &&
         context->version == ATTN_ABI_VERSION;
}

static inline struct attn_message attn_message_begin(attn_context *context) {
  struct attn_message m = {context->message,
                           context->message ? context->message_size : 0};
  if (m.left)
    *m.next = 0;
  return m;
}

static inline void put_char(struct attn_message *m, char c) {
  if (m->left < 2)
    return;
  *m->next++ = c;
  *m->next = 0;
  --m->left;
}

static inline void put(struct attn_message *m, const char *text) {
  while (*text)
    put_char(m, *text++);
}

static inline void put_unsigned(struct attn_message *m, uint64_t value) {
  uint64_t unit = 1;
  while (value / unit >= 10)
    unit *= 10;
  for (; unit; unit /= 10)
    put_char(m, (char)('0' + value / unit % 10));
}

static inline void put_int(struct attn_message *m, int64_t value) {
  if (value < 0)
    put_char(m, '-');
  put_unsigned(m, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

/** "f32", "bool", or the numbers of a type that has no name here. */
static inline void put_dtype(struct attn_message *m, int64_t code,
                             int64_t bits) {
  if (code == ATTN_DTYPE_BOOL && bits == 8) {
    put(m, "bool");
  } else if (code == ATTN_DTYPE_FLOAT8_E4M3FN && bits == 8) {
    put(m, "f8e4m3");
  } else if (code == ATTN_DTYPE_FLOAT8_E5M2 && bits == 8) {
    put(m, "f8e5m2");
  } else if (code == kDLInt || code == kDLUInt || code == kDLFloat ||
             code == kDLBfloat) {
    put(m, code == kDLInt     ? "i"
           : code == kDLUInt  ? "u"
           : code == kDLFloat ? "f"
                              : "bf");
    put_int(m, bits);
  } else {
    put(m, "DLPack type code ");
    put_int(m, code);
    put(m, " of ");
    put_int(m, bits);
    put(m, " bits");
  }
}

#endif /* ATTN_RUNTIME_BIND_MESSAGE_H */
