// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the interpreter says about one stored tensor: values, error radii, and
// how its storage reads as named indices. Plain data.
#ifndef ATTN_DIALECTS_REFERENCE_RESULT_H
#define ATTN_DIALECTS_REFERENCE_RESULT_H

#include "dialects/reference/Buffer.h"

namespace attn::reference {

/// One factor of a stored dimension. `index` is the lower-case name of its
/// axis, empty where the dimension has none.
struct StoredFactor {
  std::string index;
  int64_t extent = 1;
};

/// A stored dimension, as the row-major product of its factors. In a packed
/// ragged dimension, such as `(B T)`, `starts` holds where each entry of the
/// first factor begins, and one past the end. A padded one holds a ragged axis
/// alone: the storage may be longer than the longest.
struct StoredDimension {
  llvm::SmallVector<StoredFactor, 2> factors;
  std::vector<int64_t> starts;
  bool isPadded = false;
};

struct Result {
  /// The value rounded to the stored dtype.
  Buffer rounded;
  /// The value in f64 and the largest error that a sound f32 evaluation,
  /// rounded to the dtype, can have. Both in stored order. An infinite radius
  /// says that nothing is promised about the element.
  std::vector<double> value, radius;
  std::vector<StoredDimension> dimensions;

  /// `b=0 h=1 s=17`: the place of element `i` by name; by dimension (`#2=5`)
  /// where there is no name.
  std::string place(int64_t i) const;
};

using Results = std::map<std::string, Result>;

} // namespace attn::reference

#endif
