/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Calls kernels of one object for a processor and for CUDA devices. No device is needed: the launcher is one of our own,
 * which says what it is asked for. */
#include "attn/cuda.h"
#include "both.h"
#include <stdio.h>

static attn_status launch(attn_context *context, const attn_cuda_launch *launch) {
  (void)context;
  printf("launched %s, %d images\n", launch->kernel, (int)launch->module->num_images);
  return ATTN_OK;
}
static attn_status give(attn_context *context, int64_t bytes, void **memory) {
  (void)context, (void)bytes, (void)memory;
  return ATTN_OK;
}
static attn_status take(attn_context *context, void *memory) {
  (void)context, (void)memory;
  return ATTN_OK;
}
static const attn_cuda launcher = {launch, give, take};

static void call(const char *where, DLDeviceType x_device, DLDeviceType y_device) {
  char message[256] = "";
  float from[3] = {1, 2, 3}, to[3] = {0, 0, 0};
  int64_t shape[1] = {3};
  size_t bytes = 77;
  DLTensor x = {from, {x_device, 0}, 1, {kDLFloat, 32, 1}, shape, NULL, 0}, y = x;
  y.data = to;
  y.device.device_type = y_device;
  attn_context context = {0};
  context.size = sizeof context;
  context.version = ATTN_ABI_VERSION;
  context.cuda = &launcher;
  context.message = message;
  context.message_size = sizeof message;
  attn_status status = scale(&context, 2, &x, &y);
  attn_status query = scale_workspace(&context, 2, &x, &y, &bytes);
  printf("%s: %d %d, %g %g %g %s\n", where, (int)status, (int)query, to[0], to[1], to[2], message);
}

int main(void) {
  call("processor", kDLCPU, kDLCPU);
  call("pinned", kDLCUDAHost, kDLCPU);
  call("device", kDLCUDA, kDLCUDA);
  call("managed", kDLCUDAManaged, kDLCUDAHost);
  call("mixed", kDLCPU, kDLCUDA);
  return 0;
}
