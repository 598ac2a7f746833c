/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * attn_cuda_driver: kernels on a real device. Modules are loaded at their first
 * launch in a CUDA context and stay, for launches must not wait and may be
 * recorded into graphs.
 */
#include "CudaDriver.h"

#include "attn/cuda.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* A kernel in one CUDA context. */
struct kernel {
  struct kernel *next;
  unsigned long long context;
  const attn_cuda_module *module;
  const char *name; /* of the object's constant data */
  cu_handle function;
  int64_t shared_bytes; /* that it has been allowed */
};

/* The code of an object in one CUDA context. */
struct loaded {
  struct loaded *next;
  unsigned long long context;
  const attn_cuda_module *module;
  cu_handle handle;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct kernel *kernels;
static struct loaded *modules;

/* The context that is current, as a number that no later one gets. */
static attn_status current(attn_context *context, const struct attn_cu *cu,
                           unsigned long long *id) {
  cu_handle now = NULL;
  cu_result result = cu->cuCtxGetCurrent(&now);
  if (result)
    return attn_cu_failed(context, cu, "cuCtxGetCurrent", result);
  if (!now) {
    attn_explain(context, "no CUDA context is current on this thread");
    return ATTN_BAD_ARGUMENT;
  }
  result = cu->cuCtxGetId(now, id);
  return result ? attn_cu_failed(context, cu, "cuCtxGetId", result) : ATTN_OK;
}

static attn_status find_arch(attn_context *context, const struct attn_cu *cu,
                             int64_t *arch) {
  int device, major = 0, minor = 0;
  cu_result result = cu->cuCtxGetDevice(&device);
  if (!result)
    result = cu->cuDeviceGetAttribute(&major, CU_ATTRIBUTE_MAJOR, device);
  if (!result)
    result = cu->cuDeviceGetAttribute(&minor, CU_ATTRIBUTE_MINOR, device);
  *arch = 10 * major + minor;
  return result ? attn_cu_failed(context, cu, "cuDeviceGetAttribute", result)
                : ATTN_OK;
}

static int runs_on(const attn_cuda_image *image, int64_t arch) {
  return image->arch <= arch &&
         (!image->is_binary || image->arch / 10 == arch / 10);
}

/* Machine code before PTX, then what is made for the latest device. */
static const attn_cuda_image *best_image(const attn_cuda_module *module,
                                         int64_t arch) {
  const attn_cuda_image *best = NULL;
  for (int64_t i = 0; i < module->num_images; ++i) {
    const attn_cuda_image *image = &module->images[i];
    if (!runs_on(image, arch))
      continue;
    if (!best || image->is_binary > best->is_binary ||
        (image->is_binary == best->is_binary && image->arch > best->arch))
      best = image;
  }
  return best;
}

/* Loading allocates, which a stream that is recorded would not allow. */
static attn_status load_image(attn_context *context, const struct attn_cu *cu,
                              const attn_cuda_image *image, cu_handle *handle) {
  char log[1024] = "";
  int options[] = {CU_JIT_LOG, CU_JIT_LOG_BYTES};
  void *values[] = {log, (void *)(uintptr_t)sizeof log};
  int mode = CU_CAPTURE_RELAXED;
  cu->cuThreadExchangeStreamCaptureMode(&mode);
  cu_result result =
      cu->cuModuleLoadDataEx(handle, image->data, 2, options, values);
  cu->cuThreadExchangeStreamCaptureMode(&mode);
  if (!result)
    return ATTN_OK;
  attn_status status =
      attn_cu_failed(context, cu, "cuModuleLoadDataEx", result);
  if (log[0] && context->message) {
    size_t used = strlen(context->message);
    if (used + 3 < context->message_size) {
      memcpy(context->message + used, "; ", 3);
      strncat(context->message, log, context->message_size - used - 3);
    }
  }
  return status;
}

static attn_status load(attn_context *context, const struct attn_cu *cu,
                        unsigned long long id, const attn_cuda_module *module,
                        cu_handle *handle) {
  for (struct loaded *known = modules; known; known = known->next)
    if (known->context == id && known->module == module) {
      *handle = known->handle;
      return ATTN_OK;
    }
  int64_t arch;
  attn_status status = find_arch(context, cu, &arch);
  if (status != ATTN_OK)
    return status;
  const attn_cuda_image *image = best_image(module, arch);
  if (!image) {
    attn_explain(context,
                 "no code in this object runs on a device of compute "
                 "capability %d.%d",
                 (int)(arch / 10), (int)(arch % 10));
    return ATTN_UNSUPPORTED;
  }
  status = load_image(context, cu, image, handle);
  if (status != ATTN_OK)
    return status;
  struct loaded *entry = malloc(sizeof *entry);
  if (!entry) {
    attn_explain(context, "no memory for a list of %zu bytes", sizeof *entry);
    return ATTN_OUT_OF_MEMORY;
  }
  *entry = (struct loaded){modules, id, module, *handle};
  modules = entry;
  return ATTN_OK;
}

static attn_status find_kernel(attn_context *context, const struct attn_cu *cu,
                               const attn_cuda_launch *launch,
                               struct kernel **found) {
  unsigned long long id;
  attn_status status = current(context, cu, &id);
  if (status != ATTN_OK)
    return status;
  for (struct kernel *k = kernels; k; k = k->next)
    if (k->context == id && k->module == launch->module &&
        k->name == launch->kernel) {
      *found = k;
      return ATTN_OK;
    }
  cu_handle module, function;
  status = load(context, cu, id, launch->module, &module);
  if (status != ATTN_OK)
    return status;
  cu_result result = cu->cuModuleGetFunction(&function, module, launch->kernel);
  if (result)
    return attn_cu_failed(context, cu, launch->kernel, result);
  struct kernel *entry = malloc(sizeof *entry);
  if (!entry) {
    attn_explain(context, "no memory for a list of %zu bytes", sizeof *entry);
    return ATTN_OUT_OF_MEMORY;
  }
  *entry = (struct kernel){kernels,        id,       launch->module,
                           launch->kernel, function, 0};
  kernels = entry;
  *found = entry;
  return ATTN_OK;
}

/* What a kernel gets of shared memory without being allowed more. */
enum { ORDINARY_SHARED = 48 << 10 };

static attn_status allow_shared(attn_context *context, const struct attn_cu *cu,
                                struct kernel *kernel, int64_t bytes) {
  if (bytes <= ORDINARY_SHARED || bytes <= kernel->shared_bytes)
    return ATTN_OK;
  cu_result result = cu->cuFuncSetAttribute(kernel->function,
                                            CU_FUNCTION_SHARED, (int)bytes);
  if (result)
    return attn_cu_failed(context, cu, "shared memory", result);
  kernel->shared_bytes = bytes;
  return ATTN_OK;
}

static attn_status driver_launch(attn_context *context,
                                 const attn_cuda_launch *launch) {
  const struct attn_cu *cu = attn_cu_open(context);
  if (!cu)
    return ATTN_UNSUPPORTED;
  struct kernel *kernel = NULL;
  pthread_mutex_lock(&lock);
  attn_status status = find_kernel(context, cu, launch, &kernel);
  if (status == ATTN_OK)
    status = allow_shared(context, cu, kernel, launch->shared_bytes);
  cu_handle function = kernel ? kernel->function : NULL;
  pthread_mutex_unlock(&lock);
  if (status != ATTN_OK)
    return status;
  void *parameters[] = {(void *)launch->frame};
  cu_result result = cu->cuLaunchKernel(
      function, (unsigned)launch->blocks, 1, 1, (unsigned)launch->threads, 1, 1,
      (unsigned)launch->shared_bytes, context->stream, parameters, NULL);
  return result ? attn_cu_failed(context, cu, launch->kernel, result) : ATTN_OK;
}

static attn_status driver_alloc(attn_context *context, int64_t bytes,
                                void **memory) {
  const struct attn_cu *cu = attn_cu_open(context);
  if (!cu)
    return ATTN_UNSUPPORTED;
  unsigned long long address = 0;
  cu_result result =
      cu->cuMemAllocAsync(&address, (size_t)bytes, context->stream);
  *memory = (void *)(uintptr_t)address;
  return result ? attn_cu_failed(context, cu, "cuMemAllocAsync", result)
                : ATTN_OK;
}

static attn_status driver_free(attn_context *context, void *memory) {
  const struct attn_cu *cu = attn_cu_open(context);
  if (!cu)
    return ATTN_UNSUPPORTED;
  cu_result result =
      cu->cuMemFreeAsync((unsigned long long)(uintptr_t)memory, context->stream);
  return result ? attn_cu_failed(context, cu, "cuMemFreeAsync", result)
                : ATTN_OK;
}

const attn_cuda attn_cuda_driver = {driver_launch, driver_alloc, driver_free};
