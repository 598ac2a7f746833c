//===- Expressions.h - values at points -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Evaluates math-level values at the point where the generated code stands. Each
// axis is bound to an index; one axis may run along the lanes of vectors, in several
// slots side by side. A value without that axis stays a scalar. Every value is
// computed in the outermost scope that knows all its axes, once: that is how
// invariants leave the inner loops.
// This file knows values and presence; it does not know stages or tiles.
//===----------------------------------------------------------------------===//
#ifndef ATTN_COMPILER_CPU_EXPRESSIONS_H
#define ATTN_COMPILER_CPU_EXPRESSIONS_H

#include "compiler/cpu/FunctionScope.h"

namespace attn {

/// A value at a point: a scalar or a vector of lanes, and where it is present
/// (an i1 or lanes of i1; null: always).
struct Datum {
  mlir::Value value;
  mlir::Value present;
};

class Expressions {
public:
  using Values = FunctionScope::Values;

  Expressions(FunctionScope &f, int64_t lanes);

  /// No remark tells how the read is done: it is not what usually happens.
  void doNotRemark(ReadOp read) { unremarked.insert(read); }

  /// Enters a scope whose code stands inside `regionOp`: what the scopes around it
  /// compute from now on stands in front of that op. A null op: the scope's code
  /// stands where the builder is.
  void enter(mlir::Operation *regionOp);
  void leave();

  /// Binds an axis in the innermost scope to one index: i64, or lanes of it. `valid` says
  /// where the index lies within the extent (null: everywhere).
  void bind(mlir::StringAttr axis, mlir::Value index, mlir::Value valid = {});
  /// Makes `axis` run along the lanes in the innermost scope: `first[slot]` is the
  /// index of lane 0; `mask[slot]` says which lanes lie within the extent (null: all).
  void bindLanes(mlir::StringAttr axis, llvm::ArrayRef<mlir::Value> first, llvm::ArrayRef<mlir::Value> mask);
  bool isBound(mlir::StringAttr axis) const { return binding(axis); }
  /// Says that what the innermost scope binds a ragged axis to lies within its extent at the point, where lanes are
  /// not masked.
  void markExisting(mlir::StringAttr axis) { scopes.back().existing.insert(axis); }
  /// The extent of an axis at the point: of a ragged one that of the bound indices, lanes where it depends on them.
  mlir::Value extentAt(mlir::StringAttr axis, unsigned slot = 0);
  /// Where the point exists: the indices of ragged axes among `axes` lie within their extents. Axes are passed over
  /// whose extent is not known yet. Null: everywhere.
  mlir::Value existence(llvm::ArrayRef<mlir::StringAttr> axes, unsigned slot = 0);
  /// Gives a value in the innermost scope.
  void set(mlir::Value value, unsigned slot, Datum datum);
  /// The index that the axis is bound to; null when it is not.
  mlir::Value indexAlong(mlir::StringAttr axis, unsigned slot = 0);

  /// Where a read's element lies at the point, as i64 (or lanes of it), and where it may be touched.
  Datum locate(ReadOp op);
  /// In the innermost scope, which binds what a ragged axis depends on, to one index: so many elements lie in front of the
  /// axis' run where it is packed (i64).
  void setStart(mlir::StringAttr ragged, mlir::Value start) { scopes.back().starts[{ragged, 0}] = start; }
  /// In the innermost scope, which binds the lanes: along them, elements of `op` lie side by side from `row` (!llvm.ptr,
  /// that of index 0) on, and all of them exist.
  void setRow(ReadOp op, mlir::Value row) { scopes.back().located[op] = row; }

  /// The value at the point. Faults are reported once and remembered.
  Datum evaluate(mlir::Value value, unsigned slot = 0);
  /// The same as lanes, whether it depends on the lane axis or not.
  Datum evaluateLanes(mlir::Value value, unsigned slot = 0);
  bool failed() const { return hasFailed; }

  /// Takes these strides for 1 while `body` builds: it stands where they have been tested.
  void withUnitStrides(llvm::ArrayRef<mlir::Value> strides, llvm::function_ref<void()> body);

  /// Stores the op's value at its place. Absent elements are stored as 0, or left
  /// as they are in an inout.
  void write(WriteOp op, unsigned slot = 0);

  mlir::Value laneMask(unsigned slot = 0) const;
  int64_t getLanes() const { return lanes; }
  FunctionScope &scope() { return f; }

  // Presence: null is "always".
  mlir::Value both(mlir::Value x, mlir::Value y);
  mlir::Value either(mlir::Value x, mlir::Value y);
  mlir::Value negate(mlir::Value x);
  mlir::Value choose(mlir::Value condition, mlir::Value x, mlir::Value y);
  mlir::Value asLanes(mlir::Value value);

  /// Loops over axes, each bound to its index, around `body`.
  Values loops(llvm::ArrayRef<mlir::StringAttr> axes, mlir::ValueRange init,
               llvm::function_ref<Values(mlir::ValueRange)> body);

private:
  struct Scope {
    mlir::Operation *regionOp = nullptr;
    llvm::DenseMap<mlir::StringAttr, mlir::Value> indices, valid;
    /// The lane axis, when this scope binds it.
    mlir::StringAttr lane;
    Values laneFirst, laneMasks;
    /// Ragged axes whose index is known to exist.
    llvm::DenseSet<mlir::StringAttr> existing;
    /// Where the bound run of a packed axis starts.
    llvm::DenseMap<std::pair<mlir::StringAttr, unsigned>, mlir::Value> starts;
    llvm::DenseMap<std::pair<mlir::Value, unsigned>, Datum> known;
    /// Rows of reads.
    llvm::DenseMap<mlir::Operation *, mlir::Value> located;
    /// Maximum and sum of exponentials of a row.
    llvm::DenseMap<std::pair<mlir::Operation *, unsigned>, std::pair<mlir::Value, mlir::Value>> rows;
    bool binds(mlir::StringAttr axis) const { return lane == axis || indices.count(axis); }
  };
  /// Where a stored element is: an offset, and what it needs to be reached.
  struct Place {
    const Access *access;
    mlir::Value offset;     ///< i64 or lanes; without the lane step when that is linear
    mlir::Value laneStride; ///< set when the place is linear along the lanes
    bool isBackwards = false; ///< each lane lies that much before the one in front of it
    /// So many lanes in a row have one element, where `areRuns` holds; `offset` is that of the first lane, and
    /// `laneTerms` is what the others add.
    int64_t run = 1;
    mlir::Value areRuns, laneTerms;
    mlir::Value inRange;    ///< null: always
    bool lanes = false;
  };

  const Scope *binding(mlir::StringAttr axis) const;
  size_t homeOf(llvm::ArrayRef<mlir::StringAttr> axes) const;
  bool alongLanes(mlir::StringAttr axis) const;
  bool alongLanes(llvm::ArrayRef<mlir::StringAttr> axes) const;
  /// Runs `build` with the scopes and the builder as they are at `home`.
  void at(size_t home, llvm::function_ref<void()> build);

  Datum compute(mlir::Value value, unsigned slot);
  Datum computeTake(TakeOp op, unsigned slot);
  Datum computeMap(MapOp op, unsigned slot);
  Datum computeSelect(SelectOp op, unsigned slot);
  Datum computeCondition(mlir::Operation *op, unsigned slot);
  mlir::Value computeScalar(mlir::Operation &op, mlir::IRMapping &scalars);

  // Places.cpp
  Datum computeRead(ReadOp op, unsigned slot);
  Datum readByValue(mlir::BlockArgument argument);
  void remarkGather(ReadOp op, const Place &place);
  llvm::SmallPtrSet<mlir::Operation *, 2> unremarked;
  mlir::Value readRow(ReadOp op, unsigned slot);
  Place place(mlir::Value ref, mlir::ValueRange indices, unsigned slot);
  void addFactor(Place &place, mlir::ValueRange indices, size_t factor, bool mayBeLinear, unsigned slot);
  void addTerm(Place &place, mlir::Value index, mlir::Value stride);
  void addRuns(Place &place, mlir::Value index, mlir::Value stride, int64_t run);
  mlir::Value loadRuns(const Place &place, mlir::Type memory, mlir::Value mask);
  mlir::Value loadScalar(const Place &place, mlir::Type type);
  mlir::Value loadLanes(const Place &place, mlir::Type type, unsigned slot);
  mlir::Value gather(const Place &place, mlir::Type type, mlir::Value mask);
  void storeScalar(const Place &place, mlir::Value value, mlir::Value mask);
  void storeLanes(const Place &place, mlir::Value value, mlir::Value mask);
  mlir::Value laneOffsets(const Place &place);
  bool isUnit(mlir::Value stride) const;

  // LaneSteps.cpp
  /// How an index goes along the lanes: from a multiple of `multiple` (0: it is 0) by `step` for each lane.
  struct Progress {
    int64_t step, multiple;
  };
  using ScalarProgress = llvm::DenseMap<mlir::Value, std::optional<Progress>>;
  bool linearAlongLanes(mlir::Value index) const;
  /// Nothing where the step isn't known, or not the same everywhere.
  std::optional<Progress> progressAlongLanes(mlir::Value index) const;
  ScalarProgress progressOfScalars(MapOp map) const;
  std::optional<Progress> progressOf(mlir::Operation &scalar, const ScalarProgress &known) const;
  std::optional<int64_t> laneStep(mlir::Value index) const;
  /// The quotient's divisor where an index is a quotient of what grows by one from lane to lane; else 1.
  int64_t laneRun(mlir::Value index) const;
  /// An index whose step is known, from what it is at lane 0: a scalar where all lanes have the same.
  std::optional<Datum> computeFromFirstLane(MapOp op, unsigned slot);

  // Existence.cpp
  bool isAtOwnPlace(const Access &access, mlir::StringAttr ragged, mlir::ValueRange indices) const;
  mlir::Value limitAt(const Access &access, mlir::StringAttr ragged, mlir::ValueRange indices, unsigned slot);
  mlir::Value packedStart(mlir::StringAttr ragged, mlir::Value index, unsigned slot);
  mlir::Value sumOfExtents(mlir::StringAttr ragged, mlir::Value end);

  // Reductions.cpp
  Datum computeReduction(mlir::Operation *op, llvm::ArrayRef<mlir::StringAttr> over, unsigned slot);
  Datum computeLogSumExp(LogSumExpOp op, unsigned slot);
  Datum computeSoftmax(SoftmaxOp op, unsigned slot);
  std::pair<mlir::Value, mlir::Value> row(mlir::Operation *op, mlir::Value value, llvm::ArrayRef<mlir::StringAttr> over,
                                          mlir::Value sink, unsigned slot);
  Values overLanes(mlir::StringAttr axis, mlir::ValueRange init,
                   llvm::function_ref<Values(mlir::Value mask, mlir::ValueRange)> body);
  std::pair<mlir::Value, mlir::Value> statisticsInLanes(mlir::Value value, mlir::StringAttr axis, mlir::Value sink);
  std::pair<mlir::Value, mlir::Value> rowStatistics(mlir::Value value, llvm::ArrayRef<mlir::StringAttr> over,
                                                    mlir::Value sink, unsigned slot);
  /// Whether a score counts: present and not -inf.
  mlir::Value counts(Datum score);

  // Rotations.cpp
  Datum computeRope(RopeOp op, unsigned slot);
  mlir::Value wholeVectorOf(RopeOp op, unsigned slot) const;
  Datum turnVector(RopeOp op, mlir::Value first, unsigned slot);

  mlir::Value number(mlir::Type like, double value);
  void unify(llvm::MutableArrayRef<mlir::Value> values);
  Datum fault(mlir::Operation *op, const llvm::Twine &message);

  FunctionScope &f;
  int64_t lanes;
  llvm::SmallVector<Scope, 8> scopes;
  Values unitStrides;
  bool hasFailed = false;
};

/// Widens stored elements (a scalar or lanes) to what values are computed in.
mlir::Value widenStored(FunctionScope &f, mlir::Value stored, mlir::Type element, mlir::Type wide);
/// Rounds to nearest even and saturates as a store does.
mlir::Value narrowToStored(FunctionScope &f, mlir::Value value, mlir::Type element);
/// The type that a stored element has in memory: bool is a byte.
mlir::Type memoryType(mlir::Type element);

} // namespace attn

#endif // ATTN_COMPILER_CPU_EXPRESSIONS_H
