//===- HalideStage.cpp - a stage whose tasks Halide generates ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls the functions that a stage's plans become (schedules/halide/CompileStage.h). As in the vector code a task is a
// tile of queries of one batch entry, or, where they are few, a chunk of its keys; chunks of an entry are merged when all
// tasks have ended.
//===----------------------------------------------------------------------===//
#include "compiler/cpu/HalideStage.h"

#include "compiler/cpu/DecodeForm.h"
#include "compiler/cpu/FlashDecode.h"
#include "compiler/cpu/HalideTask.h"

using namespace mlir;
using namespace attn;

/// How many combinations of indices the axes have.
static Value countOf(FunctionScope &f, ArrayRef<std::string> axes) {
  Value count = f.i64(1);
  for (const std::string &axis : axes)
    count = f.mul(count, f.extent(nameIn(f, axis)));
  return count;
}

namespace {

/// What a chunk leaves, as f32 from its start: maximum, sum and mixes of each query, in whole register blocks.
struct Partial {
  Value queries, sums, size;
  SmallVector<Value> mixes, widths;

  Partial(FunctionScope &f, const StagePlan &plan) : queries(roundedUp(f, queryCount(f, plan), plan.queryTile)) {
    sums = reserve(f, queries, f.i64(0));
    size = reserve(f, queries, sums);
    for (const PlanMix &mix : plan.mixes) {
      widths.push_back(roundedUp(f, f.extent(nameIn(f, mix.width)), plan.lanes * plan.vectors));
      mixes.push_back(size);
      size = reserve(f, f.mul(widths.back(), queries), size);
    }
  }

  /// Its buffers from `base`; with a number of chunks, those of all of them.
  FunctionScope::Values describe(FunctionScope &f, HalideTask &task, Value base, Value chunks) const {
    auto buffer = [&](Value offset, SmallVector<HalideTask::Dim> dims) {
      if (chunks)
        dims.push_back({f.i64(0), chunks, size});
      return task.floats(f.address(base, offset, f.builder().getF32Type()), dims);
    };
    HalideTask::Dim perQuery{f.i64(0), queries, f.i64(1)};
    FunctionScope::Values all{buffer(f.i64(0), {perQuery}), buffer(sums, {perQuery})};
    for (auto [mix, width] : llvm::zip(mixes, widths))
      all.push_back(buffer(mix, {{f.i64(0), width, f.i64(1)}, {f.i64(0), queries, width}}));
    return all;
  }

private:
  /// What comes behind `floats` at `at`: parts begin at cache lines.
  static Value reserve(FunctionScope &f, Value floats, Value at) { return f.add(at, roundedUp(f, floats, 16)); }
};

class HalideLowering : public StageLowering {
public:
  using StageLowering::StageLowering;

  LogicalResult prepare(const FrameLayout &layout) override {
    FailureOr<std::vector<StagePlan>> plans = plansOf(stage);
    if (mlir::failed(plans))
      return failure();
    for (StagePlan &plan : *plans)
      (plan.part == PlanPart::Tile ? tile : chunk) = std::move(plan);
    flash = *stage.getBody().getOps<FlashOp>().begin();
    FailureOr<FlashAxes> axes = FlashAxes::of(flash, layout.getSignature());
    if (mlir::failed(axes))
      return failure();
    form = DecodeForm::of(*axes, schedule, layout.getSignature());
    if (chunk) {
      merge = *chunk;
      merge->part = PlanPart::Merge;
      merge->symbol += ".merge";
    }
    return success();
  }

  Value emitTaskCount(FunctionScope &f) override {
    Value count = tile ? tileTasks(f) : f.i64(0);
    return chunk ? f.add(count, form.whereFew(f, f.mul(countOf(f, chunk->tasks), chunkCount(f)))) : count;
  }

  Value emitScratchBytes(FunctionScope &f) override {
    Value bytes = f.i64(0);
    for (const std::optional<StagePlan> *plan : {&tile, &chunk, &merge})
      if (*plan)
        bytes = f.max(bytes, scratchOf(f, flash, **plan));
    return bytes;
  }

  LogicalResult emitTask(FunctionScope &f, Value task) override {
    if (!chunk)
      return emitTile(f, task);
    if (!tile)
      return emitChunk(f, task);
    LogicalResult one = success(), other = success();
    Value first = tileTasks(f);
    f.when(
        f.less(task, first), [&] { one = emitTile(f, task); }, [&] { other = emitChunk(f, f.sub(task, first)); });
    return success(succeeded(one) && succeeded(other));
  }

  bool hasFinish() const override { return chunk.has_value(); }
  Value emitFinishCount(FunctionScope &f) override { return form.whereFew(f, countOf(f, chunk->tasks)); }
  LogicalResult emitFinish(FunctionScope &f, Value task) override;
  Value emitSharedBytes(FunctionScope &f) override {
    if (!chunk)
      return {};
    Value floats = f.mul(f.mul(countOf(f, chunk->tasks), chunkCount(f)), Partial(f, *chunk).size);
    return form.whereFew(f, f.mul(floats, f.i64(4)));
  }

private:
  LogicalResult emitTile(FunctionScope &f, Value task);
  LogicalResult emitChunk(FunctionScope &f, Value task);

  Value chunkCount(FunctionScope &f) {
    return f.max(f.i64(1), f.ceilDiv(f.extent(nameIn(f, chunk->key.name)), f.i64(chunk->chunk)));
  }
  Value tilesOfEntry(FunctionScope &f) { return f.ceilDiv(queryCount(f, *tile), f.i64(tile->queryTile)); }
  Value tileTasks(FunctionScope &f) {
    return form.whereMany(f, f.mul(countOf(f, tile->tasks), tilesOfEntry(f)));
  }

  std::optional<StagePlan> tile, chunk, merge;
  DecodeForm form;
  FlashOp flash;
};

} // namespace

/// Binds what a task fixes to the parts of a number; behind the axes comes `last`, when it is given, fastest.
static Value bindTask(FunctionScope &f, HalideTask &builder, const StagePlan &plan, Value task, Value last) {
  FunctionScope::Values counts;
  for (const std::string &axis : plan.tasks)
    counts.push_back(f.extent(nameIn(f, axis)));
  if (last)
    counts.push_back(last);
  FunctionScope::Values at = splitTask(f, task, counts);
  for (auto [axis, index] : llvm::zip(plan.tasks, at))
    builder.bind(nameIn(f, axis), index);
  return last ? at.back() : Value();
}

LogicalResult HalideLowering::emitTile(FunctionScope &f, Value task) {
  HalideTask builder(f, flash, *tile);
  Value tiles = tilesOfEntry(f), number = bindTask(f, builder, *tile, task, tiles);
  // The last tile first: under a causal mask it sees the most keys.
  Value first = f.mul(f.sub(f.sub(tiles, f.i64(1)), number), f.i64(tile->queryTile));
  HalideTask::Queries queries{first, f.min(f.i64(tile->queryTile), f.sub(queryCount(f, *tile), first))};
  auto [firstKey, endKey] = builder.keysSeenBy(queries);
  Value size = f.i64(tile->keyTile), firstBlock = f.div(firstKey, size);
  FunctionScope::Values arguments{builder.arena()};
  llvm::append_range(arguments, builder.inputs());
  arguments.push_back(builder.narrow(firstBlock));
  arguments.push_back(builder.narrow(f.max(f.i64(0), f.sub(f.ceilDiv(endKey, size), firstBlock))));
  for (const PlanStore &store : tile->stores)
    arguments.push_back(builder.result(store, queries));
  if (builder.failed())
    return failure();
  callHalide(f, tile->symbol, arguments, &*tile);
  return success();
}

/// Heads of one chunk come one after the other, as in compiler/cpu/FlashDecode.cpp.
LogicalResult HalideLowering::emitChunk(FunctionScope &f, Value task) {
  HalideTask builder(f, flash, *chunk);
  Value entries = countOf(f, chunk->tasks), entry = f.rem(task, entries), number = f.div(task, entries);
  bindTask(f, builder, *chunk, entry, {});
  auto [low, high] = builder.keysSeenBy({f.i64(0), queryCount(f, *chunk)});
  Value size = f.i64(chunk->chunk), start = f.mul(number, size);
  Value first = f.max(low, start), end = f.min(high, f.add(start, size));
  Value count = f.max(f.i64(0), f.sub(end, first));
  Partial partial(f, *chunk);
  Value place = f.mul(f.add(f.mul(entry, chunkCount(f)), number), partial.size);
  FunctionScope::Values arguments{builder.arena()};
  llvm::append_range(arguments, builder.inputs());
  arguments.push_back(builder.narrow(f.min(first, f.extent(nameIn(f, chunk->key.name)))));
  arguments.push_back(builder.narrow(count));
  Value base = f.address(f.sharedScratch(), place, f.builder().getF32Type());
  llvm::append_range(arguments, partial.describe(f, builder, base, {}));
  if (builder.failed())
    return failure();
  callHalide(f, chunk->symbol, arguments, &*chunk);
  return success();
}

LogicalResult HalideLowering::emitFinish(FunctionScope &f, Value entry) {
  HalideTask builder(f, flash, *merge);
  bindTask(f, builder, *merge, entry, {});
  Partial partial(f, *merge);
  Value chunks = chunkCount(f), place = f.mul(f.mul(entry, chunks), partial.size);
  Value base = f.address(f.sharedScratch(), place, f.builder().getF32Type());
  FunctionScope::Values arguments{builder.arena()};
  llvm::append_range(arguments, partial.describe(f, builder, base, chunks));
  llvm::append_range(arguments, builder.inputs());
  arguments.push_back(builder.narrow(chunks));
  for (const PlanStore &store : merge->stores)
    arguments.push_back(builder.result(store, {f.i64(0), queryCount(f, *merge)}));
  callHalide(f, merge->symbol, arguments, &*merge);
  return success();
}

std::unique_ptr<StageLowering> attn::makeHalideLowering(StageOp stage) { return std::make_unique<HalideLowering>(stage); }
