//===- FlashCopies.cpp - operands in shared memory --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "compiler/cuda/FlashKernel.h"
#include "compiler/cpu/Packing.h"

using namespace mlir;
using namespace attn;

/// Rows behind the last one are copies of it.
void FlashKernel::copyQueries(Expressions &x, Value firstRow) {
  Value last = t.narrow(f.min(f.sub(f.sub(rowCount(x), f.i64(1)), firstRow), f.i64(tiling.rows() - 1)));
  auto bind = [this](Expressions &x, Value row) { bindRow(x, row); };
  StringAttr along = axes.rows.empty() ? axes.lane : StringAttr();
  for (auto [term, operand] : llvm::enumerate(operands.queries)) {
    TileSource source{operand.value, operand.width, operand.extent, operand.element, along, bind, firstRow};
    TileCopy(t, x, source, shared.query[term], tiling.threads())
        .copy(x, t.add(base, shared.queryAt[term]), {t.thread(), t.i32(0), last, {}});
  }
}

void FlashKernel::prepareCopies(Expressions &x) {
  auto bind = [this](Expressions &x, Value key) { axes.bindKey(x, key); };
  StringAttr along = axes.keys.size() == 1 ? axes.keys.front() : StringAttr();
  auto add = [&](std::vector<TileCopy> &to, const FlashOperand &operand, const SharedTile &tile) {
    TileSource source{operand.value, operand.width, operand.extent, operand.element, along, bind, firstKey};
    to.emplace_back(t, x, source, tile, tiling.threads());
  };
  for (auto [operand, tile] : llvm::zip(operands.keys, shared.key))
    add(keyCopies, operand, tile);
  for (auto [operand, tile] : llvm::zip(operands.values, shared.value))
    add(valueCopies, operand, tile);
}

/// Keys that no row of the CTA sees are not touched: others take their places.
void FlashKernel::copyTile(Expressions &x, Value first, Value stage) {
  TileRows rows{t.again(t.thread()), first, t.add(t.again(endSeen), -1), flash.getLower().empty() ? Value() : firstSeen};
  f.when(t.less(first, endSeen), [&] {
    inScope(x, [&] {
      for (auto [copy, at] : llvm::zip(keyCopies, shared.keyAt))
        copy.copy(x, t.add(stage, at), rows);
      for (auto [operand, copy, at] : llvm::zip(operands.values, valueCopies, shared.valueAt))
        if (!operand.key)
          copy.copy(x, t.add(stage, at), rows);
    });
  });
  t.commitCopies();
}

/// Parts of a width are 16 elements of the warp's, then those of the others.
void FlashKernel::prepareReaders() {
  Value part = t.mul(t.rem(t.warp(), tiling.parts), 16 / chunkElements);
  auto add = [&](std::vector<std::optional<FragmentReader>> &to, ArrayRef<FlashOperand> operands,
                 ArrayRef<SharedTile> tiles, Fragment fragment, Value firstRow) {
    for (auto [operand, tile] : llvm::zip(operands, tiles)) {
      to.emplace_back();
      if (!operand.isExact())
        to.back().emplace(t, tile, fragment, firstRow, part);
    }
  };
  add(queryReaders, operands.queries, shared.query, Fragment::Left, firstWarpRow(t.thread()));
  add(keyReaders, operands.keys, shared.key, Fragment::RightByColumns, Value());
  add(valueReaders, operands.values, shared.value, Fragment::RightByRows, Value());
}

/// Query fragments of the warp's rows.
void FlashKernel::loadQueries() {
  query.assign(operands.queries.size(), {});
  if (!tiling.keepsQuery)
    return;
  for (auto [term, tile] : llvm::enumerate(shared.query)) {
    FragmentReader &reader = *queryReaders[term];
    reader.moveTo(t.add(base, shared.queryAt[term]));
    for (int64_t row = 0; row < tiling.warpRows(); row += 16)
      for (int64_t column = 0; column < tile.width; column += 16 * tiling.parts)
        llvm::append_range(query[term], reader.load(row, column));
  }
}
