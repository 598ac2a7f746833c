//===- NestStage.cpp - plain vectorised loops -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A nest stores values over one domain: the innermost stored axis runs along the lanes,
// the others are rows. Reductions inside are loops at each point. Rows are counted over
// the largest extents of ragged axes; those that do not exist are passed over.
//===----------------------------------------------------------------------===//
#include "compiler/cpu/Contraction.h"
#include "compiler/cpu/Packing.h"
#include "compiler/cpu/StageLowering.h"

using namespace mlir;
using namespace attn;

namespace {
class NestLowering : public StageLowering {
public:
  using StageLowering::StageLowering;

  LogicalResult prepare(const FrameLayout &layout) override;
  Value emitTaskCount(FunctionScope &f) override { return f.ceilDiv(f.extent(rows), f.i64(rowsPerTask)); }
  Value emitScratchBytes(FunctionScope &f) override { return f.i64(0); }
  LogicalResult emitTask(FunctionScope &f, Value task) override;

private:
  /// Rows that a task computes, so that short rows do not drown in calls.
  static constexpr int64_t rowsPerTask = 16;

  void emitRow(FunctionScope &f, Expressions &expressions);
  void bindRows(FunctionScope &f, Expressions &expressions, ArrayRef<Value> indices, bool exist);
  void emitWrites(Expressions &expressions) {
    for (WriteOp write : stage.getBody().getOps<WriteOp>())
      expressions.write(write);
  }

  AxisList rows;
  /// Null when nothing is stored along an axis.
  StringAttr lane;
};
} // namespace

LogicalResult NestLowering::prepare(const FrameLayout &layout) {
  SmallVector<WriteOp> writes(stage.getBody().getOps<WriteOp>());
  if (writes.empty())
    return stage.emitError("a stage that stores nothing");
  rows = inStoredOrder(unionOfAxes(writes.front().getIndices()), writes.front().getIndices());
  for (WriteOp write : writes)
    if (unionOfAxes(write.getIndices()) != unionOfAxes(writes.front().getIndices()))
      return write.emitError("the CPU back end stores values over one set of axes in a stage");
  if (!rows.empty())
    lane = rows.pop_back_val();
  return success();
}

/// Rows whose existence the lane axis decides are left to masks.
void NestLowering::bindRows(FunctionScope &f, Expressions &expressions, ArrayRef<Value> indices, bool exist) {
  for (auto [axis, index] : llvm::zip(rows, indices))
    expressions.bind(axis, index);
  for (StringAttr axis : rows)
    if (exist && f.getLayout().isRagged(axis) && !llvm::is_contained(f.getLayout().dependsOn(axis), lane))
      expressions.markExisting(axis);
}

void NestLowering::emitRow(FunctionScope &f, Expressions &expressions) {
  if (!lane)
    return emitWrites(expressions);
  int64_t lanes = expressions.getLanes();
  Value extent = expressions.extentAt(lane);
  std::optional<int64_t> known = f.constantExtent(lane);
  f.loop(f.i64(0), extent, f.i64(lanes), [&](Value first) {
    Value mask = !known || *known % lanes ? maskBelow(f, first, extent, lanes) : Value();
    expressions.enter(first.getParentBlock()->getParentOp());
    expressions.bindLanes(lane, {first}, {mask});
    if (f.getLayout().isRagged(lane))
      expressions.markExisting(lane);
    if (Value exists = expressions.existence(rows))
      expressions.bindLanes(lane, {first}, {expressions.both(mask, exists)});
    emitWrites(expressions);
    expressions.leave();
  });
}

LogicalResult NestLowering::emitTask(FunctionScope &f, Value task) {
  Expressions expressions(f, schedule.getLanes());
  FunctionScope::Values counts;
  for (StringAttr axis : rows)
    counts.push_back(f.extent(axis));
  Value first = f.mul(task, f.i64(rowsPerTask));
  Value last = f.min(f.add(first, f.i64(rowsPerTask)), f.extent(rows));
  f.loop(first, last, f.i64(1), [&](Value row) {
    FunctionScope::Values indices = splitTask(f, row, counts);
    expressions.enter(row.getParentBlock()->getParentOp());
    bindRows(f, expressions, indices, /*exist=*/false);
    Value exists = expressions.existence(rows);
    expressions.leave();
    auto emit = [&] {
      expressions.enter(f.builder().getInsertionBlock()->getParentOp());
      bindRows(f, expressions, indices, /*exist=*/true);
      emitRow(f, expressions);
      expressions.leave();
    };
    if (exists)
      f.when(exists, emit);
    else
      emit();
  });
  return failure(expressions.failed());
}

std::unique_ptr<StageLowering> attn::makeNestLowering(StageOp stage) { return std::make_unique<NestLowering>(stage); }
