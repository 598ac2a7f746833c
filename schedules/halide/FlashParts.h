//===- FlashParts.h - what all forms of a flash stage share -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Queries, keys, values and results at points, and how states of a softmax are merged. Scores are kept in base 2.
//===----------------------------------------------------------------------===//
#ifndef ATTN_SCHEDULES_HALIDE_FLASHPARTS_H
#define ATTN_SCHEDULES_HALIDE_FLASHPARTS_H

#include "schedules/halide/StageParts.h"

namespace attn {

inline constexpr float negativeInfinity = -std::numeric_limits<float>::infinity();
inline constexpr float log2OfE = 1.44269504f;

/// Two states of a softmax as one (Milakov and Gimelshein, Online normalizer calculation for softmax, 2018). A state is
/// a maximum, a sum and any number of mixes:
///   (m, l, o) + (m', l', o') = (M, l 2^(m - M) + l' 2^(m' - M), o 2^(m - M) + o' 2^(m' - M)),  M = max(m, m')
/// One without keys, (-inf, 0, 0), changes nothing.
std::vector<Halide::Expr> mergedStates(const std::vector<Halide::Expr> &one, const std::vector<Halide::Expr> &other);

/// By `<`: Halide takes x <= y for not y < x, which holds for NaN.
Halide::Expr isFinite(const Halide::Expr &value);

/// A part of a flash stage.
class FlashParts : public StageParts {
protected:
  /// Maximum, sum and mixes of a query, at an element of the width (undefined: of no width).
  using StateAt = std::function<std::vector<Expr>(const Expr &query, const Expr &element)>;

  using StageParts::StageParts;

  /// How many queries a task's axes have.
  Expr queryCount() const { return countOf(plan.queries); }
  Expr keyCount() const { return inputs.extent(plan.key.extent); }
  Expr width() const { return plan.mixes.empty() ? Expr(1) : inputs.extent(plan.mixes[0].extent); }
  /// Those behind the last query repeat it.
  Expr withinQueries(const Expr &query) const;
  /// With the axes of queries and of keys bound to numbers; either may be undefined.
  Points pointsAt(const Expr &query, const Expr &key) const;
  /// Whether a query sees a key by its ranges; undefined: all.
  Expr isInRanges(const Expr &query, const Expr &key) const;
  /// The element of a query's row of a term, with what multiplies the score.
  Expr queryElement(size_t term, const Expr &query, const Expr &element) const;
  /// At an element that may lie behind the last, which it repeats. The query matters where a task does not fix the keys.
  Expr keyElement(size_t term, const Expr &query, const Expr &key, const Expr &element) const;
  /// A value at an element that may lie behind the last, which it repeats.
  Expr rawValue(size_t mix, const Expr &query, const Expr &element, const Expr &key) const;
  /// The score of a pair in base 2, -inf where it is absent. `dots` are those of the terms, `seen` what else is asked.
  Expr scoreOf(const Expr &query, const Expr &key, const std::vector<Expr> &dots, const Expr &seen) const;
  /// The state before any key: with a sink, which is a logit without a key.
  std::vector<Expr> initialState(const Expr &query, size_t mixes) const;
  /// A result at its place; elements of the width are at `e`.
  void defineResult(const PlanStore &store, const StateAt &stateAt);
  /// The extent of a result's dimension where it has all queries.
  Expr resultExtent(size_t output, int dimension) const;

  Halide::Var x{"x"}, e{"e"}, k{"k"};
};

/// A part whose lanes are queries, and which goes over blocks of keys: what happens within a block, and how blocks are merged. The
/// width is cut into groups of elements, each a tuple with a maximum and a sum of its own, so that a group's accumulators stay
/// in registers.
class BlockParts : public FlashParts {
protected:
  explicit BlockParts(const StagePlan &plan);

  /// The maxima of a block's scores, weights against them and the weights' sums.
  void defineWeights(const Halide::RDom &keysOfBlock);
  /// The states of all blocks as one.
  void defineState(const Halide::RDom &blocks);
  void defineResults();
  /// How many values a group mixes.
  int parts() const { return groupRows * int(plan.mixes.size()); }
  /// One of them.
  Expr mixOf(const Expr &block, int part);

  Halide::Var j{"j"}, group{"group"};
  int groupRows; ///< elements of a group
  Func scores{"scores"}, maximum{"maximum"}, weights{"weights"}, sum{"sum"}, mixed{"mixed"}, state{"state"};
};

} // namespace attn

#endif // ATTN_SCHEDULES_HALIDE_FLASHPARTS_H
