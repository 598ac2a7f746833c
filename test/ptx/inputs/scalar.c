// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Ordinary C in many types, compiled for this machine and for the simulator: both must give the same bits.
typedef signed char i8;
typedef short i16;
typedef int i32;
typedef long long i64;
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned u32;
typedef unsigned long long u64;

enum { Results = 28 };

struct pair {
  i64 first;
  float second;
  u8 bytes[12];
};

static const u16 table[8] = {3, 1, 4, 1, 5, 9, 2, 6};
static const float roots[4] = {0.5f, 1.5f, -2.25f, 1e-30f};

static u64 float_bits(float x) { return __builtin_bit_cast(u32, x); }
static u64 double_bits(double x) { return __builtin_bit_cast(u64, x); }
/// Any pattern as a float that is not NaN and not subnormal.
static float to_float(u64 x) { return (float)(i32)x * 0x1p-20f; }

__attribute__((noinline)) static struct pair make(i64 a, i64 b) {
  struct pair made = {a * 3 - b, to_float(b), {0}};
  for (int i = 0; i < 12; ++i)
    made.bytes[i] = (u8)(a >> (i * 5) ^ b);
  return made;
}

__attribute__((noinline)) static i64 total(const struct pair *p, int n) {
  i64 sum = 0;
  for (int i = 0; i < n; ++i) {
    sum = sum * 31 + p[i].first + (i64)p[i].second;
    for (int j = 0; j < 12; j += 1 + (i & 1))
      sum ^= (i64)p[i].bytes[j] << (j * 4);
  }
  return sum;
}

static i64 by_case(u32 which, i64 a, i64 b) {
  switch (which) {
  case 0: return a + b;
  case 1: return a * b;
  case 2: return a ^ (b << 3);
  case 3: return b ? a / b : -1;
  case 4: return a < b ? a : b;
  case 5: return __builtin_popcountll(a) - __builtin_clzll(b | 1);
  case 6: return total(&(struct pair){a, 1, {(u8)b}}, 1);
  case 7: return ~a;
  case 8: return a % 1000 * (b % 1000);
  default: return (i64)((u64)a >> (b & 63));
  }
}

static u64 collatz(u32 n) {
  u64 steps = 0;
  for (n = n % 1000 + 1; n != 1; ++steps)
    n = n & 1 ? 3 * n + 1 : n / 2;
  return steps;
}

static void results(u64 *r, u64 a, u64 b) {
  i64 sa = (i64)a, sb = (i64)b;
  float fa = to_float(a), fb = to_float(b);
  double da = (double)sa * 0x1p-40, db = (double)sb * 0x1p-40;
  struct pair pairs[3] = {make(sa, sb), make(sb, sa), make(sa ^ sb, 7)};
  u32 order[16];
  for (u32 i = 0; i < 16; ++i)
    order[i] = (u32)(a >> (i * 3)) * 2654435761u + (u32)b;
  for (u32 i = 1; i < 16; ++i)
    for (u32 j = i; j && order[j - 1] > order[j]; --j) {
      u32 other = order[j];
      order[j] = order[j - 1];
      order[j - 1] = other;
    }

  r[0] = a + b;
  r[1] = (u64)((i32)a / ((i32)b | 1)) ^ (u32)((u32)a % ((u32)b | 1));
  r[2] = (u64)(sa / (sb | 1)) ^ a % (b | 1);
  r[3] = (u64)((i16)a * (i16)b) + ((u32)(u16)a * (u16)b >> 3);
  r[4] = (u64)(i8)a - (u64)(u8)b + (u64)((i8)(a + b) >> 2);
  r[5] = (u64)((unsigned __int128)a * b >> 64) ^ (u64)((__int128)sa * sb >> 70);
  r[6] = (a << (b & 63)) ^ (u64)(sa >> (b >> 8 & 63)) ^ (u32)a << (b & 31);
  r[7] = (a << 13 | a >> 51) ^ ((u32)b << 7 | (u32)b >> 25);
  r[8] = __builtin_bswap64(a) ^ __builtin_bswap32((u32)b) ^ __builtin_bitreverse32((u32)a);
  r[9] = __builtin_popcount((u32)a) + 100 * __builtin_clz((u32)b | 1) + 10000 * __builtin_ctzll(a | 1ull << 63);
  r[10] = (u64)total(pairs, 3);
  r[11] = order[0] ^ (u64)order[7] << 20 ^ (u64)order[15] << 32;
  r[12] = (u64)by_case(a % 11, sa, sb);
  r[13] = collatz((u32)b);
  r[14] = table[a & 7] * (u64)table[b & 7] + float_bits(roots[a & 3] * fb);
  r[15] = float_bits(fa + fb) ^ float_bits(fa * fb) << 32;
  r[16] = float_bits(fa / (fb + 0x1p20f)) ^ float_bits(__builtin_sqrtf(__builtin_fabsf(fa))) << 32;
  r[17] = double_bits(da * db - da) ^ double_bits(da / (db + 0x1p30));
  r[18] = double_bits(__builtin_sqrt(__builtin_fabs(db)));
  r[19] = float_bits((float)a) ^ float_bits((float)sb) << 32;
  r[20] = double_bits((double)a) ^ double_bits((double)(i32)b);
  r[21] = (u64)(i64)fa + (u64)(i32)(fb * 3) + (u64)(u32)__builtin_fabsf(fa);
  r[22] = (u64)(i64)(da * 1000) ^ float_bits((float)db);
  r[23] = __builtin_bit_cast(u16, (_Float16)fa) + ((u64)__builtin_bit_cast(u16, (_Float16)(da * 0x1p-12)) << 16) +
          (float_bits((float)__builtin_bit_cast(_Float16, (u16)(a & 0x7bff))) << 32);
  r[24] = (fa < fb) + 2 * (fa >= fb) + 4 * (da != db) + 8 * (sa < sb) + 16 * (a < b) + 32 * ((i8)a < (i8)b) + 64 * !(fa < 0);
  r[25] = float_bits(__builtin_floorf(fa)) ^ float_bits(__builtin_truncf(fb)) << 32 ^ double_bits(__builtin_rint(da));
  r[26] = float_bits(__builtin_fmaf(fa, fb, -fa)) ^ double_bits(__builtin_fma(da, db, -db));
  r[27] = float_bits(__builtin_copysignf(fa, fb)) + (u64)(a & 1 ? (i32)b : (i16)b) + (u8)(i8)((i32)a < -50 ? -50 : (i32)a > 50 ? 50 : (i32)a);
}

#ifdef __NVPTX__
#include "device.h"
KERNEL scalar(u64 *out, const u64 *in) {
  u32 i = block_x() * 32 + thread();
  results(out + i * Results, in[2 * i], in[2 * i + 1]);
}
#else
void scalar(u64 *out, const u64 *in, u32 count) {
  for (u32 i = 0; i < count; ++i)
    results(out + i * Results, in[2 * i], in[2 * i + 1]);
}
#endif
