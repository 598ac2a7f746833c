// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A stored tensor: dtype, shape and compact row-major bytes. Knows neither MLIR
// nor files.
#ifndef ATTN_DIALECTS_REFERENCE_BUFFER_H
#define ATTN_DIALECTS_REFERENCE_BUFFER_H

#include "dialects/reference/Dtype.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"
#include <map>
#include <string>
#include <vector>

namespace attn::reference {

/// The number of elements of `shape`, or nothing where an extent is negative or
/// the bytes of so many `dtype`s don't fit 63 bits.
std::optional<int64_t> elementCount(llvm::ArrayRef<int64_t> shape, Dtype dtype);

/// `shape` as `2x3x4`; a scalar is `scalar`.
std::string shapeText(llvm::ArrayRef<int64_t> shape);

struct Buffer {
  Dtype dtype = Dtype::F32;
  llvm::SmallVector<int64_t, 4> shape;
  std::vector<uint8_t> bytes;

  /// Zeros. The caller knows that the shape is sound.
  static Buffer zeros(Dtype dtype, llvm::ArrayRef<int64_t> shape);
  static Buffer fromDoubles(Dtype dtype, llvm::ArrayRef<int64_t> shape,
                            llvm::ArrayRef<double> values);
  static Buffer fromIntegers(Dtype dtype, llvm::ArrayRef<int64_t> shape,
                             llvm::ArrayRef<int64_t> values);
  /// The same for a shape from outside: an error where it can't be allocated.
  static llvm::Expected<Buffer> create(Dtype dtype,
                                       llvm::ArrayRef<int64_t> shape);

  int64_t size() const {
    return static_cast<int64_t>(bytes.size()) / dtypeSize(dtype);
  }
  const uint8_t *at(int64_t i) const {
    return bytes.data() + i * dtypeSize(dtype);
  }
  uint8_t *at(int64_t i) { return bytes.data() + i * dtypeSize(dtype); }

  double number(int64_t i) const { return loadDouble(dtype, at(i)); }
  int64_t integer(int64_t i) const { return loadInteger(dtype, at(i)); }
  void set(int64_t i, double value) { storeDouble(dtype, value, at(i)); }
  void setInteger(int64_t i, int64_t value) {
    storeInteger(dtype, value, at(i));
  }

  /// All elements, exactly widened (an i64 past 2^53 is rounded).
  std::vector<double> numbers() const;
};

/// Arguments, or results, by name.
using Buffers = std::map<std::string, Buffer>;

} // namespace attn::reference

#endif
