//===- ContractStage.cpp - matrix products ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "compiler/cpu/ContractStage.h"
#include "compiler/Remarks.h"
#include "compiler/cpu/RowEpilogue.h"

using namespace mlir;
using namespace attn;

/// Packing a panel costs about as much as 24 rows of products: past this many, 2 % of the time.
static constexpr int64_t mostRows = 1024;
/// As many rows as lose more by packing a panel than they gain. Their sums and a block of the panel fill the registers.
static constexpr int64_t mostFewRows = 4;
/// Sums that wait for what needs whole rows: half of a megabyte stays in L2 beside the panel.
static constexpr int64_t mostSums = 1 << 17;

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

Value ContractPlan::extentOf(FunctionScope &f, ArrayRef<StringAttr> axes) const {
  return f.extent(axes);
}

Value ContractPlan::slotsPerRow(FunctionScope &f) const { return f.ceilDiv(f.extent(product.lane), f.i64(lanes)); }

Value ContractPlan::slotCount(FunctionScope &f) const { return f.mul(extentOf(f, product.outerColumns), slotsPerRow(f)); }

/// So many that they fill whole panels.
Value ContractPlan::groupRows(FunctionScope &f) const {
  Value rest = f.min(f.rem(slotsPerRow(f), f.i64(vectors)), f.i64(1));
  return f.add(f.i64(1), f.mul(rest, f.i64(vectors - 1)));
}

Value ContractPlan::groupPanels(FunctionScope &f) const {
  return needsRows() ? f.div(f.mul(groupRows(f), slotsPerRow(f)), f.i64(vectors)) : f.i64(1);
}

Value ContractPlan::groupCount(FunctionScope &f) const {
  if (needsRows())
    return f.mul(f.ceilDiv(extentOf(f, product.outerColumns), groupRows(f)), f.min(f.extent(product.lane), f.i64(1)));
  return f.ceilDiv(slotCount(f), f.i64(vectors));
}

Value ContractPlan::stripRows(FunctionScope &f) const {
  Value others = f.mul(extentOf(f, product.batch), groupCount(f));
  Value cuts = f.ceilDiv(f.enoughTasks(), f.max(others, f.i64(1)));
  Value wanted = f.ceilDiv(extentOf(f, product.rows), cuts);
  wanted = f.max(f.min(wanted, f.i64(mostRows)), f.i64(leastRows));
  if (needsRows())
    wanted = f.max(f.min(wanted, f.div(f.i64(mostSums), f.max(groupWidth(f), f.i64(1)))), f.i64(1));
  return f.mul(f.ceilDiv(wanted, f.i64(rows)), f.i64(rows));
}

int64_t ContractPlan::mostStripRows() const { return llvm::alignTo(std::max(mostRows, leastRows), rows); }

Value ContractPlan::stripCount(FunctionScope &f) const {
  return f.ceilDiv(extentOf(f, product.rows), stripRows(f));
}

Value ContractPlan::taskCount(FunctionScope &f) const {
  return f.mul(extentOf(f, product.batch), f.mul(stripCount(f), groupCount(f)));
}

ContractPlan::Part ContractPlan::partOf(FunctionScope &f, Value task) const {
  FunctionScope::Values counts;
  for (StringAttr axis : product.batch)
    counts.push_back(f.extent(axis));
  counts.push_back(stripCount(f));
  counts.push_back(groupCount(f));
  FunctionScope::Values indices = splitTask(f, task, counts);
  Value rows = stripRows(f), first = f.mul(indices[product.batch.size()], rows);
  Value end = f.min(f.add(first, rows), extentOf(f, product.rows));
  return {FunctionScope::Values(ArrayRef(indices).take_front(product.batch.size())), first, end, indices.back()};
}

Value ContractPlan::depthStep(FunctionScope &f) const {
  DepthRange all{product.depth, {}, {}};
  Value step = f.div(f.i64(depthTile), f.max(all.inner(f), f.i64(1)));
  return f.min(f.max(step, f.i64(lanes)), f.max(f.extent(product.depth.front()), f.i64(1)));
}

/// At least one: the sum of nothing is stored too.
Value ContractPlan::depthBlocks(FunctionScope &f) const {
  return f.max(f.ceilDiv(f.extent(product.depth.front()), depthStep(f)), f.i64(1));
}

ContractScratch::ContractScratch(FunctionScope &f, const ContractPlan &plan) {
  Value width = f.i64(plan.width());
  Value points = f.mul(plan.depthStep(f), DepthRange{plan.product.depth, {}, {}}.inner(f));
  panel = f.i64(plan.lanes * plan.width());
  left = f.add(panel, f.mul(points, width));
  // Whole cache lines, and what packing a row writes behind it.
  leftPitch = f.mul(f.ceilDiv(f.add(points, f.i64(plan.lanes)), f.i64(16)), f.i64(16));
  tile = f.add(left, f.mul(leftPitch, f.i64(plan.rows)));
  strip = f.add(tile, f.i64(plan.rows * plan.width()));
  Value isKept = plan.needsRows() || plan.fewRows ? f.i64(1) : f.min(f.sub(plan.depthBlocks(f), f.i64(1)), f.i64(1));
  rows = f.add(strip, f.mul(isKept, f.mul(plan.stripRows(f), plan.groupWidth(f))));
  // The last vectors of a row reach past its end.
  rowPitch = f.mul(f.add(plan.slotsPerRow(f), f.i64(2)), f.i64(plan.lanes));
  size = plan.needsRows() ? f.add(rows, f.mul(rowPitch, f.i64(RowEpilogue::buffersPerOp * plan.product.rowOps.size() + 1))) : rows;
}

//===----------------------------------------------------------------------===//
// The stage
//===----------------------------------------------------------------------===//

namespace {
class ContractLowering : public StageLowering {
public:
  using StageLowering::StageLowering;

  LogicalResult prepare(const FrameLayout &layout) override;

  Value emitTaskCount(FunctionScope &f) override {
    return nest ? nest->emitTaskCount(f) : plan.taskCount(f);
  }
  Value emitScratchBytes(FunctionScope &f) override {
    return nest ? nest->emitScratchBytes(f) : f.mul(ContractScratch(f, plan).size, f.i64(4));
  }
  LogicalResult emitTask(FunctionScope &f, Value task) override {
    return nest ? nest->emitTask(f, task) : ContractTask(f, plan).emit(task);
  }

private:
  ContractPlan plan;
  /// Lowers what is no such product.
  std::unique_ptr<StageLowering> nest;
};
} // namespace

std::optional<ContractPlan> ContractPlan::of(StageOp stage, const FrameLayout &layout, std::string &why) {
  std::optional<Contraction> found = Contraction::find(stage, layout, why);
  if (found && llvm::any_of(valueType(found->right).getAxes(), [&](StringAttr a) { return layout.isRagged(a); })) {
    why = "its columns are ragged";
    found.reset();
  }
  if (!found)
    return std::nullopt;
  ScheduleAttr schedule = stage.getSchedule();
  ContractPlan plan;
  plan.product = *found;
  llvm::append_range(plan.writes, stage.getBody().getOps<WriteOp>());
  plan.lanes = schedule.getLanes();
  plan.vectors = schedule.getVectors();
  plan.panels = StoredPanels::find(*found, layout, plan.lanes, plan.vectors);
  plan.rows = found->rows.empty() ? 1 : schedule.getRows();
  plan.leastRows = std::max<int64_t>(schedule.getKeyTile(), 1);
  plan.depthTile = schedule.getDepthTile();
  int64_t known = 1;
  for (StringAttr axis : found->rows)
    known *= constantExtent(layout.getSignature(), axis).value_or(1);
  plan.fewRows = known > mostFewRows ? 0 : std::min(mostFewRows, plan.rows);
  return plan;
}

LogicalResult ContractLowering::prepare(const FrameLayout &layout) {
  std::string why;
  if (std::optional<ContractPlan> found = ContractPlan::of(stage, layout, why)) {
    plan = std::move(*found);
    return success();
  }
  remarkMissed(stage.getLoc(), "this contraction is computed point by point", why);
  nest = makeNestLowering(stage);
  return nest->prepare(layout);
}

std::unique_ptr<StageLowering> attn::makeContractLowering(StageOp stage) {
  return std::make_unique<ContractLowering>(stage);
}
