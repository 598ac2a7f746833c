//===- FlashForms.cpp - which form of a flash stage runs --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each batch entry takes the decode form or the prefill form by how many queries it has along the lane axis, which its
// other axes of queries multiply in both forms alike. That is a fact of the sequence: neither the batch nor the threads
// change it. Where constants decide, only one form is emitted.
//===----------------------------------------------------------------------===//
#include "compiler/cpu/DecodeForm.h"
#include "compiler/cpu/FlashDecode.h"
#include "compiler/optimize/ProductElements.h"
#include "schedules/Schedule.h"

using namespace mlir;
using namespace attn;

namespace {
class FlashLowering : public StageLowering {
public:
  using StageLowering::StageLowering;

  LogicalResult prepare(const FrameLayout &layout) override {
    flash = *stage.getBody().getOps<FlashOp>().begin();
    FailureOr<FlashAxes> sorted = FlashAxes::of(flash, layout.getSignature());
    if (failed(sorted))
      return failure();
    axes = *sorted;
    shape.lanes = schedule.getLanes();
    shape.vectors = axes.lane ? schedule.getVectors() : 1;
    shape.rows = schedule.getRows();
    if (schedule.getProducts() && schedule.getProducts().getValue() == productsName(Products::Tiles) && axes.lane)
      useTiles();
    int64_t keys = shape.hasTiles ? blockRows : shape.rows;
    shape.queries = shape.lanes * shape.vectors;
    shape.blocks = std::max<int64_t>(1, schedule.getQueryTile() / shape.queries);
    shape.keyTile = std::max<int64_t>(1, schedule.getKeyTile() / keys) * keys;
    shape.ranges = flash.getNumRanges();
    shape.leaves = TileMask::of(flash, axes.rowAxes()).leaves.size();
    chooseForms(layout.getSignature());
    return success();
  }

  Value emitTaskCount(FunctionScope &f) override {
    Value count = prefillCount(f);
    return decode ? f.add(count, decodeCount(f)) : count;
  }

  Value emitScratchBytes(FunctionScope &f) override {
    Value floats = f.i64(0);
    if (form.hasPrefill)
      floats = FlashScratch(f, axes, shape).size;
    if (decode)
      floats = f.max(floats, DecodeTask(f, stage, flash, axes, *decode).scratchFloats());
    return f.mul(floats, f.i64(4));
  }

  /// Prefill tasks come first: they are the longest.
  LogicalResult emitTask(FunctionScope &f, Value task) override {
    if (!decode)
      return FlashTask(f, stage, flash, axes, shape).emit(task);
    auto decodes = [&](Value task) {
      return DecodeTask(f, stage, flash, axes, *decode).emit(task, [&](Expressions &x) { return form.takes(x); });
    };
    if (!form.hasPrefill)
      return decodes(task);
    Value first = prefillCount(f);
    LogicalResult one = success(), other = success();
    f.when(
        f.less(task, first), [&] { one = FlashTask(f, stage, flash, axes, shape).emit(task); },
        [&] { other = decodes(f.sub(task, first)); });
    return success(succeeded(one) && succeeded(other));
  }

  bool hasFinish() const override { return bool(decode); }
  Value emitFinishCount(FunctionScope &f) override {
    Value isSplit = f.less(f.i64(1), DecodeTask::chunkCount(f, axes, *decode));
    return form.whereFew(f, arith::SelectOp::create(f.builder(), f.loc(), isSplit, f.extent(axes.batch), f.i64(0)));
  }
  LogicalResult emitFinish(FunctionScope &f, Value task) override {
    return DecodeTask(f, stage, flash, axes, *decode).emitMerge(task, [&](Expressions &x) { return form.takes(x); });
  }
  Value emitSharedBytes(FunctionScope &f) override {
    return decode ? form.whereFew(f, f.mul(DecodeTask(f, stage, flash, axes, *decode).sharedFloats(), f.i64(4))) : Value();
  }

private:
  /// Scores and weights pass through registers by four keys: products leave none there.
  void useTiles() {
    static_assert(blockRows == tilesBlock && blockSums == tilesBlock, "schedules count in the blocks of the emitter");
    shape.hasTiles = true;
    shape.parts = bf16PartsOf(productElement(flash, /*isPrecise=*/false));
    shape.vectors = blockSums / shape.lanes;
    shape.rows = 4;
  }

  void chooseForms(const Signature &signature) {
    if (axes.keys.size() == 1)
      form = DecodeForm::of(axes, schedule, signature);
    if (form.serves)
      decode.emplace(schedule, axes, signature);
    shape.decodeQueries = form.serves && form.hasPrefill ? schedule.getDecodeQueries() : 0;
  }

  Value prefillCount(FunctionScope &f) {
    if (!form.hasPrefill)
      return f.i64(0);
    Value blocks = blocksFor(f, axes, shape, axes.lane ? f.extent(axes.lane) : Value());
    return form.whereMany(f, f.mul(f.ceilDiv(blocks, blocksPerTask(f, axes, shape, blocks)), f.extent(axes.batch)));
  }

  Value decodeCount(FunctionScope &f) {
    return form.whereFew(f, f.mul(f.extent(axes.batch), DecodeTask::chunkCount(f, axes, *decode)));
  }

  FlashOp flash;
  FlashAxes axes;
  FlashShape shape;
  DecodeForm form;
  std::optional<DecodeShape> decode; ///< nothing: the form is not emitted
};
} // namespace

std::unique_ptr<StageLowering> attn::makeFlashLowering(StageOp stage) { return std::make_unique<FlashLowering>(stage); }
