/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Bind.h's functions as LLVM bitcode, one module per architecture, for the
 * compiler to link into what it generates. The modules have no target triple
 * and their functions no CPU, so that they take those of the module that they
 * are linked into and can be inlined there. No LLVM here.
 */
#ifndef ATTN_RUNTIME_BIND_EMBEDDED_H
#define ATTN_RUNTIME_BIND_EMBEDDED_H

#include <cstddef>

namespace attn {

/// A module in memory that lives as long as the process.
struct Bitcode {
  const unsigned char *data;
  std::size_t size;
};

Bitcode bindBitcodeX86_64();
Bitcode bindBitcodeAArch64();

} // namespace attn

#endif // ATTN_RUNTIME_BIND_EMBEDDED_H
