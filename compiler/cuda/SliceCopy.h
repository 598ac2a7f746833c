//===- SliceCopy.h - slices of a product's side to shared memory *- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All threads of a CTA together bring a slice of one side of a matrix product, its points by some of the depth, to a tile
// of shared memory. A side that is stored as the tile's elements, side by side along the tile's rows and at multiples of
// 16 bytes, is copied asynchronously; every other one is computed element by element and rounded once. Strides and
// addresses decide that when the kernel runs.
//===----------------------------------------------------------------------===//
#ifndef ATTN_COMPILER_CUDA_SLICECOPY_H
#define ATTN_COMPILER_CUDA_SLICECOPY_H

#include "compiler/cuda/SharedTile.h"
#include "compiler/cuda/TilePoints.h"

namespace attn {

/// Where a slice begins: all but the last depth axis as one number, which a slice does not leave, and the last one (i64).
struct DepthPosition {
  mlir::Value outer; ///< null: there is only one axis
  mlir::Value inner;
};

struct SliceSource {
  mlir::Value value;
  mlir::Type element;
  TilePoints &points;
  AxisList depth;
  /// The axis that a tile's rows run along, of points or the last one of the depth; a tile row is then an element of the
  /// depth, or a point.
  mlir::StringAttr run;

  bool isAlongDepth() const { return run == depth.back(); }
};

class SliceCopy {
public:
  using Value = mlir::Value;
  using Values = FunctionScope::Values;

  /// What is the same for all slices is computed here.
  SliceCopy(ThreadScope &t, Expressions &x, SliceSource source, SharedTile tile, int64_t threads);

  /// Copies the slice at a position to the tile at `base` (i32). Elements behind the end of the depth are 0, those of
  /// points behind the last one any.
  void copy(Expressions &x, Value base, const DepthPosition &at);

private:
  bool findSteps(ReadOp read);
  Value addressOf(Expressions &x, Value point);
  void copyStored(Value base, const DepthPosition &at);
  void computeAll(Expressions &x, Value base, const DepthPosition &at);
  Value elementAt(Expressions &x, Value point, Value inner, const Values &outer);
  Values outerIndices(const DepthPosition &at);
  Value bytesLeft(Value elements, Value chunk);

  ThreadScope &t;
  FunctionScope &f;
  SliceSource source;
  SharedTile tile;
  int64_t threads;
  Value innerExtent;
  Value aligned;  ///< i1: slices are copied as they are stored; null: never
  Values steps;   ///< elements from one to the next along each depth axis (i64)
  /// Addresses (i64) of the thread's chunks at the beginning of the depth: one for each pass, or of the first, where
  /// rows are elements of the depth.
  Values origins;
  Value runBytes; ///< of a chunk along points: bytes that exist (i32)
};

} // namespace attn

#endif // ATTN_COMPILER_CUDA_SLICECOPY_H
