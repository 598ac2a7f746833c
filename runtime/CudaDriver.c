/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Opens the CUDA driver, and puts its errors into words.
 */
#include "CudaDriver.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>

void attn_explain(attn_context *context, const char *format, ...) {
  if (!context->message || !context->message_size)
    return;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(context->message, context->message_size, format, arguments);
  va_end(arguments);
}

static struct attn_cu driver;
static char why_not[256]; /* empty once the driver is open */
static pthread_once_t once = PTHREAD_ONCE_INIT;


static int find_functions(void *library) {
#define FIND(name, parameters)                                                 \
  *(void **)&driver.name = dlsym(library, #name);               \
  if (!driver.name) {                                                          \
    snprintf(why_not, sizeof why_not,                                          \
             "the CUDA driver is too old: it has no %s", #name);               \
    return 0;                                                                  \
  }
  ATTN_CU_FUNCTIONS(FIND)
#undef FIND
  return 1;
}

static void open_driver(void) {
  void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    snprintf(why_not, sizeof why_not, "there is no CUDA driver here (%s)",
             dlerror());
    return;
  }
  if (!find_functions(library))
    return;
  cu_result result = driver.cuInit(0);
  if (result) {
    const char *name = "unknown";
    driver.cuGetErrorName(result, &name);
    snprintf(why_not, sizeof why_not, "the CUDA driver does not start: %s",
             name);
  }
}

const struct attn_cu *attn_cu_open(attn_context *context) {
  pthread_once(&once, open_driver);
  if (!why_not[0])
    return &driver;
  attn_explain(context, "%s", why_not);
  return NULL;
}

attn_status attn_cu_failed(attn_context *context, const struct attn_cu *cu,
                           const char *what, cu_result result) {
  const char *name = "unknown error", *text = "";
  cu->cuGetErrorName(result, &name);
  cu->cuGetErrorString(result, &text);
  attn_explain(context, "%s: %s (%s)", what, name, text);
  enum { OUT_OF_MEMORY = 2, INVALID_VALUE = 1 };
  return result == OUT_OF_MEMORY   ? ATTN_OUT_OF_MEMORY
         : result == INVALID_VALUE ? ATTN_BAD_ARGUMENT
                                   : ATTN_UNSUPPORTED;
}
