//===- FlashDecode.h - fused attention of few queries -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The decode form of a flash stage: few queries share the keys, so the time is that of reading keys and values once.
// A task is a chunk of the keys of one batch entry, for all its queries. Keys and values are read where they lie, lanes
// along their width; scores lie as [query][key], so that what happens to them has lanes along the keys. What the chunks
// of an entry give (maximum, sum, mix) is merged in order when all tasks have ended. Chunks and the tiles in them are
// counted from key 0, so what a row computes depends on that row alone.
//===----------------------------------------------------------------------===//
#ifndef ATTN_COMPILER_CPU_FLASHDECODE_H
#define ATTN_COMPILER_CPU_FLASHDECODE_H

#include "compiler/cpu/FlashStage.h"

namespace attn {

/// The next multiple of `to`.
mlir::Value roundedUp(FunctionScope &f, mlir::Value value, int64_t to);

/// Joins the lanes of each vector; gives one lane for each. No more vectors than lanes, powers of two.
mlir::Value joinAcrossLanes(FunctionScope &f, llvm::SmallVector<mlir::Value> vectors,
                            llvm::function_ref<mlir::Value(mlir::Value, mlir::Value)> join);

/// A register block of the decode form.
struct DecodeBlock {
  int64_t queries; ///< of scores and of mixes
  int64_t keys;    ///< of scores, next to each other in a vector of sums
  int64_t vectors; ///< of mixes, along the width
};

/// Sizes of the decode form's register blocks, tiles and chunks.
struct DecodeShape {
  int64_t lanes;
  DecodeBlock block;
  /// For the one query that is left when others have filled blocks, often the only one; nothing where there never is one.
  std::optional<DecodeBlock> single;
  int64_t tile;  ///< keys whose scores are finished together
  int64_t chunk; ///< keys of a task

  DecodeShape(ScheduleAttr schedule, const FlashAxes &axes, const Signature &signature);
};

/// Reads of an operand that lie side by side along its elements: their rows are located once.
struct DecodeOperand {
  mlir::Value value;
  mlir::StringAttr element; ///< the contracted axis of a key, the width of a value
  llvm::SmallVector<mlir::Value> factors; ///< parts of it that are one f32 per key: computed once per tile
  bool isTurned = false; ///< a rope is part of it: it is evaluated once per tile
  mlir::Value scale; ///< that of them which multiplies all the rest, of a value: weights take it up; null without one
  struct Row {
    ReadOp read;
    mlir::Value stride; ///< elements
  };
  llvm::SmallVector<Row> rows;

  DecodeOperand(FunctionScope &f, mlir::Value value, mlir::StringAttr element, mlir::StringAttr keyAxis);
};

/// What a chunk leaves, as offsets (f32) from its start.
struct DecodePartial {
  mlir::Value maximum, sum;                      ///< [query]
  mlir::Value kept;                              ///< [query]: not 0 where a changed weight was kept
  llvm::SmallVector<FlashScratch::Part> mix;     ///< per value: [query][width]
  mlir::Value size;                              ///< in f32

  DecodePartial(FunctionScope &f, const FlashAxes &axes, const DecodeShape &shape, mlir::Value queries);
};

/// Emits the tasks of the decode form.
class DecodeTask {
public:
  DecodeTask(FunctionScope &f, StageOp stage, FlashOp flash, const FlashAxes &axes, const DecodeShape &shape);

  /// Chunks of the longest entry, at least one.
  static mlir::Value chunkCount(FunctionScope &f, const FlashAxes &axes, const DecodeShape &shape);
  mlir::Value scratchFloats() const { return scratchSize; }
  mlir::Value sharedFloats();

  /// One chunk of one entry; `takes` says at an entry whether it is for this form (null: always).
  mlir::LogicalResult emit(mlir::Value task, llvm::function_ref<mlir::Value(Expressions &)> takes);
  /// Brings together the chunks of one entry.
  mlir::LogicalResult emitMerge(mlir::Value task, llvm::function_ref<mlir::Value(Expressions &)> takes);

private:
  using Value = mlir::Value;
  using Values = FunctionScope::Values;
  /// Keys of a tile that any query sees: [low, high), counted from `start`.
  struct Tile {
    Value start, low, high;
  };
  /// What is known of an operand at a key: addresses of rows, and factors.
  struct Kept {
    Values rows, factors;
  };

  // FlashDecode.cpp: entries, chunks, tiles.
  mlir::LogicalResult overEntry(llvm::ArrayRef<Value> indices, llvm::function_ref<Value(Expressions &)> takes,
                                llvm::function_ref<void()> body);
  Value ownChunks();
  Value partialOf(Value entry, Value chunk);
  void overQueries(llvm::function_ref<void(Value number)> body);
  Values overQueries(mlir::ValueRange init, llvm::function_ref<Values(Value number, mlir::ValueRange)> body);
  /// Blocks of queries with their first one, and whether what they read is simple (null: it is). Which block a query falls
  /// into makes no difference to its bits.
  void overBlocks(Value isSimple, llvm::function_ref<void(const DecodeBlock &block, Value firstQuery, Value isSimple)> body);
  void startMixes(Value queries);
  std::pair<Value, Value> startQueries(Value from, Value to);
  std::pair<Value, Value> boundsOf(unsigned range);
  void packQueries();
  void emitChunk(Value entry, Value chunk);
  void emitTile(const Tile &tile);

  // FlashDecodeRows.cpp: where keys and values lie.
  Value locateRows(Value low, Value high);
  Value storeFactors(const Tile &tile);
  Kept keptOf(unsigned operand, const Tile &tile, Value key);
  void setKept(unsigned operand, const Kept &kept);
  Value rowOf(unsigned operand, unsigned row, Value key);
  Value scalesOf(unsigned operand);
  Value lieFar();
  void prefetch(unsigned operand, Value from, Value to);
  void prefetchValues(const DecodeBlock &block, const Tile &tile, Value firstQuery, Value key);
  void prefetchKeys(const DecodeBlock &block, const Tile &tile, Value firstQuery, Value first);

  // FlashDecodeScores.cpp: from keys to weights.
  void turnKeys(unsigned term, const Tile &tile);
  void emitDots(const Tile &tile);
  void emitDot(const DecodeBlock &block, unsigned term, const Tile &tile, Value firstQuery, Value key, Value isSimple);
  Values products(const DecodeBlock &block, unsigned term, const Tile &tile, Value firstQuery, Value key, bool isSimple);
  Value seenInRanges(const Tile &tile, Value query, Value index);
  Value emitScores(const Tile &tile);
  Value scoreOf(Value number, Value key, Value first, Value seen, Value &present);

  // FlashDecodePowers.cpp: online softmax.
  void fillLanes(const FlashScratch::Part &part, double value);
  void overJoined(const FlashScratch::Part &part, llvm::function_ref<Value(Value, Value)> join,
                  llvm::function_ref<void(Value first, Value joined)> body);
  void growMaxima();
  void emitPowers(const Tile &tile);
  void emitPowersOf(Value query, const Tile &tile);
  void settleSums();

  // FlashDecodeMix.cpp: from weights and values to results.
  void emitMixes(const Tile &tile, Value anyAbsent);
  Value storeWeights(unsigned value, const Tile &tile, bool isScaled);
  void emitMix(const DecodeBlock &block, unsigned value, const Tile &tile, Value firstQuery, Value first, Value isPlain);
  Values mixOver(const DecodeBlock &block, unsigned value, const Tile &tile, Value firstQuery, Value first,
                 mlir::ValueRange sums, bool isPlain, bool isWhole);
  void addMixes(Value query, Value from, Value factor);
  void finish();

  // Small helpers.
  bool isSoftmax() { return flash.getNormalizer() == Normalizer::Softmax; }
  mlir::StringAttr keyAxis() { return axes.keys.front(); }
  /// Opens a scope for the region in which the builder stands.
  void scoped(llvm::function_ref<void()> body) { inScope(expressions, body); }
  /// Loops and branches whose bodies have scopes of their own.
  void loop(Value from, Value to, int64_t step, llvm::function_ref<void(Value)> body);
  void when(Value condition, llvm::function_ref<void()> then, llvm::function_ref<void()> otherwise = nullptr);
  /// Emits `body` for both: with what is kept of keys, or anew. `condition` null: always with.
  Values choose(Value condition, mlir::TypeRange types, llvm::function_ref<Values(bool)> body);
  void bindKey(Value key);
  Value elementLanes(unsigned operand, unsigned slot);
  Value at(const FlashScratch::Part &part, Value number) { return f.add(part.offset, f.mul(number, part.pitch)); }
  Value loadFloat(Value base, Value offset) { return f.load(f.builder().getF32Type(), base, offset); }
  Value loadLanes(Value base, Value offset) { return f.load(vectorType, base, offset); }
  Value floats(double value) { return f.constant(vectorType, value); }
  Value number(double value) { return f.constant(f.builder().getF32Type(), value); }
  Value isMarked(Value weight);

  FunctionScope &f;
  StageOp stage;
  FlashOp flash;
  const FlashAxes &axes;
  const DecodeShape &shape;
  FlashScore score;
  Expressions expressions;
  mlir::VectorType vectorType;
  llvm::SmallVector<DecodeOperand> operands; ///< keys, then values
  // The worker's scratch, as offsets (f32) from `scratch`.
  Value scratch;
  llvm::SmallVector<FlashScratch::Part> query; ///< per term: [query][contracted]
  llvm::SmallVector<FlashScratch::Part> turned; ///< per term whose keys are turned: [key of the tile][contracted]
  llvm::SmallVector<FlashScratch::Part> raw;   ///< per term: [query][key of the tile]; the first becomes weights
  llvm::SmallVector<FlashScratch::Part> lower, upper; ///< per range of keys and query: i64
  FlashScratch::Part best;                     ///< per query: lanes of the largest scores of a tile
  FlashScratch::Part sums;                     ///< per query: lanes of the sum of weights of a chunk
  FlashScratch::Part shifts, rescales;         ///< per query: of the scores of a tile, and of what was added before it
  llvm::SmallVector<FlashScratch::Part> scaled; ///< per value: weights as its scale leaves them, [query][key of the tile]
  llvm::SmallVector<llvm::SmallVector<Value>> rows;    ///< per operand and row: [key of the chunk] of i64
  llvm::SmallVector<llvm::SmallVector<Value>> factors; ///< per operand and factor: [key of the tile]
  Value ownPartial;                            ///< of an entry with one chunk
  Value scratchSize;
  DecodePartial partial;
  // While a task is emitted.
  Value queries;       ///< of the entry
  Value queryBlocks;   ///< how many, rounded up to register blocks
  Value lanesExtent;   ///< queries along the lane axis of the entry
  Value base;          ///< of the partial (!llvm.ptr)
  Value direct;        ///< whether rows can be read in place (i1); null: rows make no difference
  Value simple;        ///< in a tile: that, and all factors are there; null: makes no difference
  Value exact;         ///< of a value in a tile: whether weights took up its scale; null without one
  Value isFar;         ///< whether keys and values are asked for ahead (i1)
  Value chunkStart, endKey; ///< the chunk begins at the one, keys that any query sees end before the other
};

} // namespace attn

#endif // ATTN_COMPILER_CPU_FLASHDECODE_H
