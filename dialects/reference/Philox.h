// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Philox 4x32-10 (Salmon et al., 2011): numbers from a key and a counter, the
// same wherever and in whatever order they are asked for. Header only.
#ifndef ATTN_DIALECTS_REFERENCE_PHILOX_H
#define ATTN_DIALECTS_REFERENCE_PHILOX_H

#include <array>
#include <cmath>
#include <cstdint>

namespace attn::reference {

inline std::array<uint32_t, 4> philox(uint64_t key, uint64_t counter) {
  std::array<uint32_t, 4> c = {static_cast<uint32_t>(counter),
                               static_cast<uint32_t>(counter >> 32), 0, 0};
  auto k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    uint64_t a = uint64_t(0xD2511F53) * c[0], b = uint64_t(0xCD9E8D57) * c[2];
    c = {static_cast<uint32_t>(b >> 32) ^ c[1] ^ k0, static_cast<uint32_t>(b),
         static_cast<uint32_t>(a >> 32) ^ c[3] ^ k1, static_cast<uint32_t>(a)};
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  return c;
}

/// The language's `random`: the first word's upper 24 bits, in [0, 1).
inline double philoxUniform(uint64_t key, uint64_t counter) {
  return std::ldexp(static_cast<double>(philox(key, counter)[0] >> 8), -24);
}

} // namespace attn::reference

#endif
