//===- ThreadScope.h - what a thread of a CTA can do ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Beside FunctionScope: 32-bit integers, the thread's place in its CTA, barriers, exchange between the lanes of a
// warp, shared memory, asynchronous copies and matrix instructions. Instructions are those of sm_80.
// It knows nothing of attention.
//===----------------------------------------------------------------------===//
#ifndef ATTN_COMPILER_CUDA_THREADSCOPE_H
#define ATTN_COMPILER_CUDA_THREADSCOPE_H

#include "compiler/cpu/FunctionScope.h"

namespace attn {

class ThreadScope {
public:
  using Value = mlir::Value;
  using Values = FunctionScope::Values;

  explicit ThreadScope(FunctionScope &f) : f(f) {}
  FunctionScope &scope() { return f; }
  mlir::OpBuilder &builder() { return f.builder(); }

  // 32-bit integers: numbers of threads and places in shared memory.
  Value i32(int64_t value);
  Value add(Value x, Value y);
  Value add(Value x, int64_t y) { return y ? add(x, i32(y)) : x; }
  Value mul(Value x, int64_t y);
  /// Floor and remainder of x / y for x >= 0; y is a number.
  Value div(Value x, int64_t y);
  Value rem(Value x, int64_t y);
  Value exclusiveOr(Value x, Value y);
  Value exclusiveOr(Value x, int64_t y) { return y ? exclusiveOr(x, i32(y)) : x; }
  Value clamp(Value x, int64_t low, int64_t high);
  Value smaller(Value x, Value y);
  Value greater(Value x, Value y);
  Value less(Value x, Value y) { return f.less(x, y); }
  Value narrow(Value wide);
  Value widen(Value narrow);

  // Where the thread is (i32).
  Value thread();
  /// The value (i32), not known to be the same: what depends on it is computed anew instead of being kept in registers.
  Value again(Value value);
  Value lane() { return rem(thread(), 32); }
  Value warp() { return div(thread(), 32); }

  // Threads together.
  void barrier();
  /// The same of so many threads, those of whole warps, of one of at most 15 groups (i32).
  void barrierOf(Value group, int64_t threads);
  /// A barrier that says whether the condition holds in any thread of the CTA.
  Value anyInBlock(Value condition);
  /// The value of the lane whose number differs by `bits`; an f32, an i32 or an i64.
  Value exchange(Value value, int64_t bits);
  /// `combine` over the lanes whose numbers differ in some of `bits`, a mask; all of them get the result.
  Value reduce(Value value, int64_t bits, llvm::function_ref<Value(Value, Value)> combine);

  // Shared memory, by byte addresses (i32).
  /// Where the CTA's dynamic shared memory begins: a multiple of 128.
  Value sharedMemory();
  Value loadShared(mlir::Type type, Value address);
  void storeShared(Value value, Value address);

  // Asynchronous copies.
  /// 16 bytes from a global address (i64) to a shared one; zeros where `condition` does not hold (null: it does).
  void copyAsync(Value to, Value from, Value condition);
  /// The first `bytes` (i32, at most 16; null: 16) of them, and zeros behind.
  void copyPart(Value to, Value from, Value bytes);
  void commitCopies();
  /// Waits until at most so many of the thread's groups are on their way.
  void waitForCopies(int64_t groups);

  // Matrices.
  /// Four matrices of 8 x 8 16-bit elements; each lane gives the address of a row.
  Values loadMatrices(Value address, bool transposed);
  /// sums (16 x 8, four f32) += left (16 x 16, four i32) * right (16 x 8, two i32), elements of f16 or bf16.
  void multiply(mlir::Type element, llvm::MutableArrayRef<Value> sums, llvm::ArrayRef<Value> left,
                llvm::ArrayRef<Value> right);
  /// Two f32 as one i32 of f16 or bf16, `low` in the lower half.
  Value pack(mlir::Type element, Value low, Value high);
  /// The two, as f32.
  std::pair<Value, Value> unpack(mlir::Type element, Value both);

  /// Repeats `body` while `holds` does; both get what is carried.
  Values repeat(mlir::ValueRange init, llvm::function_ref<Value(mlir::ValueRange)> holds,
                llvm::function_ref<Values(mlir::ValueRange)> body);

  /// 2^x within 2 ulp; what is denormal is 0.
  Value exp2(Value x);
  /// The greater; of a number and a NaN the number.
  Value max(Value x, Value y);

private:
  Value intrinsic(llvm::StringRef name, mlir::Type result, mlir::ValueRange operands);
  Value sharedPointer(Value address);

  FunctionScope &f;
};

} // namespace attn

#endif // ATTN_COMPILER_CUDA_THREADSCOPE_H
