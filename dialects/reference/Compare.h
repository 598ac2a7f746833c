// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Comparison of computed tensors with the interpreter's, and its report. The
// rule is error <= radius, never a tolerance. Knows nothing of who computed
// them.
#ifndef ATTN_DIALECTS_REFERENCE_COMPARE_H
#define ATTN_DIALECTS_REFERENCE_COMPARE_H

#include "dialects/reference/Result.h"
#include "llvm/Support/raw_ostream.h"
#include <array>

namespace attn::reference {

enum class Outcome { Agree, Mismatch, NothingCompared };

/// Of two parts of one check: a mismatch anywhere is one, and a part in which
/// nothing was compared adds nothing.
Outcome combine(Outcome a, Outcome b);

struct Difference {
  int64_t element = 0;
  double actual = 0, expected = 0, error = 0, radius = 0, ratio = 0;
};

struct Comparison {
  /// Upper ends of the histogram's buckets; one more bucket holds what lies
  /// past the last, NaN and infinities that differ among them.
  static constexpr std::array<double, 8> kEnds = {0,   1e-3, 1e-2, 0.1,
                                                  0.5, 1,    2,    10};

  std::string name;
  int64_t elements = 0, compared = 0, unbounded = 0, failed = 0;
  /// Error over radius. The median is over the elements whose radius is not 0.
  double worst = 0, median = 0;
  std::array<int64_t, kEnds.size() + 1> histogram = {};
  /// The five elements with the largest ratios, worst first, with their places.
  std::vector<std::pair<Difference, std::string>> worstElements;

  Outcome outcome() const;
  /// One line when the tensors agree, the whole story when they don't.
  void print(llvm::raw_ostream &out) const;
};

/// Compares what `name` should be with what it is. A NaN agrees only with an
/// expected NaN, an infinity only with itself, and an element whose radius is
/// infinite is only counted. An error where shapes or dtypes differ.
llvm::Expected<Comparison> compare(llvm::StringRef name, const Result &expected,
                                   const Buffer &actual);

} // namespace attn::reference

#endif
