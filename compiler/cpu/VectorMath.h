//===- VectorMath.h - functions in lanes ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Elementary functions as polynomials, on scalars and vectors alike. -inf gives exactly 0
// and NaN stays NaN (pitfalls: a clamp at -88 would make a row of -inf uniform).
//===----------------------------------------------------------------------===//
#ifndef ATTN_COMPILER_CPU_VECTORMATH_H
#define ATTN_COMPILER_CPU_VECTORMATH_H

#include "compiler/cpu/FunctionScope.h"

namespace attn {

/// 2^x for x <= 127, within 2 ulp; exactly 0 below 2^-126. What will be rounded to bf16 may be wrong by 2^-18 of itself.
mlir::Value emitExp2(FunctionScope &f, mlir::Value x, bool forBf16 = false);

/// e^x over all of f32, within 2 ulp.
mlir::Value emitExp(FunctionScope &f, mlir::Value x);

/// e^x over all of f64, within 4 ulp.
mlir::Value emitExpDouble(FunctionScope &f, mlir::Value x);

/// tanh x over all of f32, within 3 ulp.
mlir::Value emitTanh(FunctionScope &f, mlir::Value x);

/// The natural logarithm over all of f32, within 1 ulp.
mlir::Value emitLog(FunctionScope &f, mlir::Value x);

/// The same over all of f64, within 0.55 ulp.
mlir::Value emitLogDouble(FunctionScope &f, mlir::Value x);

/// Lanes of f32 over one divisor, by its reciprocal, which leaves the loops: within 2 ulp.
mlir::Value emitQuotient(FunctionScope &f, mlir::Value lanes, mlir::Value divisor);

/// Lanes of i64 as f32 or f64. Machines without AVX-512 convert them one by one.
mlir::Value emitIntegerToFloat(FunctionScope &f, mlir::Value x, mlir::Type type);

/// The sine (or cosine) of x, within 3 ulp for |x| up to 2^20.
mlir::Value emitSine(FunctionScope &f, mlir::Value x);
mlir::Value emitCosine(FunctionScope &f, mlir::Value x);

/// x where x > y, else y: one instruction on every target; a NaN x gives y.
mlir::Value emitMax(FunctionScope &f, mlir::Value x, mlir::Value y);

/// The first word of Philox 4x32-10 as 24 bits in [0, 1); `counter` and `seed` are i64 (or lanes of it).
mlir::Value emitPhilox(FunctionScope &f, mlir::Value seed, mlir::Value counter, mlir::Type result);

} // namespace attn

#endif // ATTN_COMPILER_CPU_VECTORMATH_H
