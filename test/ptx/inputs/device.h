// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What kernels in C need for the NVPTX back end: no CUDA header is involved.
#ifndef ATTN_TEST_PTX_DEVICE_H
#define ATTN_TEST_PTX_DEVICE_H

#define KERNEL __attribute__((nvptx_kernel)) void
#define SHARED static __attribute__((address_space(3), aligned(128)))
#define UNROLL _Pragma("clang loop unroll(full)")
typedef unsigned int u32;

static inline u32 thread(void) { return __nvvm_read_ptx_sreg_tid_x(); }
static inline u32 block_x(void) { return __nvvm_read_ptx_sreg_ctaid_x(); }
static inline u32 block_y(void) { return __nvvm_read_ptx_sreg_ctaid_y(); }
static inline void barrier(void) { __syncthreads(); }

/// The place of `pointer` in shared memory.
#define SHARED_ADDRESS(pointer) ((u32)(unsigned long)(pointer))

/// 16 bytes; only `size` of them are read, the rest is 0.
static inline void copy_async(u32 to, const void *from, u32 size) {
  __asm__ volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(size) : "memory");
}
static inline void copy_commit(void) { __asm__ volatile("cp.async.commit_group;" ::: "memory"); }
#define COPY_WAIT(groups) __asm__ volatile("cp.async.wait_group %0;" ::"n"(groups) : "memory")

static inline void load_matrices(u32 to[4], u32 from) {
  __asm__ volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3]) : "r"(from) : "memory");
}
static inline void load_transposed(u32 to[4], u32 from) {
  __asm__ volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3]) : "r"(from) : "memory");
}
/// c += a * b, for 16 x 16 and 16 x 8 halves.
static inline void multiply(float c[4], const u32 a[4], u32 b0, u32 b1) {
  __asm__ volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
static inline float exp2_fast(float x) { return __nvvm_ex2_approx_ftz_f(x); }
/// The value of the lane whose number differs by `bits`.
static inline float exchange(float x, int bits) { return __nvvm_shfl_sync_bfly_f32(-1, x, bits, 31); }
static inline float larger(float a, float b) { return a > b ? a : b; }

#endif
