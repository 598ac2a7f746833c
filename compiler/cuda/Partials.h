//===- Partials.h - what chunks of keys leave to be merged ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where keys are split, each chunk of an entry's keys leaves, per query, a maximum, a sum and sums of values in
// memory that the kernels of the stage share. How large a chunk is depends on the entry's own number of keys alone, and
// chunks are merged in order, so results have the same bits on every device and in every batch.
// Dao, Haziza, Massa, Sizov: Flash-Decoding (2023).
//===----------------------------------------------------------------------===//
#ifndef ATTN_COMPILER_CUDA_PARTIALS_H
#define ATTN_COMPILER_CUDA_PARTIALS_H

#include "compiler/cpu/FlashStage.h"

namespace attn {

class Partials {
public:
  using Value = mlir::Value;

  /// What stands before the values: the maximum of the scores in base 2, the sum of the weights, and 1 where a changed
  /// weight was kept. Values begin at multiples of 16 bytes.
  enum Statistic { Maximum, Sum, Kept, Statistics };

  /// `leastKeys`: of a chunk, where there are so many.
  Partials(const FlashAxes &axes, int64_t leastKeys) : axes(axes), leastKeys(llvm::alignTo(leastKeys, grain)) {}

  /// Chunks of the entry with the most keys, as far as that is known before the call (i64).
  Value mostChunks(FunctionScope &f) const;
  /// Keys of a chunk of an entry with `keys`, a multiple of every key tile.
  Value chunkKeys(FunctionScope &f, Value keys) const;
  /// Chunks of an entry with `keys`: at least one, which says that there are none.
  Value chunks(FunctionScope &f, Value keys) const;

  /// Of all queries (i64).
  Value bytes(FunctionScope &f) const;
  /// Where a query, counted over all entries, has its part of a chunk (!llvm.ptr).
  Value place(FunctionScope &f, Value query, Value chunk) const;
  /// Where a value begins in that part, in f32; the number of values is the end.
  Value offset(FunctionScope &f, unsigned value) const;
  /// Queries of an entry, at most: the lane axis is slowest, then the other axes of rows.
  Value queries(FunctionScope &f) const;

private:
  static constexpr int64_t grain = 64; ///< every key tile divides it
  static constexpr int64_t limit = 64; ///< chunks, that merging stays short

  const FlashAxes &axes;
  int64_t leastKeys;
};

/// A chunk of keys that a task takes: of whose keys, and which.
struct KeyChunk {
  const Partials &partials;
  mlir::Value number; ///< i64
};

} // namespace attn

#endif // ATTN_COMPILER_CUDA_PARTIALS_H
