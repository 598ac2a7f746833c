/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The part of the CUDA driver's interface that is used here, opened at run time:
 * neither building nor linking needs anything of CUDA. Not installed.
 */
#ifndef ATTN_RUNTIME_CUDADRIVER_H
#define ATTN_RUNTIME_CUDADRIVER_H

#include "Runtime.h"

/** A CUresult; 0 is success. */
typedef int cu_result;
typedef void *cu_handle;

/** Numbers of the driver's interface (cuda.h of any version). */
enum {
  CU_ATTRIBUTE_MAJOR = 75, /* CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR */
  CU_ATTRIBUTE_MINOR = 76,
  CU_ATTRIBUTE_SHARED = 97, /* ..._MAX_SHARED_MEMORY_PER_BLOCK_OPTIN */
  CU_FUNCTION_SHARED = 8,   /* CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES */
  CU_JIT_LOG = 5,           /* CU_JIT_ERROR_LOG_BUFFER */
  CU_JIT_LOG_BYTES = 6,
  CU_CAPTURE_RELAXED = 2, /* CU_STREAM_CAPTURE_MODE_RELAXED */
};

/** Every function, once: name in the library, and its parameters. */
#define ATTN_CU_FUNCTIONS(X)                                                   \
  X(cuInit, (unsigned flags))                                                  \
  X(cuGetErrorName, (cu_result result, const char **name))                     \
  X(cuGetErrorString, (cu_result result, const char **text))                   \
  X(cuCtxGetCurrent, (cu_handle * context))                                    \
  X(cuCtxGetId, (cu_handle context, unsigned long long *id))                   \
  X(cuCtxGetDevice, (int *device))                                             \
  X(cuDeviceGetAttribute, (int *value, int attribute, int device))             \
  X(cuModuleLoadDataEx, (cu_handle * module, const void *image, unsigned count, \
                         int *options, void **values))                         \
  X(cuModuleGetFunction,                                                       \
    (cu_handle * function, cu_handle module, const char *name))                \
  X(cuFuncSetAttribute, (cu_handle function, int attribute, int value))        \
  X(cuLaunchKernel,                                                            \
    (cu_handle function, unsigned grid_x, unsigned grid_y, unsigned grid_z,    \
     unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,    \
     cu_handle stream, void **parameters, void **extra))                       \
  X(cuMemAllocAsync,                                                           \
    (unsigned long long *memory, size_t bytes, cu_handle stream))              \
  X(cuMemFreeAsync, (unsigned long long memory, cu_handle stream))             \
  X(cuThreadExchangeStreamCaptureMode, (int *mode))

struct attn_cu {
#define ATTN_CU_FIELD(name, parameters) cu_result(*name) parameters;
  ATTN_CU_FUNCTIONS(ATTN_CU_FIELD)
#undef ATTN_CU_FIELD
};

/** The driver, opened once per process; null, after explaining, where there is
 * none. */
ATTN_HIDDEN const struct attn_cu *attn_cu_open(attn_context *context);

/** Says what failed, with the driver's own name of the error. Gives
 * ATTN_OUT_OF_MEMORY, ATTN_UNSUPPORTED or ATTN_BAD_ARGUMENT. */
ATTN_HIDDEN attn_status attn_cu_failed(attn_context *context,
                                       const struct attn_cu *cu,
                                       const char *what, cu_result result);

/** Writes a message into the context, as printf does. */
ATTN_HIDDEN void attn_explain(attn_context *context, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif /* ATTN_RUNTIME_CUDADRIVER_H */
