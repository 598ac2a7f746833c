//===- FlashTiling.h - sizes of fused attention by tiles --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a flash stage by tiles is made of: the widths and elements of its operands, how many rows and keys a CTA works on at
// a time, and where that lies in shared memory. It builds no code.
//===----------------------------------------------------------------------===//
#ifndef ATTN_COMPILER_CUDA_FLASHTILING_H
#define ATTN_COMPILER_CUDA_FLASHTILING_H

#include "compiler/cpu/FlashStage.h"
#include "compiler/cuda/SharedTile.h"
#include "compiler/optimize/ProductElements.h"

namespace attn {

/// An operand of a matrix product: elements along one axis, of f16 or bf16, or of f32, which are multiplied exactly.
struct FlashOperand {
  mlir::Value value;
  mlir::StringAttr width;
  int64_t extent; ///< along the width
  mlir::Type element;
  /// How many such numbers a weight is the sum of: 1 where it may be rounded, 3 bf16 where it keeps its 24 bits.
  int64_t weightParts = 1;
  mlir::Value keyFactor = {}; ///< weights times this; null: none
  std::optional<size_t> key = {}; ///< of a value: the number of the key operand that it is too, whose tiles it shares

  bool isExact() const { return element.isF32(); }
  int64_t bytes() const { return element.getIntOrFloatBitWidth() / 8; }
};

/// The operands of a flash.
struct FlashOperands {
  llvm::SmallVector<FlashOperand> queries, keys, values;
  /// Why tensor cores do not multiply queries with keys, or weights with values; empty where they do.
  std::string whyExactScores, whyExactMix;

  /// Takes those of `flash`; says why tiles cannot hold them, or nothing.
  std::string add(FlashOp flash, const FlashAxes &axes, const Signature &signature);
  bool isShared() const {
    return llvm::any_of(values, [](const FlashOperand &value) { return value.key.has_value(); });
  }
  /// Whether any score is exact, and all values.
  bool hasExactScores() const { return !whyExactScores.empty(); }
  bool hasExactMix() const { return !whyExactMix.empty(); }

private:
  std::string addTerms(FlashOp flash, const FlashAxes &axes, const Signature &signature);
  std::string addValues(FlashOp flash, const FlashAxes &axes, const Signature &signature);
};

/// About how many registers of a thread the expressions of a flash's score, mask and weights take beside their results.
int64_t registersOf(FlashOp flash, const FlashAxes &axes);

struct FlashTiling {
  int64_t warps = 4;
  int64_t rowTiles = 1;    ///< of 16 rows, of a warp
  int64_t keyTile = 64;    ///< keys: 64, 32, 16, or 8 where nothing goes to tensor cores (see FlashMix.cpp)
  int64_t stages = 2;      ///< key tiles in shared memory, at least 2
  bool keepsQuery = true;  ///< query fragments stay in registers
  bool isReduced = false;  ///< fewer keys or no query in registers, for what expressions take
  /// Warps that share rows, a power of two up to 4: of each width, every so many 16 elements are a warp's. What they
  /// contract meets in shared memory as sums of scores; what they mix is theirs.
  int64_t parts = 1;

  /// The rows that a block has where widths leave room for them.
  static constexpr int64_t mostRows = 64;
  /// Shared memory that every device has for a CTA.
  static constexpr int64_t mostShared = 99 << 10;

  /// None where widths leave no room for it. `ownRegisters`: of the flash's expressions.
  static std::optional<FlashTiling> of(const FlashOperands &operands, unsigned ranges, int64_t ownRegisters);

  int64_t warpRows() const { return 16 * rowTiles; }
  int64_t rows() const { return warps / parts * warpRows(); }
  /// An operand's extent in whole fragments of all parts, and the elements that are a warp's.
  int64_t padded(const FlashOperand &operand) const { return llvm::alignTo(operand.extent, 16 * parts); }
  int64_t own(const FlashOperand &operand) const { return padded(operand) / parts; }
  /// Where a warp's element lies in the width, but for 16 times its part.
  int64_t place(int64_t own) const { return own / 16 * 16 * parts + own % 16; }
  /// A thread has two outputs of every 8 elements of its warp that go through tensor cores, and four side by side of every
  /// 16 of those that are exact: how many elements lie from one lane's to the next one's, and where the two that are
  /// numbered as those from `column` on, a multiple of 8, lie in the width, but for what lane and part add.
  static int64_t laneOutputs(const FlashOperand &value) { return value.isExact() ? 4 : 2; }
  int64_t outputPlace(const FlashOperand &value, int64_t column) const {
    return value.isExact() ? place(column / 16 * 16) + column % 16 / 8 * 2 : place(column);
  }
  int64_t threads() const { return 32 * warps; }
  /// Rows that a thread has elements of, and the scores that it holds of each key tile.
  int64_t threadRows() const { return 2 * rowTiles; }
  int64_t threadScores() const { return rowTiles * keyTile / 8 * 4; }
};

/// Byte offsets from the beginning of the CTA's shared memory.
struct FlashShared {
  llvm::SmallVector<SharedTile> query, key, value;
  llvm::SmallVector<int64_t> queryAt;
  llvm::SmallVector<int64_t> keyAt, valueAt; ///< from the beginning of a stage
  int64_t firstStage = 0, stageBytes = 0;
  /// Of values, from the beginning of a stage, in a careful walk: the finite ones, and codes of the others.
  llvm::SmallVector<int64_t> finiteAt, codesAt;
  int64_t sums = 0;     ///< of scores, per warp, where parts are several
  int64_t extremes = 0; ///< per warp and range the first key that it sees and the end: i64
  int64_t size = 0;

  FlashShared(const FlashOperands &operands, const FlashTiling &tiling, unsigned ranges);
};

} // namespace attn

#endif // ATTN_COMPILER_CUDA_FLASHTILING_H
