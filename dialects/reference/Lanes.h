// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Scalar operations over a run of elements at once: what the region of an
// `attn.map` is made of. Private to this room.
#ifndef ATTN_DIALECTS_REFERENCE_LANES_H
#define ATTN_DIALECTS_REFERENCE_LANES_H

#include "dialects/reference/Numerics.h"
#include "dialects/reference/Tensor.h"
#include "llvm/ADT/StringMap.h"

namespace attn::reference {

/// The value of one scalar at many points. Conditions are integers 0 and 1.
struct Lanes {
  explicit Lanes(mlir::Type type, size_t n);

  Kind kind;
  /// Bits of an integer.
  unsigned width;
  /// f32: each operation rounds.
  bool single;
  /// Integers and conditions that rounding may change are unsure; `radius` says
  /// by how much, where that is known.
  std::vector<double> value, radius, least;
  std::vector<int64_t> integer;
  std::vector<uint8_t> unsure;

  Number number(size_t i) const { return {value[i], radius[i], least[i]}; }
  void set(size_t i, Number x) {
    value[i] = x.value;
    radius[i] = x.radius;
    least[i] = x.least;
  }
  /// Wraps to the type's width.
  void set(size_t i, int64_t x, bool isUnsure);
};

using Operands = llvm::ArrayRef<const Lanes *>;
using ScalarFunction = void (*)(mlir::Operation *op, Operands in, Lanes &out,
                                size_t n);

/// The function for an operation; null where it is not known.
ScalarFunction findScalarFunction(llvm::StringRef operation);

using ScalarTable = llvm::StringMap<ScalarFunction>;
void addNumberFunctions(ScalarTable &table);
void addIntegerFunctions(ScalarTable &table);

} // namespace attn::reference

#endif
