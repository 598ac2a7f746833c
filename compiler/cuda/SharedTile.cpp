//===- SharedTile.cpp - 16-bit elements in shared memory --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "compiler/cuda/SharedTile.h"

using namespace mlir;
using namespace attn;

Value SharedTile::at(ThreadScope &t, Value base, Value row, Value chunk) const {
  if (isSwizzled())
    chunk = t.exclusiveOr(chunk, t.rem(row, 8));
  return t.add(t.add(base, t.mul(row, pitch())), t.mul(chunk, chunkBytes));
}

/// Lanes 8i to 8i + 7 give the rows of matrix i. Left: the matrices of a word lie below each other, then beside. Right by
/// columns: the two words of a 16 x 8 lie side by side in a row of the tile; by rows, below each other.
FragmentReader::FragmentReader(ThreadScope &t, SharedTile tile, Fragment fragment, Value firstRow)
    : t(t), tile(tile), fragment(fragment) {
  Value lane = t.lane(), row, chunk;
  if (fragment == Fragment::RightByColumns) {
    row = t.add(t.rem(lane, 8), t.mul(t.div(lane, 16), 8));
    chunk = t.rem(t.div(lane, 8), 2);
  } else {
    row = t.rem(lane, 16);
    chunk = t.div(lane, 16);
  }
  offset = tile.at(t, t.i32(0), firstRow ? t.add(firstRow, row) : row, chunk);
}

/// Rows of a fragment begin at multiples of 8, so the exclusive or of a lane is the same for all of them, and that with
/// the number of the chunk is one with a constant.
FunctionScope::Values FragmentReader::load(int64_t row, int64_t column) {
  int64_t chunk = column / chunkElements;
  int64_t inner = tile.isSwizzled() ? chunk % 8 : 0, outer = chunk - inner;
  Value at = t.add(t.exclusiveOr(address, inner * chunkBytes), row * tile.pitch() + outer * chunkBytes);
  return t.loadMatrices(at, fragment == Fragment::RightByRows);
}
