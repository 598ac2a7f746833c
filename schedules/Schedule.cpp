//===- Schedule.cpp - how stages run ----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "schedules/ScheduleYaml.h"
#include "llvm/Support/MathExtras.h"

using namespace attn;

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

llvm::StringRef attn::stageShapeName(StageShape kind) {
  switch (kind) {
  case StageShape::Nest:
    return "nest";
  case StageShape::Contract:
    return "contract";
  case StageShape::Flash:
    return "flash";
  }
  llvm_unreachable("all kinds are named");
}

llvm::StringRef attn::routeName(Route route) {
  return route == Route::Halide ? "halide" : route == Route::Mlir ? "mlir" : "";
}

llvm::StringRef attn::productsName(Products products) {
  return products == Products::Tiles ? "tiles" : products == Products::Lanes ? "lanes" : "";
}

llvm::Expected<std::vector<StageSchedule>> attn::parseSchedules(llvm::StringRef text) {
  return parseYamlList<StageSchedule>(text, "schedule");
}

std::string attn::printSchedules(llvm::ArrayRef<StageSchedule> stages) {
  return printYamlList(std::vector<StageSchedule>(stages.begin(), stages.end()));
}

//===----------------------------------------------------------------------===//
// Choosing among what was given
//===----------------------------------------------------------------------===//

bool Schedule::operator==(const Schedule &other) const {
  return lanes == other.lanes && vectors == other.vectors && rows == other.rows && queryTile == other.queryTile &&
         keyTile == other.keyTile && depthTile == other.depthTile && decodeQueries == other.decodeQueries &&
         decodeChunk == other.decodeChunk && route == other.route && products == other.products;
}

const StageSchedule *attn::findSchedule(llvm::ArrayRef<StageSchedule> given, llvm::StringRef kernel,
                                        llvm::StringRef name, StageShape kind) {
  const StageSchedule *found = nullptr;
  for (const StageSchedule &stage : given) {
    bool meant = stage.kind == kind && (stage.kernel.empty() || stage.kernel == kernel) &&
                 (stage.name.empty() || stage.name == name);
    if (meant && (!found || (found->name.empty() && !stage.name.empty())))
      found = &stage;
  }
  return found;
}

Schedule attn::completed(const Schedule &given, const Schedule &defaults) {
  auto pick = [](int64_t given, int64_t otherwise) { return given ? given : otherwise; };
  return {pick(given.lanes, defaults.lanes),         pick(given.vectors, defaults.vectors),
          pick(given.rows, defaults.rows),           pick(given.queryTile, defaults.queryTile),
          pick(given.keyTile, defaults.keyTile),     pick(given.depthTile, defaults.depthTile),
          pick(given.decodeQueries, defaults.decodeQueries), pick(given.decodeChunk, defaults.decodeChunk),
          given.route == Route::Unsaid ? defaults.route : given.route,
          given.products == Products::Unsaid ? defaults.products : given.products};
}

//===----------------------------------------------------------------------===//
// Validation
//===----------------------------------------------------------------------===//

/// A head of 64 where the width is not known: the fit is checked for what is most common.
static constexpr int64_t assumedWidth = 64;
static constexpr int64_t floatBytes = 4;
/// Far beyond any cache: products of two tiles stay far below 2^63.
static constexpr int64_t largestField = int64_t(1) << 24;

int64_t attn::queryBlock(const Schedule &schedule) {
  return schedule.products == Products::Tiles ? tilesBlock : schedule.lanes * schedule.vectors;
}

int64_t attn::keyBlock(const Schedule &schedule) {
  return schedule.products == Products::Tiles ? tilesBlock : schedule.rows;
}

int64_t attn::flashTileBytes(const Schedule &schedule, const StageFacts &facts) {
  auto width = [](std::optional<int64_t> known) { return std::min(known.value_or(assumedWidth), largestField); };
  int64_t keyWidth = width(facts.keyWidth), valueWidth = width(facts.valueWidth), widths = keyWidth + valueWidth;
  if (schedule.products == Products::Tiles) // Outputs are f32, the rest bf16; values are kept as rows and as columns.
    return floatBytes * (tilesBlock * schedule.keyTile + schedule.queryTile * valueWidth) +
           floatBytes / 2 * std::max<int64_t>(facts.bf16Parts, 1) * (schedule.keyTile * (widths + valueWidth) + schedule.queryTile * keyWidth);
  // Vector code finishes the scores of one register block before those of the next.
  int64_t scored = schedule.route == Route::Halide ? schedule.queryTile : queryBlock(schedule);
  return floatBytes * (scored * schedule.keyTile + (schedule.queryTile + schedule.keyTile) * widths);
}

int64_t attn::contractPanelBytes(const Schedule &schedule) {
  return floatBytes * schedule.lanes * schedule.vectors * schedule.depthTile;
}

static llvm::Error refused(const llvm::Twine &why) { return llvm::createStringError(why); }

static llvm::Error checkRegisters(const Schedule &schedule, const Target &target) {
  if (schedule.lanes > target.lanes || !llvm::isPowerOf2_64(schedule.lanes))
    return refused(llvm::formatv("lanes {0} is not a power of two up to the {1} f32 of a vector of {2}", schedule.lanes,
                                 target.lanes, target.name));
  // The block itself, the vectors that are multiplied, and a scalar in all lanes.
  int64_t needed = schedule.rows * schedule.vectors + schedule.vectors + 1;
  if (needed > target.vectorRegisters)
    return refused(llvm::formatv("a register block of {0} rows by {1} vectors needs {2} registers, {3} has {4}",
                                 schedule.rows, schedule.vectors, needed, target.name, target.vectorRegisters));
  return llvm::Error::success();
}

/// A thread's own memory and a block's threads, as the least of the devices have them.
static constexpr int64_t mostThreads = 1024, mostKeysOfThread = 128, mostRowsOfThread = 32;

static llvm::Error checkDevice(const Schedule &schedule, const Target &target) {
  if (schedule.route == Route::Mlir)
    return refused(llvm::formatv("route mlir has no code for {0}: its attentions are Halide's", target.name));
  if (schedule.lanes != 1 || schedule.vectors != 1)
    return refused(llvm::formatv("threads of {0} hold scalars: lanes and vectors are 1", target.name));
  std::tuple<llvm::StringRef, int64_t, int64_t> fields[] = {{"query_tile", schedule.queryTile, mostThreads},
                                                            {"key_tile", schedule.keyTile, mostKeysOfThread},
                                                            {"rows", schedule.rows, mostRowsOfThread}};
  for (auto [name, value, most] : fields)
    if (value > most)
      return refused(llvm::formatv("{0} {1} is more than the {2} that a device is sure to have room for", name, value, most));
  return llvm::Error::success();
}

static llvm::Error checkProducts(const Schedule &schedule, const StageFacts &facts, const Target &target) {
  if (schedule.products != Products::Tiles)
    return llvm::Error::success();
  if (facts.kind != StageShape::Flash)
    return refused("products tiles is for flash stages");
  if (!target.hasTiles)
    return refused(llvm::formatv("products tiles: {0} has no matrix tiles", target.name));
  if (!facts.bf16Parts)
    return refused("products tiles: they are of f16 or bf16, and an operand is not, or must not be rounded");
  if (schedule.lanes != target.lanes)
    return refused(llvm::formatv("products tiles: lanes {0} are not the {1} of a tile", schedule.lanes, target.lanes));
  return llvm::Error::success();
}

static llvm::Error checkTiles(const Schedule &schedule, StageShape kind) {
  bool isTiles = schedule.products == Products::Tiles;
  if (kind == StageShape::Flash && schedule.queryTile % queryBlock(schedule))
    return refused(llvm::formatv("query_tile {0} is not a multiple of {1} = {2}", schedule.queryTile,
                                 isTiles ? "a block of tiles" : "lanes * vectors", queryBlock(schedule)));
  if (schedule.keyTile % keyBlock(schedule))
    return refused(llvm::formatv("key_tile {0} is not a multiple of {1} = {2}", schedule.keyTile,
                                 isTiles ? "a block of tiles" : "rows", keyBlock(schedule)));
  return llvm::Error::success();
}

llvm::Error attn::validate(const Schedule &schedule, const StageFacts &facts, const Target &target) {
  std::pair<llvm::StringRef, int64_t> fields[] = {
      {"lanes", schedule.lanes},          {"vectors", schedule.vectors},  {"rows", schedule.rows},
      {"query_tile", schedule.queryTile}, {"key_tile", schedule.keyTile}, {"depth_tile", schedule.depthTile}};
  for (auto [name, value] : fields)
    if (value < 1 || value > largestField)
      return refused(llvm::formatv("{0} {1} is not between 1 and {2}", name, value, largestField));
  std::pair<llvm::StringRef, int64_t> ofDecode[] = {{"decode_queries", schedule.decodeQueries},
                                                    {"decode_chunk", schedule.decodeChunk}};
  for (auto [name, value] : ofDecode) // 0: no decode form.
    if (value < 0 || value > largestField)
      return refused(llvm::formatv("{0} {1} is not between 0 and {2}", name, value, largestField));
  if (schedule.route == Route::Halide && (facts.kind == StageShape::Nest || target.isCuda()))
    return refused("route halide is for flash and contract stages on processors");
  if (target.hasDevice() && facts.kind == StageShape::Flash)
    return checkDevice(schedule, target);
  if (llvm::Error error = checkRegisters(schedule, target))
    return error;
  if (llvm::Error error = checkProducts(schedule, facts, target))
    return error;
  if (facts.kind == StageShape::Nest)
    return llvm::Error::success();
  if (llvm::Error error = checkTiles(schedule, facts.kind))
    return error;
  int64_t bytes = facts.kind == StageShape::Flash ? flashTileBytes(schedule, facts) : contractPanelBytes(schedule);
  int64_t room = target.l1Bytes + target.l2Bytes;
  // One register block must always be allowed, however wide the heads are.
  bool smallest = schedule.queryTile == queryBlock(schedule) && schedule.keyTile == keyBlock(schedule);
  if (bytes > room && !smallest)
    return refused(llvm::formatv("a tile needs {0} KiB, L1 and L2 of {1} together have {2} KiB", (bytes + 1023) >> 10,
                                 target.name, room >> 10));
  return llvm::Error::success();
}
