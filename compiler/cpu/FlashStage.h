//===- FlashStage.h - fused attention on the CPU ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The parts of one flash stage: what its axes are for, where its tiles lie in a
// worker's scratch, and the code of one task in the prefill form. Lanes are queries, so the softmax has
// no horizontal step; keys and values are packed per key tile and shared by all
// query blocks of a tile.
//===----------------------------------------------------------------------===//
#ifndef ATTN_COMPILER_CPU_FLASHSTAGE_H
#define ATTN_COMPILER_CPU_FLASHSTAGE_H

#include "compiler/cpu/MatrixTiles.h"
#include "compiler/cpu/Packing.h"
#include "compiler/cpu/StageLowering.h"
#include "compiler/optimize/TileCondition.h"

namespace attn {

/// What each axis of an `attn.flash` does.
struct FlashAxes {
  AxisList batch; ///< queries and keys have it: one pass over the keys each
  AxisList rows;  ///< only queries have it, not along lanes: shares the keys
  mlir::StringAttr lane; ///< queries have it, along lanes; null when there is none
  AxisList keys;
  llvm::SmallVector<mlir::StringAttr> contracted; ///< one per score term
  llvm::SmallVector<mlir::StringAttr> widths;     ///< one per value

  /// What queries have and keys and values do not.
  AxisList rowAxes() const;
  /// How many keys there are at the point: of all key axes together.
  mlir::Value keyCount(Expressions &x) const;
  /// Binds the key axes to the indices of key number `key`; several are one, row-major.
  void bindKey(Expressions &x, mlir::Value key) const;

  /// Sorts the axes of `flash`; a diagnostic says what this stage cannot do.
  static mlir::FailureOr<FlashAxes> of(FlashOp flash, const Signature &signature);

private:
  mlir::LogicalResult checkRagged(FlashOp flash, const Signature &signature) const;
};

/// Lanes of a NaN that no arithmetic makes: the mark of absent pairs among weights.
mlir::Value absentMark(FunctionScope &f, int64_t lanes);

/// Scores are kept in base 2: natural ones times this.
inline constexpr double log2OfE = 1.4426950408889634;

/// What happens to the only score term of a flash.
struct FlashScore {
  // Where the score is `term * factor`, that is multiplied into the query.
  mlir::Value queryFactor; ///< null: none
  double factor = 1;       ///< a constant one
  bool isPlain = false;    ///< nothing else happens to it

  FlashScore(FlashOp flash, const FlashAxes &axes);
};

/// Sizes of a register block and of the tiles built from it.
struct FlashShape {
  int64_t lanes, vectors, rows;
  int64_t queries; ///< of a register block: lanes * vectors
  int64_t blocks;  ///< register blocks in a query tile, at most
  int64_t keyTile; ///< keys, a multiple of rows, or of a block of matrix tiles
  unsigned ranges; ///< of keys that a row sees
  unsigned leaves; ///< of what can be told of the mask for whole tiles
  bool hasTiles = false; ///< products are of matrix tiles: rows are what scores and weights are taken by
  int64_t parts = 1;     ///< bf16 numbers whose sum an operand of matrix tiles is
  int64_t decodeQueries = 0; ///< entries with so many queries along lanes take the decode form; 0: none
};

/// What a flash makes of the weight of a pair.
struct ChangedWeight {
  mlir::Value weight, present; ///< null: always
  mlir::Value kept;            ///< whether the weight has a part in it: where it has not, no NaN of the row gets there
};

/// The lanes of `weight` changed at the point; `bind` binds the keys in a new scope.
ChangedWeight changeWeight(Expressions &x, FlashOp flash, mlir::Value weight, unsigned slot, llvm::function_ref<void()> bind);

/// The width that a write's place has; null when it has none.
mlir::StringAttr widthOf(WriteOp write, const FlashAxes &axes);

/// Stores what follows one row of results along its width. All axes of queries are bound; `rows` are the addresses of
/// the finished outputs, one per value.
void writeAlongWidth(Expressions &x, FlashOp flash, const FlashAxes &axes, WriteOp write, mlir::ValueRange rows);

/// Register blocks of a batch entry that has so many queries along the lane axis (null without one).
mlir::Value blocksFor(FunctionScope &f, const FlashAxes &axes, const FlashShape &shape, mlir::Value queries);

/// Register blocks of a task, of so many of a batch entry: all that a tile holds where that leaves tasks enough, or half of
/// them.
mlir::Value blocksPerTask(FunctionScope &f, const FlashAxes &axes, const FlashShape &shape, mlir::Value blocks);

/// Element offsets (f32) from the worker's scratch; a per-block part has a pitch.
struct FlashScratch {
  using Value = mlir::Value;
  struct Part {
    Value offset, pitch;
  };
  llvm::SmallVector<Part> query;      ///< per term: [contracted][queries] of each block
  llvm::SmallVector<Part> output;     ///< per value: [width][queries] of each block
  llvm::SmallVector<Part> turned;     ///< per value: [queries][width] of the block that is finished
  Part maximum, sum;                  ///< [queries] of each block
  Part kept;                          ///< the same: not 0 where a changed weight was kept
  struct Range {
    Part lower, upper; ///< [queries] of i64 of each block
    Part extremes;     ///< smallest and largest lower, smallest and largest upper: 4 i64
  };
  llvm::SmallVector<Range> ranges;    ///< of keys that rows see
  Part leaves;                        ///< smallest and largest of each leaf of the mask: i64
  Part answer;                        ///< what the mask says for the block and this key tile: i64
  Value weights;                      ///< [keyTile][queries]
  llvm::SmallVector<Part> key, value; ///< packed tiles; pitch is that of a row
  /// With matrix tiles: values turned, [keyTile / 32][parts][width][32] of bf16, of which the pitch is that of 32 keys; scores of
  /// all terms, the first as weights; and the shapes of tiles. Queries are then [parts][contracted / 2][queries] pairs of bf16, keys and
  /// values rows of bf16, one for each part.
  llvm::SmallVector<Part> columns;
  llvm::SmallVector<Value> scores;
  Value shapes;
  Value size;                         ///< of everything, in f32

  FlashScratch(FunctionScope &f, const FlashAxes &axes, const FlashShape &shape);
};

/// Emits one task: a query tile of one batch entry against all keys that it sees.
class FlashTask {
public:
  FlashTask(FunctionScope &f, StageOp stage, FlashOp flash, const FlashAxes &axes, const FlashShape &shape);
  mlir::LogicalResult emit(mlir::Value task);

private:
  using Value = mlir::Value;
  using Values = FunctionScope::Values;

  /// A register block of the tile and the keys that it joins in for.
  struct KeyRange {
    Value number;   ///< within the tile
    Value low, high; ///< keys of the tile that it sees: [low, high)
    Value holds;     ///< whether the mask holds for all of them; null where nothing is known
  };

  // FlashStage.cpp: the walk over blocks and key tiles; FlashFinish.cpp: what follows it.
  /// Row axes other than the lane, as one number of combinations.
  Value otherRows() { return f.extent(axes.rows); }
  Value firstQueryOf(Value block) { return f.mul(f.div(block, otherRows()), f.i64(shape.queries)); }
  /// Whether a block may reach beyond the lane axis.
  bool mayReachBeyond();
  void bindBlock(Value block);
  void bindBatch(llvm::ArrayRef<Value> indices);
  Value hasBlocks(Value firstBlock);
  void emitTile(Value firstBlock);
  Value blockCount();
  Values emitStart(Value firstBlock, Value count);
  void startBlock(Value number);
  void packQuery(Value number, Value firstQuery);
  void packLonelyQuery(unsigned term, Value panel);
  Values scoreFactors();
  void scaleQuery(Value panel, Value extent);
  void emitKeyTile(Value firstBlock, Value count, Value firstKey, Value length);
  void emitSeenTile(Value firstBlock, Value count, Value firstKey, Value length);
  void finishBlock(Value number, Value firstQuery);
  void turnOutput(unsigned value, Value number, llvm::ArrayRef<Value> inverse);
  void writeOutput(WriteOp write, Value number, Value firstQuery);
  void writeRow(WriteOp write, llvm::ArrayRef<Value> logSumExp);

  // FlashRanges.cpp: which keys a row sees.
  unsigned rangeCount() { return std::max(1u, flash.getNumRanges()); }
  bool hasBounds() { return flash.getNumRanges() > 0; }
  std::pair<Value, Value> boundsAt(unsigned range, int64_t vector);
  Values storeBounds(Value number);
  Value seesKeyTile(mlir::ValueRange ranges, Value firstKey);
  KeyRange keysSeenBy(Value number, Value firstKey, Value length);
  Values limitsOf(const KeyRange &block, Value firstKey, Value length);
  Values maskScores(const KeyRange &block, Value firstKey, Value length, Value row, llvm::ArrayRef<Value> limits,
                    llvm::ArrayRef<Values> raw, llvm::ArrayRef<Value> scores, mlir::Operation *loop);
  void setTerms(llvm::ArrayRef<Values> raw, unsigned r);
  Value seenInRange(unsigned range, const KeyRange &block, Value firstKey, Value length, Value key, int64_t vector);

  // FlashMap.cpp: what the mask says for whole tiles.
  bool hasMap() { return tiles.condition.isUseful(); }
  TileExtremes<Value> extremesWith(TileExtremes<Value> lanes, Datum datum, Value exists);
  TileExtremes<Value> reduced(TileExtremes<Value> lanes);
  TileExtremes<Value> noExtremes(Value leaf, int64_t lanes);
  void storeLeaves(Value number);
  Values keyExtremes(Value firstKey, Value length);
  TileExtremes<Value> pairExtremes(Value leaf, Value block, Value firstKey, const KeyRange &keys, mlir::Operation *loop);
  void askAhead(Expressions &x, ReadOp read, Value key);
  void bindRow(Expressions &x, Value block);
  Values overKeyLanes(Expressions &x, Value from, Value end, mlir::ValueRange init,
                      llvm::function_ref<Values(mlir::ValueRange carried)> body);
  Value answerTile(Value firstBlock, Value count, Value firstKey, Value length);

  // FlashPacking.cpp: operands of a tile, and what matrix tiles need of them.
  Values packTile(Value source, mlir::StringAttr width, const FlashScratch::Part &part, Value firstKey, Value length,
                  mlir::ValueRange init, llvm::function_ref<Values(Value element, mlir::ValueRange carried)> each);
  void packKeys(Value firstKey, Value length);
  Value packValues(Value firstKey, Value length);
  /// Elements of a part of a row of bf16.
  Value widthOfPart(const FlashScratch::Part &part) { return f.div(f.mul(part.pitch, f.i64(2)), f.i64(shape.parts)); }
  void storeParts(Value element, Value row, Value place, Value pitch);
  Value sumOfParts(Value row, Value place, Value pitch);
  void pairQuery(unsigned term, Value panel, Value number);
  void turnValues(Value length);

  // FlashTile.cpp: one register block against one key tile.
  std::pair<Value, Value> blocksOfKeys(const KeyRange &block);
  void emitBlock(const KeyRange &block, Value firstKey, Value length, Value finite);
  Values emitScores(const KeyRange &block, Value firstKey, Value length, mlir::ValueRange maxima);
  bool keepsProducts();
  void storeScores(Value row, llvm::ArrayRef<Value> scores);
  Values rawScores(unsigned term, Value number, Value row);
  Values scoresAt(Value key, llvm::ArrayRef<Values> raw, unsigned r, mlir::Operation *loop);
  void emitPowers(const KeyRange &block, Value firstKey, llvm::ArrayRef<Value> shift, llvm::ArrayRef<Value> sums,
                  bool marksAbsent);
  Values powersAt(Value key, Value firstKey, llvm::ArrayRef<Value> shift, bool marksAbsent, Values &sums);
  void rescale(Value number, llvm::ArrayRef<Value> rises, llvm::ArrayRef<Value> factors);
  void emitMixes(const KeyRange &block, bool skipsAbsent);

  // FlashMatrix.cpp: products by matrix tiles.
  TilePlace tileAt(Value offset, Value pitch);
  void emitTileScores(Value number, Value first);
  Values tileScores(unsigned term, Value row, llvm::ArrayRef<Value> factors);
  void emitTileMixes(const KeyRange &block);

  // Small helpers.
  bool isSoftmax() { return flash.getNormalizer() == Normalizer::Softmax; }
  Value keyCount() { return axes.keyCount(expressions); }
  void bindKey(Value key) { axes.bindKey(expressions, key); }
  Value at(const FlashScratch::Part &part, Value number) { return f.add(part.offset, f.mul(number, part.pitch)); }
  Value loadFloats(Value offset, int64_t plus = 0);
  void storeFloats(Value value, Value offset, int64_t plus = 0);
  Value loadIntegers(Value offset, int64_t plus, bool isLanes);
  void storeIntegers(Value value, Value offset, int64_t plus);
  Value floats(double value) { return f.constant(vectorType, value); }
  Value isMarked(Value power);

  FunctionScope &f;
  StageOp stage;
  FlashOp flash;
  const FlashAxes &axes;
  const FlashShape &shape;
  Expressions expressions;
  TileMask tiles;
  Value base; ///< the worker's scratch
  Value blocksOfTask; ///< at most
  FlashScratch scratch;
  mlir::VectorType vectorType;
  FlashScore score;
  Value absentScore; ///< lanes that stand for the score of an absent pair
};

} // namespace attn

#endif // ATTN_COMPILER_CPU_FLASHSTAGE_H
