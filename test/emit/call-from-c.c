// RUN: rm -rf %t && mkdir -p %t && emit-kernel host %t
// RUN: %clang -std=c11 -Wall -Wextra -Wpedantic -Werror -I%runtime_include -I%t %s %t/scale.o -o %t/object
// RUN: %t/object | FileCheck %s
// RUN: %clang -std=c11 -I%runtime_include -I%t %s -L%t %t/scale.a -o %t/static && %t/static | FileCheck %s
// RUN: %clang -std=c11 -I%runtime_include -I%t %s %t/scale.so -Wl,-rpath,%t -o %t/shared && %t/shared | FileCheck %s

// No runtime library is linked: a zeroed context and a workspace are enough.
#include "scale.h"
#include <stdio.h>
#include <stdlib.h>

int main(void) {
  float in[2 * 4] = {1, 2, 3, 4, 5, 6, 7, 8}, out[2 * 4];
  int64_t shape[2] = {2, 4};
  DLTensor x = {in, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shape, NULL, 0};
  DLTensor y = {out, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shape, NULL, 0};
  char message[100];
  attn_context context = {.size = sizeof context, .version = ATTN_ABI_VERSION, .threads = 1};
  context.message = message;
  context.message_size = sizeof message;

  // CHECK: 2: context: without workspace and alloc there are no 128 bytes of workspace
  int status = scale(&context, &x, 2, &y);
  printf("%d: %s\n", status, message);
  size_t bytes;
  if (scale_workspace(&context, &x, 2, &y, &bytes) != ATTN_OK)
    return 1;
  context.workspace = aligned_alloc(ATTN_WORKSPACE_ALIGNMENT, bytes);
  context.workspace_bytes = bytes;
  // CHECK: 128 bytes: 2 4 6 8 10 12 14 16
  if (scale(&context, &x, 2, &y) != ATTN_OK)
    return 1;
  printf("%zu bytes:", bytes);
  for (int i = 0; i < 8; ++i)
    printf(" %g", (double)out[i]);
  // CHECK: 1: scale: argument y: is null
  status = scale(&context, &x, 2, NULL);
  printf("\n%d: %s\n", status, message);
  free(context.workspace);
  return 0;
}
