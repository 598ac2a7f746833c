//===- FlashKernel.h - fused attention by tiles -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a CTA does for a flash stage: a tile of rows of one batch entry against the keys that they see. A warp, or several
// that share wide rows, has 16 or 32 rows, their scores and outputs as fragments of matrix instructions: a thread holds, of 16 rows, those numbered
// lane / 4 and 8 more, and of every 8 columns those numbered lane % 4 * 2 and one more. Tiles of keys and values are
// copied ahead. What may not be rounded for tensor cores is multiplied by the same threads in f32, and held alike.
//   FlashKernel.cpp  the walk over key tiles
//   FlashCopies.cpp  operands in shared memory, and as fragments
//   FlashRows.cpp    rows of the tile, and which keys they see
//   FlashScore.cpp   scores and masks on fragments
//   FlashMix.cpp     softmax and mix
//   FlashExact.cpp   scores and mix in f32
//   FlashChange.cpp  weights that the program changes
//   FlashWrite.cpp   what follows
// Dao: FlashAttention-2 (2023), algorithm 1.
//===----------------------------------------------------------------------===//
#ifndef ATTN_COMPILER_CUDA_FLASHKERNEL_H
#define ATTN_COMPILER_CUDA_FLASHKERNEL_H

#include "compiler/cuda/FlashTiling.h"
#include "compiler/cuda/Partials.h"
#include "compiler/cuda/TileCopy.h"

namespace attn {

/// The bits that mark a score as absent where there is no softmax: a NaN that no arithmetic makes.
inline constexpr int32_t absentBits = int32_t(0xFFC0A77Eu);

/// What happens to the scores between product and softmax.
struct ScoreForm {
  mlir::Value rowFactor; ///< the only term times this; null: none
  double scale = 1;      ///< times this, greater than 0
  bool isPlain = false;  ///< nothing else happens

  static ScoreForm of(FlashOp flash, const FlashAxes &axes);
};

class FlashKernel {
public:
  using Value = mlir::Value;
  using Values = FunctionScope::Values;

  FlashKernel(FunctionScope &f, StageOp stage, FlashOp flash, const FlashAxes &axes, const FlashOperands &operands,
              const FlashTiling &tiling, const KeyChunk *chunk);

  /// How many CTAs there are (i64).
  static Value blockCount(FunctionScope &f, const FlashAxes &axes, const FlashTiling &tiling);
  /// Null chunk: all keys, and what follows. `takes` says whether the entry takes part; null: always.
  mlir::LogicalResult emit(Value block, llvm::function_ref<Value(Expressions &)> takes);

private:
  /// Of the rows of a warp or of a CTA that exist: keys, i64 at first, then i32 from the first tile on.
  struct Extremes {
    Value lowest, highest; ///< first key that any of them sees, and the end
    Value from, to;        ///< all of them see keys in [from, to)
  };
  /// A row that the thread has elements of.
  struct Row {
    Expressions x;
    Value exists; ///< i1
    struct Range {
      Value lower, upper; ///< keys that it sees, within those that there are; as of Extremes
    };
    llvm::SmallVector<Range> ranges;
    Value factor; ///< of its scores, as f32; null: none
  };
  /// What a thread carries from key tile to key tile.
  struct State {
    Values maxima, sums; ///< per row; empty without a softmax
    Values kept; ///< per row 1 where the thread has kept a weight, 0 elsewhere; empty where weights are mixed as they are
    llvm::SmallVector<Values> outputs; ///< per value: [rowTiles][width / 8][4]

    Values flat() const;
    State with(mlir::ValueRange flat) const;
  };
  /// A key tile that is being worked on.
  struct Tile {
    Value first; ///< its first key, counted from the first tile's (i32)
    Value stage; ///< where its stage lies in shared memory (i32)
    mlir::Operation *loop;
  };

  /// What a CTA works on: the batch entry, its indices, and the first row.
  struct Place {
    Value entry;
    Values indices;
    Value firstRow;
  };

  // FlashKernel.cpp
  Place placeOf(Value block, Value zero);
  Place placeAgain(Expressions &x);
  bool isSoftmax() { return flash.getNormalizer() == Normalizer::Softmax; }
  Value otherRows() { return f.extent(axes.rows); }
  Value rowCount(Expressions &x);
  void bindRow(Expressions &x, Value number);
  mlir::LogicalResult emitEntry(Expressions &x, Value firstRow);
  mlir::LogicalResult emitTile(Expressions &x, Value firstRow);
  State initialState();
  State walk(Expressions &x, bool isCareful);
  Value nextSeen(Value first);
  Value stageAfter(Value stage, int64_t count);
  State work(const Tile &tile, State state, bool isCareful);

  // FlashCopies.cpp
  void copyQueries(Expressions &x, Value firstRow);
  void prepareCopies(Expressions &x);
  void prepareReaders();
  void copyTile(Expressions &x, Value first, Value stage);
  void loadQueries();

  // FlashRows.cpp
  Value rowNumber(Value firstRow, unsigned row, Value thread);
  Value firstWarpRow(Value thread);
  void makeRows(Expressions &x, Value firstRow);
  Row::Range rangeOf(Row &row, unsigned range);
  unsigned rangeCount() { return std::max(1u, flash.getNumRanges()); }
  bool hasBounds() { return flash.getNumRanges() > 0; }
  void findExtremes();
  Extremes extremesOfBlock(unsigned range);
  void countFromFirstTile();
  Value seesTile(llvm::ArrayRef<Extremes> ranges, Value first);
  Value seesAll(Value first);

  // FlashScore.cpp
  Values fragmentScores(unsigned term, const Tile &tile);
  Values rawScores(unsigned term, const Tile &tile);
  void addParts(Values &sums);
  Values scores(const Tile &tile);
  Value scoreAt(Row &row, llvm::ArrayRef<Values> raw, unsigned element, Value key, const Tile &tile);
  void setTerms(Expressions &x, llvm::ArrayRef<Values> raw, unsigned element);
  Values masked(const Tile &tile, llvm::ArrayRef<Values> raw, llvm::ArrayRef<Value> scores);
  Value seenAt(Row &row, llvm::ArrayRef<std::pair<Value, Value>> bounds, int64_t column);
  Value keyAt(const Tile &tile, int64_t column, bool isRead);
  Value absentScore();
  Value isAbsent(Value score);
  /// The row of a score, and its column within the key tile but for the lane's part.
  unsigned rowOf(unsigned element) const { return element / (tiling.keyTile / 8 * 4) * 2 + element % 4 / 2; }
  int64_t columnOf(unsigned element) const { return element % (tiling.keyTile / 8 * 4) / 4 * 8 + element % 2; }

  // FlashChange.cpp
  void changeWeights(const Tile &tile, Values &weights, Values &presence, State &state);
  Value hasKept(const State &state, unsigned row);

  // FlashExact.cpp
  Values exactScores(unsigned term, const Tile &tile);
  Values marked(llvm::ArrayRef<Value> weights, llvm::ArrayRef<Value> presence);
  void mixExactly(unsigned value, Value tile, llvm::ArrayRef<Value> weights, bool isCareful, Values &sums);
  Value outputLane(const FlashOperand &value);

  // FlashMix.cpp
  void softmax(Values &scores, State &state);
  Values factored(const FlashOperand &operand, const Tile &tile, llvm::ArrayRef<Value> weights,
                  llvm::ArrayRef<Value> presence);
  void lowerRaised(State &state);
  void mix(unsigned value, Value tile, llvm::ArrayRef<Value> weights, Values &sums);
  Values presence(llvm::ArrayRef<Value> scores);
  void separate(const Tile &tile);
  Value separateWord(Value word, mlir::Type element, bool codes);
  void spoil(unsigned value, const Tile &tile, llvm::ArrayRef<Value> presence, Values &sums);
  Value isPresent(llvm::ArrayRef<Value> presence, unsigned element);
  llvm::SmallVector<Values> leftFragments(const FlashOperand &operand, unsigned rowTile, llvm::ArrayRef<Value> weights);
  Value anySpoiled(const State &state);

  // FlashWrite.cpp
  void store(Expressions &x, const State &state);
  void finish(Expressions &x, State state);
  void writeRow(Expressions &x, unsigned row, WriteOp write, const State &state, Value logSumExp);

  ThreadScope t;
  FunctionScope &f;
  StageOp stage;
  FlashOp flash;
  const FlashAxes &axes;
  const FlashOperands &operands;
  const FlashTiling &tiling;
  FlashShared shared;
  ScoreForm form;
  Value base;       ///< of shared memory (i32)
  Value lastColumn; ///< lane % 4 * 2, as i32
  Value lastElement; ///< the same, and 16 times the warp's part: of a width
  std::vector<Row> rows;
  llvm::SmallVector<Extremes> warpExtremes, blockExtremes; ///< per range
  Value hasRows;    ///< whether the warp has any (i1)
  const KeyChunk *chunk; ///< null: all keys
  Value block;    ///< number of the CTA (i64)
  Value keys;     ///< how many there are (i64)
  Value from, end; ///< keys that the CTA may take: all, or those of the chunk
  Value firstKey; ///< of the first tile that the CTA sees (i64); from here on keys are counted in 32 bits
  Value firstSeen, endSeen; ///< what rows of the CTA see lies within (i32)
  std::vector<TileCopy> keyCopies, valueCopies;
  std::vector<std::optional<FragmentReader>> queryReaders, keyReaders, valueReaders; ///< none of what is exact
  llvm::SmallVector<Values> query; ///< per term, where kept: fragments [rowTiles][width / 16][4]
  bool hasFailed = false;
};

} // namespace attn

#endif // ATTN_COMPILER_CUDA_FLASHKERNEL_H
