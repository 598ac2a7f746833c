// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The same headers from C++, with workspace of the caller's and no runtime hook.
#include "causal.h"
#include "scale.h"
#include <cstdio>
#include <vector>

int main() {
  std::vector<float> in{1, 2, 3}, out(3);
  int64_t shape[] = {3};
  DLTensor x{}, y{};
  x.data = in.data();
  y.data = out.data();
  for (DLTensor *tensor : {&x, &y}) {
    tensor->device.device_type = kDLCPU;
    tensor->ndim = 1;
    tensor->dtype = {kDLFloat, 32, 1};
    tensor->shape = shape;
  }
  attn_context context{};
  context.size = sizeof(context);
  context.version = ATTN_ABI_VERSION;
  context.threads = 1;
  size_t bytes = 0;
  if (twice_workspace(&context, &x, &y, &bytes) != ATTN_OK)
    return 1;
  std::vector<unsigned char> workspace(bytes + ATTN_WORKSPACE_ALIGNMENT);
  void *aligned = workspace.data();
  size_t space = workspace.size();
  aligned = reinterpret_cast<void *>((reinterpret_cast<uintptr_t>(aligned) + ATTN_WORKSPACE_ALIGNMENT - 1) &
                                     ~uintptr_t(ATTN_WORKSPACE_ALIGNMENT - 1));
  context.workspace = bytes ? aligned : nullptr;
  context.workspace_bytes = bytes ? space - ATTN_WORKSPACE_ALIGNMENT : 0;
  if (twice(&context, &x, &y) != ATTN_OK)
    return 1;
  for (int i = 0; i < 3; ++i)
    if (out[i] != 2 * in[i])
      return 1;
  std::printf("twice is right\n");
  return 0;
}
