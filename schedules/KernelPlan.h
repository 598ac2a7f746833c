//===- KernelPlan.h - one stage as plain data -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a stage of a decided kernel computes, for a code generator that knows no MLIR: axes by what they do, stored
// tensors, expression trees over them, and the schedule's numbers. A task has fixed indices along the axes in `tasks`.
// This header reads nothing but the standard library: Halide's sources include it, and may see no LLVM header.
//===----------------------------------------------------------------------===//
#ifndef ATTN_SCHEDULES_KERNELPLAN_H
#define ATTN_SCHEDULES_KERNELPLAN_H

#include <cstdint>
#include <string>
#include <vector>

namespace attn {

/// Elements as stored.
enum class PlanElement { F32, F16, BF16, I8, U8, I32, I64, Bool };
/// What expressions are computed in.
enum class PlanKind { F32, F64, I64, Bool };

/// Where something lies: an argument of the kernel or one of its buffers, by number.
struct PlanRef {
  bool isBuffer = false;
  int64_t number = 0;

  bool operator==(const PlanRef &other) const { return isBuffer == other.isBuffer && number == other.number; }
};

/// A factor of a tensor whose index every task fixes: it is folded into the tensor's address.
struct PlanFixed {
  int64_t factor = 0;
  std::string axis;

  bool operator==(const PlanFixed &other) const { return factor == other.factor && axis == other.axis; }
};

/// A stored tensor as a task sees it: the factors that are left are its dimensions, in stored order. Their strides are
/// known when it runs, and fit 32 bits.
struct PlanTensor {
  std::string name;
  PlanRef ref;
  PlanElement element = PlanElement::F32;
  std::vector<PlanFixed> fixed;
  std::vector<int64_t> factors;

  /// Whether both are the same part of the same tensor.
  bool sees(const PlanTensor &other) const {
    return ref == other.ref && fixed == other.fixed && factors == other.factors;
  }
};

/// A number that a task is given, as 64 bits.
enum class PlanNumber {
  Index,   ///< that of a task's axis
  Extent,  ///< that of an axis
  Factor,  ///< the extent of a factor of a tensor
  Argument ///< a scalar argument's bits, of type `element`
};
struct PlanScalar {
  PlanNumber number = PlanNumber::Index;
  std::string axis;
  PlanRef ref;
  int64_t factor = 0;
  PlanElement element = PlanElement::I64;
  int64_t known = -1; ///< an extent that the program fixes
};

/// One operation of an expression. `op` is one of
///   index      of the axis `axis` of lanes, keys or a width
///   scalar     `number` of the plan's scalars
///   constant   `integer` or `value`
///   read       tensor `number`; inputs: an index for each dimension, then for each its limit, -1 where it lies within
///   select, and, or, where    as in the dialect: what is not asked for may be absent
///   term       score term `number`
///   mix        result `number`, normalised;  logsumexp
///   product    the sum of a product
///   reduced    reduction `number` of the plan
///   rope       inputs: a value, cosines, sines; turned along `axis`. Of scalar `number` the axis is that of the pairs, which are
///              interleaved where `integer` is 1, else halves
/// or the name of a scalar operation: addf, cmpi.slt, exp, ...
struct PlanNode {
  std::string op;
  PlanKind kind = PlanKind::F32;
  std::string axis;
  int64_t number = 0;
  int64_t integer = 0;
  double value = 0;
  /// Nodes in front of this one.
  std::vector<int64_t> inputs;
};

/// A score term: products of a query and a key, summed over an axis.
struct PlanTerm {
  int64_t query = 0, key = 0;
  std::string over;
  int64_t extent = 0; ///< the scalar that is its extent
};

/// Keys [lower, upper) that a query sees; -1: from the first, to the last.
struct PlanRange {
  int64_t lower = -1, upper = -1;
};

/// A value that the weights mix, along a width.
struct PlanMix {
  int64_t value = 0;
  std::string width;
  int64_t extent = 0;
};

/// A result: the value at each index of the tensor's dimensions, whose axes are named; "" is the only query of a stage
/// without an axis of queries. A product's lie at `place`, indices and limits as those of a read.
struct PlanStore {
  int64_t tensor = 0;
  int64_t value = 0;
  int64_t condition = -1;
  std::vector<std::string> dims;
  std::vector<int64_t> place;
  bool keepsAbsent = false; ///< absent elements are not written
};

/// Elements of a product's row joined along its lane axis: `kind` is sum, mean, max or min.
struct PlanReduction {
  std::string kind;
  int64_t value = 0;
};

/// An axis and the scalar that is its extent.
struct PlanAxis {
  std::string name;
  int64_t extent = 0;
};

/// What a function does of a stage.
enum class PlanPart {
  Tile,  ///< a tile of queries against all keys, in blocks; gives results
  Chunk, ///< few queries against a chunk of keys; gives for each query maximum, sum and mix of its weights
  Merge, ///< what chunks gave; gives results
  Product, ///< some rows of a product by some of its columns; gives results
  Device ///< all queries against all keys on a device; gives results
};

/// An `attn.flash` stage: softmax(score) mixes values, over keys. Or a matrix product with what follows it: `queries` are its
/// rows, and its only term's sides are a row's element and a column's.
struct StagePlan {
  /// The function that runs one task.
  std::string symbol;
  PlanPart part = PlanPart::Tile;
  /// Tile: a register block has vectors of lanes queries by rows keys. Chunk: vectors of lanes lie along a width, for
  /// `queryTile` queries, and `rows` keys are scored at once. Device: blocks of `queryTile` threads, each of which has
  /// one query, and scores `rows` keys, or mixes as many elements of a width, at a time. Product: a register block has `rows`
  /// rows by vectors of lanes along the last axis of columns; a task has at most `queryTile` rows.
  int64_t lanes = 0, vectors = 0, rows = 0, queryTile = 0;
  /// Keys of a block, of a chunk a part whose sums stay in registers. Product: what a sum adds in registers.
  int64_t keyTile = 0;
  /// Chunk: keys of a task.
  int64_t chunk = 0;
  /// Axes that a task fixes, and those of its queries, row-major. A tile has at most one of the latter, along lanes; for a
  /// device nothing is fixed.
  std::vector<std::string> tasks;
  std::vector<PlanAxis> queries;
  PlanAxis key;
  /// Product: axes of columns and those that are summed over, row-major; the place along the latter is that of the term's `over`.
  std::vector<PlanAxis> columns, depth;
  /// Product: in an order in which each reads earlier ones alone.
  std::vector<PlanReduction> reductions;
  std::vector<PlanScalar> scalars;
  std::vector<PlanTensor> tensors;
  std::vector<PlanNode> nodes;
  std::vector<PlanTerm> terms;
  std::vector<PlanMix> mixes;
  std::vector<PlanRange> ranges;
  std::vector<PlanStore> stores;
  int64_t score = 0;
  int64_t mask = -1, sink = -1;
  /// When the score is its only term times this: it is multiplied into the query.
  int64_t queryFactor = -1;
  bool softmax = true;
};

} // namespace attn

#endif // ATTN_SCHEDULES_KERNELPLAN_H
