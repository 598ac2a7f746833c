//===- SharedTile.cpp - tiles in shared memory ------------------*- C++ -*-===//
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

void attn::forChunk(ThreadScope &t, const SharedTile &tile, int64_t threads, Value number, Value base,
                    llvm::function_ref<void(Value, Value, Value)> body) {
  auto emit = [&] {
    Value row = t.div(number, tile.chunks()), chunk = t.rem(number, tile.chunks());
    body(row, chunk, tile.at(t, base, row, chunk));
  };
  if (tile.rows * tile.chunks() % threads == 0)
    emit();
  else
    t.scope().when(t.less(number, t.i32(tile.rows * tile.chunks())), emit);
}

/// Where threads make whole rows, a thread keeps its chunk from pass to pass, and addresses differ by constants.
void attn::forChunks(ThreadScope &t, const SharedTile &tile, int64_t threads, Value thread, Value base,
                     llvm::function_ref<void(Value, int64_t, Value, Value)> body) {
  int64_t passRows = threads / tile.chunks(), chunks = tile.rows * tile.chunks();
  bool keepsChunk = threads % tile.chunks() == 0 && tile.rows % passRows == 0 &&
                    (!tile.isSwizzled() || llvm::isPowerOf2_64(passRows));
  if (!keepsChunk) {
    for (int64_t first = 0; first < chunks; first += threads)
      forChunk(t, tile, threads, t.add(thread, first), base,
               [&](Value row, Value chunk, Value to) { body(row, 0, chunk, to); });
    return;
  }
  Value row = t.div(thread, tile.chunks()), chunk = t.rem(thread, tile.chunks());
  Value to = tile.at(t, base, row, chunk);
  for (int64_t first = 0; first < tile.rows; first += passRows) {
    int64_t turned = tile.isSwizzled() ? first % 8 * chunkBytes : 0;
    body(row, first, chunk, t.add(t.exclusiveOr(to, turned), first * tile.pitch()));
  }
}

void attn::storeChunk(ThreadScope &t, const SharedTile &tile, Value to, bool isRare,
                      llvm::function_ref<Value(Value)> word) {
  FunctionScope &f = t.scope();
  OpBuilder &b = f.builder();
  int64_t perWord = sizeof(int32_t) / tile.elementBytes;
  if (isRare) // A number that is known would unroll the loop again.
    return f.loop(f.i64(0), t.widen(t.again(t.i32(tile.perChunk()))), f.i64(perWord), [&](Value element) {
      t.storeShared(word(element), t.add(to, t.mul(t.narrow(element), tile.elementBytes)));
    });
  FunctionScope::Values words;
  for (int64_t element = 0; element < tile.perChunk(); element += perWord)
    words.push_back(word(f.i64(element)));
  t.storeShared(vector::FromElementsOp::create(b, f.loc(), f.vectorOf(4, b.getI32Type()), words), to);
}

/// Lanes 8i to 8i + 7 give the rows of matrix i. Left: the matrices of a word lie below each other, then beside. Right by
/// columns: the two words of a 16 x 8 lie side by side in a row of the tile; by rows, below each other.
FragmentReader::FragmentReader(ThreadScope &t, SharedTile tile, Fragment fragment, Value firstRow, Value firstChunk)
    : t(t), tile(tile), fragment(fragment) {
  Value lane = t.lane(), row, chunk;
  if (fragment == Fragment::RightByColumns) {
    row = t.add(t.rem(lane, 8), t.mul(t.div(lane, 16), 8));
    chunk = t.rem(t.div(lane, 8), 2);
  } else {
    row = t.rem(lane, 16);
    chunk = t.div(lane, 16);
  }
  if (firstChunk)
    chunk = t.add(firstChunk, chunk);
  // One number for the loops behind: its parts would take several registers.
  offset = t.again(tile.at(t, t.i32(0), firstRow ? t.add(firstRow, row) : row, chunk));
}

/// Rows of a fragment begin at multiples of 8, so the exclusive or of a lane is the same for all of them, and that with
/// the number of the chunk is one with a constant.
FunctionScope::Values FragmentReader::load(int64_t row, int64_t column) {
  int64_t chunk = column / chunkElements;
  int64_t inner = tile.isSwizzled() ? chunk % 8 : 0, outer = chunk - inner;
  Value at = t.add(t.exclusiveOr(address, inner * chunkBytes), row * tile.pitch() + outer * chunkBytes);
  return t.loadMatrices(at, fragment == Fragment::RightByRows);
}
