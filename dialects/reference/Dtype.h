// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The element types of stored tensors: names, sizes, exact widening, and stores
// that round to nearest even. Knows neither MLIR nor the compiler.
#ifndef ATTN_DIALECTS_REFERENCE_DTYPE_H
#define ATTN_DIALECTS_REFERENCE_DTYPE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <optional>

namespace attn::reference {

enum class Dtype { F32, F16, BF16, F8E4M3, F8E5M2, I8, U8, I32, I64, Bool };

/// The ten dtypes in the order of the language page.
llvm::ArrayRef<Dtype> allDtypes();

llvm::StringRef dtypeName(Dtype dtype);
std::optional<Dtype> parseDtype(llvm::StringRef name);
int64_t dtypeSize(Dtype dtype);

bool isFloat(Dtype dtype);
/// i8, u8, i32 and i64; a bool is a condition, never a number.
bool isInteger(Dtype dtype);

/// How a float dtype is laid out. The values below `smallestNormal` are spaced
/// evenly, by `2^(minExponent - mantissaBits)`.
struct FloatFormat {
  int mantissaBits;
  int minExponent;
  double largest;
  /// f16 and bf16 turn what lies past `largest` into infinity, fp8 saturates.
  bool overflowsToInfinity;
};
FloatFormat floatFormat(Dtype dtype);

/// The smallest and largest value of an integer dtype.
int64_t integerMinimum(Dtype dtype);
int64_t integerMaximum(Dtype dtype);

/// `value` rounded once, to nearest even, to what `dtype` can hold, as f64.
/// Integers and fp8 saturate; a NaN becomes 0 in an integer.
double roundTo(double value, Dtype dtype);
/// `value` clamped to what an integer dtype can hold.
int64_t saturate(int64_t value, Dtype dtype);

/// One element at `bytes`: exactly widened, or rounded and stored. Bools read
/// as 0 or 1; any stored byte but 0 is true.
double loadDouble(Dtype dtype, const uint8_t *bytes);
int64_t loadInteger(Dtype dtype, const uint8_t *bytes);
void storeDouble(Dtype dtype, double value, uint8_t *bytes);
void storeInteger(Dtype dtype, int64_t value, uint8_t *bytes);

} // namespace attn::reference

#endif
