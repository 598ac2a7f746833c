//===- TileCopy.h - from operands to shared memory --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All threads of a CTA together bring rows of an operand to a tile of shared memory. An operand that is stored as the
// tile's elements, side by side along its width and at multiples of 16 bytes, is copied asynchronously; every other one
// is computed element by element and rounded once. Which it is, is known when the kernel runs: strides decide.
//===----------------------------------------------------------------------===//
#ifndef ATTN_COMPILER_CUDA_TILECOPY_H
#define ATTN_COMPILER_CUDA_TILECOPY_H

#include "compiler/cpu/Expressions.h"
#include "compiler/cuda/SharedTile.h"
#include <functional>

namespace attn {

/// The rows of an operand that tiles are taken from.
struct TileSource {
  mlir::Value value;
  mlir::StringAttr width; ///< what elements of a row lie along, and how many there are
  int64_t extent;
  mlir::Type element;
  /// The axis that rows run along; null when that is no single one.
  mlir::StringAttr rows;
  /// Binds the axes of the row with this number (i64), in the innermost scope.
  std::function<void(Expressions &, mlir::Value number)> bind;
  /// Rows are counted from here on (i64).
  mlir::Value first;
};

/// Which of them a tile gets (i32): its row r is row max(min(first + r, last), from) of the source.
struct TileRows {
  mlir::Value thread; ///< that copies
  mlir::Value first, last;
  mlir::Value from; ///< null: 0
};

/// The index of a read that runs along an axis, when it is that axis' own, alone and always in range; else none.
std::optional<size_t> factorAlong(FunctionScope &f, ReadOp read, mlir::StringAttr axis);
/// Whether elements lie side by side along a factor, and those with index 0 there at multiples of 16 bytes (i1).
mlir::Value isAlignedAlong(FunctionScope &f, const Access &access, size_t factor);

class TileCopy {
public:
  using Value = mlir::Value;

  /// What is the same for all tiles is computed here. Elements of a tile beyond the source's extent are 0.
  TileCopy(ThreadScope &t, Expressions &x, TileSource source, SharedTile tile, int64_t threads);

  /// Copies rows to the tile at `base` (i32).
  void copy(Expressions &x, Value base, const TileRows &rows);

private:
  void copyStored(Expressions &x, Value base, const TileRows &rows);
  void computeAll(Expressions &x, Value base, const TileRows &rows);
  Value computeWord(Expressions &x, Value number, Value index);
  Datum elementAt(Expressions &x, Value number, Value index);
  Value numberOf(const TileRows &rows, Value row, int64_t plus);
  Value bytesFrom(Value address, Value elements, mlir::Type stored);
  Datum placeOf(Expressions &x, Value number);

  ThreadScope &t;
  FunctionScope &f;
  TileSource source;
  SharedTile tile;
  int64_t threads;
  Value aligned;        ///< i1: rows are copied as they are stored; null: never
  /// The address of row 0, elements from row to row and from one to the next (i64), when they lie along one axis each.
  Value origin, stride, step;
};

} // namespace attn

#endif // ATTN_COMPILER_CUDA_TILECOPY_H
