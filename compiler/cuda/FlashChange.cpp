//===- FlashChange.cpp - weights that the program changes -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What dropout, gates and factors make of the weights between softmax and mix, at the indices of each. Sums and log-sum-exp
// are those of the weights as they were.
//===----------------------------------------------------------------------===//
#include "compiler/cuda/FlashKernel.h"

using namespace mlir;
using namespace attn;

/// A weight of an absent pair stays 0, whatever is made of weights; pairs whose new weight is absent become so.
void FlashKernel::changeWeights(const Tile &tile, Values &weights, Values &presence, State &state) {
  OpBuilder &b = f.builder();
  Value zero = f.constant(b.getF32Type(), 0.0), one = f.constant(b.getF32Type(), 1.0);
  for (auto [element, weight] : llvm::enumerate(weights)) {
    Expressions &x = rows[rowOf(element)].x;
    x.enter(tile.loop);
    ChangedWeight changed = changeWeight(x, flash, weight, 0, [&] {
      axes.bindKey(x, keyAt(tile, columnOf(element), /*isRead=*/true));
    });
    x.leave();
    Value seen = x.both(isPresent(presence, element), changed.present);
    Value &kept = state.kept[rowOf(element)];
    kept = arith::SelectOp::create(b, f.loc(), x.both(seen, changed.kept), one, kept);
    weight = arith::SelectOp::create(b, f.loc(), seen, changed.weight, zero);
    if (!changed.present)
      continue;
    Value &word = presence[element / 32];
    Value without = arith::AndIOp::create(b, f.loc(), word, t.i32(int32_t(~(1u << element % 32))));
    word = arith::SelectOp::create(b, f.loc(), seen, word, without);
  }
}

/// 1 where any of the threads that share a row has kept a weight of it, else 0.
Value FlashKernel::hasKept(const State &state, unsigned row) {
  return t.reduce(state.kept[row], 1 | 2, [&](Value x, Value y) { return t.max(x, y); });
}
