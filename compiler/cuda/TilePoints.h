//===- TilePoints.h - the points along a side of a tile ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A side of a tile runs over the points of several axes, the last one fastest. What a number means as indices is
// computed once per tile and kept in shared memory, for it takes divisions, or a search where the last axis is ragged.
//===----------------------------------------------------------------------===//
#ifndef ATTN_COMPILER_CUDA_TILEPOINTS_H
#define ATTN_COMPILER_CUDA_TILEPOINTS_H

#include "compiler/cpu/Expressions.h"
#include "compiler/cuda/ThreadScope.h"

namespace attn {

class TilePoints {
public:
  using Value = mlir::Value;
  using Values = FunctionScope::Values;

  /// The tile's first of `all` points (i64), at least one of which it has; `counts` are the extents of the axes. The table
  /// lies at `table` (i32). `isRagged`: of two axes the last one is ragged and depends on the other; it is counted run by
  /// run, as it is packed.
  TilePoints(ThreadScope &t, AxisList axes, Values counts, Value all, bool isRagged, Value first, int64_t size, Value table);

  static int64_t tableBytes(size_t axes, int64_t size) { return axes > 1 ? axes * size * sizeof(int64_t) : 0; }
  bool hasTable() const { return axes.size() > 1; }
  /// All threads together. A barrier comes before `bind`.
  void fillTable(Expressions &x, int64_t threads);

  /// Binds the axes, in the innermost scope, to the point with this number in the tile (i32); behind the last one, to that.
  void bind(Expressions &x, Value number);
  /// How many points the tile has (i32).
  Value count() const { return tileCount; }
  int64_t getSize() const { return size; }

private:
  void fillRuns(Expressions &x);
  Value placeOf(Value number, size_t axis);

  ThreadScope &t;
  FunctionScope &f;
  AxisList axes;
  Values counts;
  bool isRagged;
  Value first;
  int64_t size;
  Value table, tileCount;
};

} // namespace attn

#endif // ATTN_COMPILER_CUDA_TILEPOINTS_H
