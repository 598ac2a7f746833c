//===- KeyRanges.h - the keys that a mask lets a row see --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From conditions to ranges of the first key axis, by MLIR's Presburger library. Knows no operations.
//===----------------------------------------------------------------------===//
#ifndef ATTN_COMPILER_OPTIMIZE_KEYRANGES_H
#define ATTN_COMPILER_OPTIMIZE_KEYRANGES_H

#include "compiler/optimize/MaskFormula.h"
#include <string>

namespace attn {

/// The conjunction of `conjuncts` over key axes whose inner ones have the extents `innerExtents`.
struct MaskProblem {
  unsigned keys = 1, symbols = 0;
  std::vector<AffineForm> innerExtents; ///< of key axes 1, 2, ...
  std::vector<MaskQuotient> quotients;
  std::vector<Formula> conjuncts;
  std::vector<AffineForm> facts = {}; ///< of symbols alone; at least 0 in every row
};

/// floor(form / divisor), of symbols alone.
struct KeyBound {
  AffineForm form;
  int64_t divisor = 1;
  bool operator==(const KeyBound &other) const { return divisor == other.divisor && form == other.form; }
};

/// Keys t with lower <= t < upper for all of these, in rows where every condition is at least 0.
struct KeyRange {
  std::vector<KeyBound> lower, upper;
  std::vector<AffineForm> conditions;
};

/// One range from the smallest lower to the largest upper bound of its parts.
using KeyHull = std::vector<KeyRange>;

struct KeyRanges {
  /// Every key that the mask lets through lies in one of these. None: the mask lets nothing through.
  std::vector<KeyHull> hulls;
  /// Per conjunct: whether it does not follow from lying in a range, and has to be evaluated there.
  std::vector<bool> isLeft;
  /// Why an affine conjunct is left; empty where none is.
  std::string reason;
  /// Whether a range excludes anything at all.
  bool excludes() const;
};

/// At most `most` ranges; more are joined.
KeyRanges rangesOf(const MaskProblem &problem, unsigned most);

} // namespace attn

#endif // ATTN_COMPILER_OPTIMIZE_KEYRANGES_H
