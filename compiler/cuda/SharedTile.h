//===- SharedTile.h - tiles in shared memory --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A tile of rows of f16, bf16 or f32 in shared memory, how its chunks of 16 bytes lie there, and how a warp reads one of
// 16-bit elements as fragments of matrix instructions. Eight rows of a matrix of 8 x 8 are in different banks: their chunks
// change places by an exclusive or where a row is a multiple of 128 bytes, and lie an odd number of chunks apart elsewhere.
// Rows of f32 always do: a loop then goes along them by adding a constant.
//===----------------------------------------------------------------------===//
#ifndef ATTN_COMPILER_CUDA_SHAREDTILE_H
#define ATTN_COMPILER_CUDA_SHAREDTILE_H

#include "compiler/cuda/ThreadScope.h"

namespace attn {

/// 16-bit elements of a chunk, which one ldmatrix lane or one copy moves, and its bytes.
inline constexpr int64_t chunkElements = 8, chunkBytes = 16;

struct SharedTile {
  int64_t rows = 0, width = 0; ///< multiples of 16; of f32, rows of 8
  int64_t elementBytes = 2;    ///< 4 of f32

  int64_t perChunk() const { return chunkBytes / elementBytes; }
  int64_t chunks() const { return width / perChunk(); }
  bool isSwizzled() const { return elementBytes == 2 && chunks() % 8 == 0; }
  /// Bytes from a row to the next.
  int64_t pitch() const { return chunkBytes * (isSwizzled() ? chunks() : chunks() | 1); }
  int64_t bytes() const { return llvm::alignTo(rows * pitch(), 128); }

  /// The address of a chunk of the tile at `base`, a multiple of 128 (all i32).
  mlir::Value at(ThreadScope &t, mlir::Value base, mlir::Value row, mlir::Value chunk) const;
};

/// Calls `body` for each of the thread's chunks of the tile at `base`; all threads together have all of them. A chunk's row is
/// `row + plus`, `to` its address (i32). Where threads make whole rows, `row` and `chunk` are the same for all of a thread's.
void forChunks(ThreadScope &t, const SharedTile &tile, int64_t threads, mlir::Value thread, mlir::Value base,
               llvm::function_ref<void(mlir::Value row, int64_t plus, mlir::Value chunk, mlir::Value to)> body);
/// Calls `body` for one chunk of them, unless there is none with this number (i32).
void forChunk(ThreadScope &t, const SharedTile &tile, int64_t threads, mlir::Value number, mlir::Value base,
              llvm::function_ref<void(mlir::Value row, mlir::Value chunk, mlir::Value to)> body);

/// Stores a chunk of the tile at `to` (i32): `word` gives 32 bits, from the element with this number (i64) on. What is rare
/// is stored word by word in a loop, which takes fewer registers and less code.
void storeChunk(ThreadScope &t, const SharedTile &tile, mlir::Value to, bool isRare,
                llvm::function_ref<mlir::Value(mlir::Value element)> word);

/// Which fragment of a product a tile is read as.
enum class Fragment {
  Left,           ///< 16 rows x 16 columns of the left side: four words
  RightByColumns, ///< the right side, whose columns are the tile's rows: two words of each of two 16 x 8
  RightByRows     ///< the right side, whose rows are the tile's rows: the same
};

/// Reads 16 x 16 elements of a tile at a time. It stands in front of the loops that it reads in.
class FragmentReader {
public:
  /// Rows are counted from `firstRow` (i32, a multiple of 8; null: 0), columns from `firstChunk` chunks on (i32, a power of
  /// two times any number, and only columns below that power are loaded; null: 0).
  FragmentReader(ThreadScope &t, SharedTile tile, Fragment fragment, mlir::Value firstRow = {}, mlir::Value firstChunk = {});

  /// Says where the tile lies from now on.
  void moveTo(mlir::Value base) { address = t.add(base, offset); }
  /// The fragment at (row, column), multiples of 16.
  FunctionScope::Values load(int64_t row, int64_t column);

private:
  ThreadScope &t;
  SharedTile tile;
  Fragment fragment;
  mlir::Value offset, address; ///< the lane's, of the fragment at (0, 0)
};

} // namespace attn

#endif // ATTN_COMPILER_CUDA_SHAREDTILE_H
