/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Between a kernel and Halide's runtime, which starts code on a device: whether
 * there is one, and what became of a call. compiler/emit/LinkDevice.h brings
 * both together in the object.
 */
#include "runtime/bind/Bind.h"
#include "runtime/bind/Message.h"

/* halide_buffer_t, as far as it is filled here. */
struct halide_dimension {
  int32_t min, extent, stride;
  uint32_t flags;
};
struct halide_buffer {
  uint64_t device;
  const void *device_interface;
  uint8_t *host;
  uint64_t flags;
  struct {
    uint8_t code, bits;
    uint16_t lanes;
  } type;
  int32_t dimensions;
  struct halide_dimension *dim;
  void *padding;
};

/* Of the runtime. */
int32_t halide_device_malloc(void *user_context, struct halide_buffer *buffer,
                             const void *device_interface);
int32_t halide_device_free(void *user_context, struct halide_buffer *buffer);
/* Made by the linker: the interface, and what would run before main. */
const void *attn_device_interface(void);
void attn_device_construct(void);

enum { CODE_OUT_OF_MEMORY = -11, CODE_DEVICE_MALLOC_FAILED = -16 };

void halide_error(void *user_context, const char *text) {
  struct attn_arena *arena = user_context;
  if (!arena || !arena->context || arena->told)
    return;
  arena->told = 1;
  struct attn_message m = attn_message_begin(arena->context);
  put(&m, "device: ");
  for (; *text; ++text)
    if (*text != '\n' || text[1])
      put_char(&m, *text);
}

int32_t attn_device_status(int32_t code) {
  return code == 0 ? ATTN_OK
         : code == CODE_OUT_OF_MEMORY || code == CODE_DEVICE_MALLOC_FAILED
             ? ATTN_OUT_OF_MEMORY
             : ATTN_UNSUPPORTED;
}

/* Several calls may be the first. */
static void construct_once(void) {
  static int32_t state; /* 1: someone does it; 2: done */
  int32_t none = 0;
  if (__atomic_load_n(&state, __ATOMIC_ACQUIRE) == 2)
    return;
  if (__atomic_compare_exchange_n(&state, &none, 1, 0, __ATOMIC_ACQUIRE,
                                  __ATOMIC_ACQUIRE)) {
    attn_device_construct();
    __atomic_store_n(&state, 2, __ATOMIC_RELEASE);
  }
  while (__atomic_load_n(&state, __ATOMIC_ACQUIRE) != 2) {
  }
}

/* The smallest memory on the device: without one there is none. */
int32_t attn_device_start(attn_context *context) {
  construct_once();
  char memory[16384]; /* for messages on the way */
  struct attn_arena arena = {memory, memory + sizeof memory, 0, context, 0};
  struct halide_dimension dim = {0, 1, 1, 0};
  struct halide_buffer buffer = {0, 0, 0, 0, {2, 32, 1}, 1, &dim, 0};
  if (halide_device_malloc(&arena, &buffer, attn_device_interface()) == 0)
    return attn_device_status(halide_device_free(&arena, &buffer));
  if (!arena.told)
    halide_error(&arena, "there is none");
  return ATTN_UNSUPPORTED;
}
