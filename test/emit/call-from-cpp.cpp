// RUN: rm -rf %t && mkdir -p %t && emit-kernel host %t
// RUN: %clangxx -std=c++17 -Wall -Wextra -Wpedantic -Werror -I%runtime_include -I%t %s %t/scale.o -o %t/program && %t/program

// Twice, as headers are; and the prototypes are those of C.
#include "scale.h"
#include "scale.h"
#include <type_traits>

static_assert(std::is_same_v<decltype(&scale), attn_status (*)(attn_context *, const DLTensor *, float, DLTensor *)>);
static_assert(std::is_same_v<decltype(&scale_workspace),
                             attn_status (*)(attn_context *, const DLTensor *, float, DLTensor *, size_t *)>);

int main() { return scale(nullptr, nullptr, 1, nullptr) == ATTN_BAD_ARGUMENT ? 0 : 1; }
