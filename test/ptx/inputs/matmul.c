// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// c[m, n] = a[m, k] b[k, n], halves with f32 sums; k and n are multiples of 8. A CTA of four warps makes a tile of 64 x 64
// from tiles of depth 32, which are copied one ahead.
#include "device.h"
#include "faults.h"

typedef _Float16 half;
enum { Tile = 64, Depth = 32, Bytes = 2 * Tile * Depth };

SHARED unsigned char a_tiles[HAS(SMALL_BUFFER) ? 2 * Bytes - 64 : 2 * Bytes];
SHARED unsigned char b_tiles[2 * Bytes];

// Chunks of 16 bytes change places, so that eight rows of a column lie in different banks.
static inline u32 place_a(u32 row, u32 chunk) { return row * 64 + ((chunk ^ ((row >> 1) & 3)) << 4); }
static inline u32 place_b(u32 row, u32 chunk) { return row * 128 + ((chunk ^ (row & 7)) << 4); }

static inline void load(const half *a, const half *b, u32 m, u32 n, u32 k, u32 first, u32 stage) {
  UNROLL for (u32 half_tile = 0; half_tile < 2; ++half_tile) {
    u32 i = thread() + half_tile * 128, row = i / 4, chunk = i % 4, at = block_y() * Tile + row, depth = first + chunk * 8;
    int inside = at < m && depth < k;
    copy_async(SHARED_ADDRESS(a_tiles) + stage * Bytes + place_a(row, chunk), inside ? a + (unsigned long)at * k + depth : a,
               inside ? 16 : 0);
    row = i / 8, chunk = i % 8, at = first + row;
    u32 column = block_x() * Tile + chunk * 8;
    inside = at < k && column < n;
    copy_async(SHARED_ADDRESS(b_tiles) + stage * Bytes + place_b(row, chunk),
               inside ? b + (unsigned long)at * n + column : b, inside ? 16 : 0);
  }
}

KERNEL matmul(float *c, const half *a, const half *b, u32 m, u32 n, u32 k) {
  u32 lane = thread() % 32, warp = thread() / 32, top = warp / 2 * 32, left = warp % 2 * 32;
  float sums[2][4][4] = {};
  load(a, b, m, n, k, 0, 0);
  copy_commit();
  for (u32 first = 0, stage = 0; first < k; first += Depth, stage ^= 1) {
    if (first + Depth < k)
      load(a, b, m, n, k, first + Depth, stage ^ 1);
    copy_commit();
    COPY_WAIT(HAS(LATE_WAIT) ? 2 : 1);
    if (!HAS(DROPPED_BARRIER))
      barrier();
    UNROLL for (u32 depth = 0; depth < Depth; depth += 16) {
      u32 fragments[2][4];
      UNROLL for (u32 i = 0; i < 2; ++i) {
        u32 row = top + i * 16 + lane % 16, chunk = depth / 8 + lane / 16;
        u32 place = HAS(WRONG_SWIZZLE) ? row * 64 + ((chunk ^ (row & 3)) << 4) : place_a(row, chunk);
        load_matrices(fragments[i], SHARED_ADDRESS(a_tiles) + stage * Bytes + place);
      }
      UNROLL for (u32 j = 0; j < 2; ++j) {
        u32 pair[4], from = SHARED_ADDRESS(b_tiles) + stage * Bytes + place_b(depth + lane % 16, left / 8 + j * 2 + lane / 16);
        if (HAS(LOST_TRANSPOSE))
          load_matrices(pair, from);
        else
          load_transposed(pair, from);
        UNROLL for (u32 i = 0; i < 2; ++i) {
          multiply(sums[i][2 * j], fragments[i], pair[0], pair[1]);
          multiply(sums[i][2 * j + 1], fragments[i], pair[2], pair[3]);
        }
      }
    }
    if (!HAS(DROPPED_LAST_BARRIER))
      barrier();
  }
  UNROLL for (u32 i = 0; i < 2; ++i)
    UNROLL for (u32 j = 0; j < 4; ++j)
      UNROLL for (u32 e = 0; e < 4; ++e) {
        u32 row = block_y() * Tile + top + i * 16 + lane / 4 + e / 2 * 8;
        u32 column = block_x() * Tile + left + j * 8 + lane % 4 * 2 + e % 2;
        if ((HAS(OFF_BY_ONE) ? row <= m : row < m) && column < n)
          c[(unsigned long)row * n + column] = sums[i][j][e];
      }
}
