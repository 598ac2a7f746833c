// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Causal attention of heads with 64 elements: y[h, s, :] over the keys t <= s, and log2 of the softmax's denominator. A CTA of
// four warps has 64 queries, 16 a warp, their fragments in registers; tiles of 64 keys and values are copied one ahead. Scores
// stay in registers, where the accumulators of the first product are the left operand of the second.
#include "device.h"
#include "faults.h"

typedef _Float16 half;
enum { Width = 64, Tile = 64, Bytes = 2 * Width * Tile };

SHARED unsigned char q_tile[Bytes];
SHARED unsigned char k_tiles[HAS(SMALL_BUFFER) ? 2 * Bytes - 16 : 2 * Bytes];
SHARED unsigned char v_tiles[2 * Bytes];

static inline u32 place(u32 row, u32 chunk) { return row * 128 + ((chunk ^ (row & 7)) << 4); }

static inline void load(u32 to, const half *from, u32 first, u32 rows) {
  UNROLL for (u32 part = 0; part < 4; ++part) {
    u32 i = thread() + 128 * part, row = i / 8, chunk = i % 8;
    int inside = first + row < rows;
    copy_async(to + place(row, chunk), inside ? from + (first + row) * (unsigned long)Width + chunk * 8 : from, inside ? 16 : 0);
  }
}

static inline u32 pack(float low, float high) {
  u32 both;
  __asm__("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
  return both;
}

/// The greatest or the sum over the four lanes of a row.
static inline float row_max(float x) {
  x = larger(x, exchange(x, 1));
  return HAS(MISSED_LANES) ? x : larger(x, exchange(x, 2));
}
static inline float row_sum(float x) {
  x += exchange(x, 1);
  return x + exchange(x, 2);
}

KERNEL flash(float *y, float *lse, const half *q, const half *k, const half *v, u32 rows, float scale) {
  u32 lane = thread() % 32, warp = thread() / 32, query = block_x() * Tile;
  unsigned long head = (unsigned long)block_y() * rows;
  q += head * Width, k += head * Width, v += head * Width, y += head * Width, lse += head;

  load(SHARED_ADDRESS(q_tile), q, query, rows);
  load(SHARED_ADDRESS(k_tiles), k, 0, rows);
  load(SHARED_ADDRESS(v_tiles), v, 0, rows);
  copy_commit();

  float sums[8][4] = {}, max[2] = {-__builtin_inff(), -__builtin_inff()}, total[2] = {0, 0};
  u32 fragments[4][4];
  u32 end = query + Tile < rows ? query + Tile : rows;
  for (u32 key = 0, stage = 0; key < end; key += Tile, stage ^= 1) {
    u32 k_tile = SHARED_ADDRESS(k_tiles) + stage * Bytes, v_tile = SHARED_ADDRESS(v_tiles) + stage * Bytes;
    if (key + Tile < end) {
      load(SHARED_ADDRESS(k_tiles) + (stage ^ 1) * Bytes, k, key + Tile, rows);
      load(SHARED_ADDRESS(v_tiles) + (stage ^ 1) * Bytes, v, key + Tile, rows);
    }
    copy_commit();
    COPY_WAIT(HAS(LATE_WAIT) ? 2 : 1);
    if (!HAS(DROPPED_BARRIER))
      barrier();
    if (key == 0)
      UNROLL for (u32 d = 0; d < 4; ++d)
        load_matrices(fragments[d], SHARED_ADDRESS(q_tile) + place(warp * 16 + lane % 16, d * 2 + lane / 16));

    float scores[8][4] = {};
    UNROLL for (u32 pair = 0; pair < 4; ++pair)
      UNROLL for (u32 d = 0; d < 4; ++d) {
        u32 keys[4], row = pair * 16 + lane % 8 + lane / 16 * 8, chunk = d * 2 + lane / 8 % 2;
        load_matrices(keys, k_tile + (HAS(WRONG_SWIZZLE) ? row * 128 + ((chunk ^ (row & 3)) << 4) : place(row, chunk)));
        multiply(scores[2 * pair], fragments[d], keys[0], keys[1]);
        multiply(scores[2 * pair + 1], fragments[d], keys[2], keys[3]);
      }

    // Only the last tile has keys that are not seen.
    int partial = key + Tile > query;
    float tile_max[2] = {max[0], max[1]};
    UNROLL for (u32 j = 0; j < 8; ++j)
      UNROLL for (u32 e = 0; e < 4; ++e) {
        u32 s = query + warp * 16 + lane / 4 + e / 2 * 8, t = key + j * 8 + lane % 4 * 2 + e % 2;
        int seen = HAS(OFF_BY_ONE) ? t < s : t <= s;
        scores[j][e] = partial && !(seen && t < rows) ? -__builtin_inff() : scores[j][e] * scale;
        tile_max[e / 2] = larger(tile_max[e / 2], scores[j][e]);
      }
    float base[2];
    UNROLL for (u32 i = 0; i < 2; ++i) {
      float next = row_max(tile_max[i]);
      base[i] = next == -__builtin_inff() ? 0 : next;
      float rescale = exp2_fast(max[i] - base[i]);
      max[i] = next;
      if (HAS(MISSED_RESCALE))
        rescale = 1;
      total[i] *= rescale;
      UNROLL for (u32 j = 0; j < 8; ++j) {
        sums[j][2 * i] *= rescale;
        sums[j][2 * i + 1] *= rescale;
      }
    }
    UNROLL for (u32 j = 0; j < 8; ++j)
      UNROLL for (u32 e = 0; e < 4; ++e) {
        scores[j][e] = exp2_fast(scores[j][e] - base[e / 2]);
        total[e / 2] += scores[j][e];
      }

    UNROLL for (u32 step = 0; step < 4; ++step) {
      float *left = scores[2 * step], *right = scores[2 * step + 1];
      u32 weights[4] = {pack(left[0], left[1]), pack(left[2], left[3]), pack(right[0], right[1]), pack(right[2], right[3])};
      UNROLL for (u32 pair = 0; pair < 4; ++pair) {
        u32 values[4], from = v_tile + place(step * 16 + lane % 16, pair * 2 + lane / 16);
        if (HAS(LOST_TRANSPOSE))
          load_matrices(values, from);
        else
          load_transposed(values, from);
        multiply(sums[2 * pair], weights, values[0], values[1]);
        multiply(sums[2 * pair + 1], weights, values[2], values[3]);
      }
    }
    if (!HAS(DROPPED_LAST_BARRIER))
      barrier();
  }

  UNROLL for (u32 i = 0; i < 2; ++i) {
    u32 s = query + warp * 16 + lane / 4 + i * 8;
    float sum = row_sum(total[i]);
    if (s < rows) {
      UNROLL for (u32 j = 0; j < 8; ++j)
        UNROLL for (u32 e = 0; e < 2; ++e)
          y[s * (unsigned long)Width + j * 8 + lane % 4 * 2 + e] = sums[j][2 * i + e] / sum;
      if (lane % 4 == 0)
        lse[s] = max[i] + __nvvm_lg2_approx_f(sum);
    }
  }
}
