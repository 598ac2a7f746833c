//===- Schedule.h - how stages run ------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A schedule is plain data: printed, edited, given back. It never changes what a kernel computes,
// but for the order of sums.
//===----------------------------------------------------------------------===//
#ifndef ATTN_SCHEDULES_SCHEDULE_H
#define ATTN_SCHEDULES_SCHEDULE_H

#include "schedules/Target.h"
#include <optional>
#include <vector>

namespace attn {

/// Which emitter lowers a stage, as in `attn.stage`.
enum class StageShape { Nest, Contract, Flash };
llvm::StringRef stageShapeName(StageShape kind);

/// Who generates the code of a stage. Unsaid: the compiler chooses.
enum class Route { Unsaid, Mlir, Halide };
llvm::StringRef routeName(Route route);

/// What multiplies queries with keys, and weights with values, in the prefill form of the MLIR route: lanes of f32, or matrix tiles of bf16
/// that sum in f32; an f16 is the sum of two bf16. Unsaid: the compiler chooses.
enum class Products { Unsaid, Lanes, Tiles };
llvm::StringRef productsName(Products products);

struct Schedule {
  /// f32 elements of a vector. A power of two, at most the target's.
  int64_t lanes = 0;
  /// Vectors side by side in a register block: it is lanes * vectors wide. In a flash these are queries, in a
  /// contract elements of the lane side.
  int64_t vectors = 0;
  /// Scalars that each of those vectors is multiplied with: the block has rows * vectors accumulators. In a
  /// flash these are keys, then elements of the value's width; in a contract elements of the row side.
  int64_t rows = 0;
  /// Flash: queries in a tile, a multiple of lanes * vectors. A contract's panel is one register block wide.
  int64_t queryTile = 0;
  /// Flash: keys in a tile, a multiple of rows: their scores stay in the cache between softmax and mix. Contract:
  /// elements of the row side in a task at least, where there are so many, a multiple of rows.
  int64_t keyTile = 0;
  /// Contract: contracted elements in a panel. Flash and nest do not read it.
  int64_t depthTile = 0;
  /// Flash: a row with at most so many queries along the lane axis takes the decode form. Others do not
  /// read it.
  int64_t decodeQueries = 0;
  /// Flash: keys that one task of the decode form reads. Others do not read it.
  int64_t decodeChunk = 0;
  /// Flash and contract: who generates its code. A nest does not read it.
  Route route = Route::Unsaid;
  /// Flash: what computes its products. Tiles make a register block of 32 keys by 32 queries of their own. Others do not
  /// read it.
  Products products = Products::Unsaid;

  bool operator==(const Schedule &other) const;
  bool operator!=(const Schedule &other) const { return !(*this == other); }
};

/// The schedule of one stage, by the name that the compiler gives it. Without a name it is meant for every stage
/// of its kind, without a kernel for every kernel. A field that is 0 is left to the cost model.
struct StageSchedule {
  std::string kernel, name;
  StageShape kind = StageShape::Nest;
  Schedule schedule;
};

/// What is known of a stage before it runs; nothing where it is known only then.
struct StageFacts {
  StageShape kind = StageShape::Nest;
  /// Elements that a score sums over, and elements of a row of values. Of a contract the contracted elements.
  std::optional<int64_t> keyWidth, valueWidth;
  /// Whether a search may give it another route.
  bool hasRoutes = false;
  /// Of how many bf16 an operand of a flash's products is the sum, where all may be rounded to what is such a sum: 1 for bf16,
  /// 2 for f16; 0 where they may not.
  int64_t bf16Parts = 0;
};

/// The schedules in YAML: a list of stages. An error says what is wrong, and where.
llvm::Expected<std::vector<StageSchedule>> parseSchedules(llvm::StringRef text);
std::string printSchedules(llvm::ArrayRef<StageSchedule> stages);

/// The schedule that is meant for a stage: one with its name before one for its kind. Null when there is none.
const StageSchedule *findSchedule(llvm::ArrayRef<StageSchedule> given, llvm::StringRef kernel, llvm::StringRef name,
                                  StageShape kind);

/// `given` with `defaults` where it says 0.
Schedule completed(const Schedule &given, const Schedule &defaults);

/// Why a schedule cannot work; success when it can.
llvm::Error validate(const Schedule &schedule, const StageFacts &facts, const Target &target);

/// Keys and queries in a block of `products: tiles`.
inline constexpr int64_t tilesBlock = 32;
/// Queries and keys of a flash's register block: its tiles are multiples of them.
int64_t queryBlock(const Schedule &schedule);
int64_t keyBlock(const Schedule &schedule);

/// Bytes that one flash tile touches again and again: scores, queries, outputs, and a tile of keys and values.
int64_t flashTileBytes(const Schedule &schedule, const StageFacts &facts);
/// Bytes of a contract's packed panel.
int64_t contractPanelBytes(const Schedule &schedule);

} // namespace attn

#endif // ATTN_SCHEDULES_SCHEDULE_H
