//===- MatrixTiles.h - products of tiles in AMX registers -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Intel AMX: eight tile registers of 16 rows of 64 bytes, and products of bf16 that sum in f32. Registers 0 to 3 hold sums,
// 4 and 5 the left side, 6 and 7 the right side (Intel 64 and IA-32 architectures optimization reference manual, section
// 20.5). All tiles are whole: what lies beyond an extent is 0 in memory.
//===----------------------------------------------------------------------===//
#ifndef ATTN_COMPILER_CPU_MATRIXTILES_H
#define ATTN_COMPILER_CPU_MATRIXTILES_H

#include "compiler/cpu/FunctionScope.h"

namespace attn {

/// Rows of a tile, f32 in a row of sums, and bf16 in a row of the left side: so many products make a sum.
inline constexpr int64_t tileRows = 16, tileSums = 16, tileDepth = 32;
/// Rows and columns of the largest block: two tiles by two.
inline constexpr int64_t blockRows = 2 * tileRows, blockSums = 2 * tileSums;

/// A tile in memory: its first byte, and bytes from row to row.
struct TilePlace {
  mlir::Value address, pitch;
};

/// Makes all tile registers whole tiles. `room` is 64 bytes of scratch.
void startTiles(FunctionScope &f, mlir::Value room);
/// Leaves the tile registers, so that nobody saves them.
void endTiles(FunctionScope &f);

/// A block of leftTiles by rightTiles (1 or 2 each) tiles of sums. For each step in [from, to), tile i of the left side
/// has tileRows rows of tileDepth bf16, tile j of the right side tileDepth / 2 rows of tileSums pairs of bf16, which
/// follow one another in depth. That is done for pairs of parts, the last of which is the largest.
struct TileProduct {
  int64_t leftTiles = 2, rightTiles = 2;
  bool accumulates = false; ///< adds to the sums in memory
  mlir::Value from, to;
  llvm::ArrayRef<std::pair<int64_t, int64_t>> parts; ///< of the left and the right side
  llvm::function_ref<TilePlace(int64_t i, int64_t part, mlir::Value step)> left, right;
  llvm::function_ref<TilePlace(int64_t i, int64_t j)> sums;
};
void emitTileProduct(FunctionScope &f, const TileProduct &product);

/// Lanes of f32 as a sum of so many bf16, the largest first: what an f16 was is exactly the sum of two. Of a number that is neither 0
/// nor NaN both have its sign and neither is 0, so that a product with infinity is never NaN.
FunctionScope::Values partsOf(FunctionScope &f, mlir::Value lanes, int64_t parts);

/// Lanes of f32 of two points in depth as pairs of bf16, rounded to nearest even.
mlir::Value pairsOf(FunctionScope &f, mlir::Value first, mlir::Value second);
/// The same, as a sum of so many: what rounding leaves is rounded again.
FunctionScope::Values pairsOf(FunctionScope &f, mlir::Value first, mlir::Value second, int64_t parts);
/// Pairs of lanes of bf16.
mlir::Value interleaved(FunctionScope &f, mlir::Value first, mlir::Value second);

} // namespace attn

#endif // ATTN_COMPILER_CPU_MATRIXTILES_H
