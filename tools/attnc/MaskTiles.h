//===- MaskTiles.h - a mask's tiles, computed -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks the interpreter for the bounds and the compared numbers of a flash, and sorts register blocks by the condition
// that kernels follow too (`TileCondition`).
//===----------------------------------------------------------------------===//
#ifndef ATTN_TOOLS_ATTNC_MASKTILES_H
#define ATTN_TOOLS_ATTNC_MASKTILES_H

#include "compiler/cpu/FlashStage.h"
#include "dialects/reference/Buffer.h"
#include "tools/attnc/Work.h"

namespace attnc {

enum class Tile { Empty, Partial, Full };

/// A value at every point of its axes.
struct Table {
  attn::AxisList axes;
  llvm::SmallVector<int64_t> shape;
  attn::reference::Buffer numbers;
};

class MaskTiles {
public:
  /// `flash` stands in a program of its own module, which changes. Arguments outside of `given` are not known.
  static llvm::Expected<MaskTiles> of(attn::FlashOp flash, const attn::FlashAxes &axes, const Extents &extents,
                                      const attn::reference::Buffers &inputs, const attn::reference::Buffers &given);

  using Entry = llvm::DenseMap<mlir::StringAttr, int64_t>;
  /// How many there are of a batch entry; as many as an axis has at most where nobody gave its lengths.
  int64_t queries(const Entry &entry) const { return lane ? extentOf(lane, entry) : 1; }
  int64_t keys(const Entry &entry) const;
  /// The axes beside queries and keys on which the mask depends, or their lengths do.
  llvm::ArrayRef<mlir::StringAttr> entryAxes() const { return entries; }
  /// Arguments that the mask, or a length, reads and nobody gave.
  llvm::ArrayRef<std::string> unknown() const { return missing; }

  /// Queries [s0, s1) against keys [t0, t1).
  Tile classify(const Entry &entry, int64_t s0, int64_t s1, int64_t t0, int64_t t1) const;
  /// Pairs that are seen; nothing where that is not known.
  std::optional<int64_t> visiblePairs(const Entry &entry) const;

private:
  struct Range {
    std::optional<Table> lower, upper;
    bool isKnown = true;
  };
  int64_t at(const Table &table, const Entry &entry, int64_t query, int64_t key) const;
  std::pair<int64_t, int64_t> boundsOf(const Range &range, const Entry &entry, int64_t query) const;

  int64_t extentOf(mlir::StringAttr axis, const Entry &entry) const;

  mlir::StringAttr lane;
  attn::AxisList keyAxes, entries;
  Extents extents;
  /// Of the ragged axes whose lengths are known.
  Lengths lengths;
  std::vector<Range> ranges;
  attn::TileMask mask;
  std::vector<std::optional<Table>> leaves;
  std::optional<Table> residual;
  bool hasResidual = false;
  std::vector<std::string> missing;
};

} // namespace attnc

#endif // ATTN_TOOLS_ATTNC_MASKTILES_H
