// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sums with their error, contractions and row normalisation, as several
// operations need them. Private to this room.
#ifndef ATTN_DIALECTS_REFERENCE_REDUCTIONS_H
#define ATTN_DIALECTS_REFERENCE_REDUCTIONS_H

#include "dialects/reference/Machine.h"

namespace attn::reference {

/// A sum of `n` finite terms in any order: `size` is the sum of their
/// magnitudes, `radius` of their radii; Higham (2002), 4.2. Below `tiny` a term
/// may be lost.
Number summed(double sum, double size, double radius, int64_t n,
              double tiny = kTiny);

/// A sum whose terms may be infinite, NaN or unbounded.
struct Sum {
  double sum = 0, size = 0, radius = 0;
  int64_t count = 0;
  double tiny = kTiny;
  std::optional<Number> special;

  void add(Number x);
  Number result() const;
};

/// `x` if it may have been rounded to a 16-bit dtype once.
Number oncePossiblyRounded(Number x, Dtype dtype);

/// The sum of products over `over`, which both sides have, with the axes and
/// element of `result`. Never builds the table of products.
llvm::Expected<Tensor> contract(Machine &machine, const Tensor &lhs,
                                const Tensor &rhs,
                                llvm::ArrayRef<mlir::StringAttr> over,
                                mlir::Value result);

/// Softmax over `over`, and the log-sum-exp of each row where `logarithm` is
/// not null (of the same type as the rows). `sink` may be null.
llvm::Expected<Tensor> softmax(Machine &machine, const Tensor &score,
                               llvm::ArrayRef<mlir::StringAttr> over,
                               const Tensor *sink, Tensor *logarithm);

} // namespace attn::reference

#endif
