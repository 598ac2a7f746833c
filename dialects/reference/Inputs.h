// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Inputs to check kernels with: ordinary ones, and those that kernels get
// wrong. Every element follows from the seed, the argument's name and its place
// alone. Knows arguments by dtype and shape; nothing of programs.
#ifndef ATTN_DIALECTS_REFERENCE_INPUTS_H
#define ATTN_DIALECTS_REFERENCE_INPUTS_H

#include "dialects/reference/Buffer.h"

namespace attn::reference {

/// What an integer argument may hold, as far as anybody knows.
struct IntegerRange {
  enum Kind {
    /// Anything from `low` to `high`.
    Any,
    /// Offsets into packed storage: they start at 0, never fall and end at
    /// `high`.
    Offsets,
    /// Lengths that add up to `high`.
    Lengths,
    /// Different numbers below `high`, as pages of a pool; they repeat when
    /// there
    /// are too few.
    Distinct
  } kind = Any;
  int64_t low = 0, high = 0;
};

struct ArgumentSpec {
  std::string name;
  Dtype dtype = Dtype::F32;
  llvm::SmallVector<int64_t, 4> shape;
  IntegerRange range;
};

/// One place of one argument, with numbers of its own.
struct Place {
  const ArgumentSpec &argument;
  uint64_t key;
  int64_t element;

  /// In (0, 1); `salt` gives several for one element.
  double uniform(uint32_t salt = 0) const;
  double normal() const;
  /// The index along dimension `d`.
  int64_t along(size_t d) const;
  int64_t extent(size_t d) const { return argument.shape[d]; }
  size_t rank() const { return argument.shape.size(); }
};

/// A kind of input. Each member makes the elements of one kind of argument.
struct InputCase {
  llvm::StringRef name, what;
  double (*number)(const Place &);
  bool (*condition)(const Place &);
  int64_t (*integer)(const Place &);
  /// What turns out to have no effect is to be filled with NaN
  /// (`poisonAbsent`).
  bool poisonsAbsent = false;
};

/// `normal` first; the others are adversarial.
llvm::ArrayRef<InputCase> inputCases();
const InputCase *findInputCase(llvm::StringRef name);

/// An error where the argument can't be allocated.
llvm::Expected<Buffer> makeInput(const ArgumentSpec &argument,
                                 const InputCase &inputs, uint64_t seed);

} // namespace attn::reference

#endif
