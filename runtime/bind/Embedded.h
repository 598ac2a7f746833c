/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Bind.h's functions as assembly, one part per source file and architecture,
 * for the compiler to put into what it generates: they are the same for each
 * kernel, so they are compiled once, when the compiler is built. No LLVM here.
 */
#ifndef ATTN_RUNTIME_BIND_EMBEDDED_H
#define ATTN_RUNTIME_BIND_EMBEDDED_H

#include <string_view>
#include <vector>

namespace attn {

/// A source file's functions, all local, for any processor of an architecture.
/// What it needs and no part defines is a device's runtime's.
struct Part {
  std::string_view assembly;
  std::vector<std::string_view> defines, needs;
};

const std::vector<Part> &bindPartsX86_64();
const std::vector<Part> &bindPartsAArch64();

} // namespace attn

#endif // ATTN_RUNTIME_BIND_EMBEDDED_H
