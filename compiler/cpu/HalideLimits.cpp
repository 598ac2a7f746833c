//===- HalideLimits.cpp - what Halide can count -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "compiler/cpu/HalideStage.h"
#include "compiler/cpu/HalideTask.h"

using namespace mlir;
using namespace attn;

namespace {
/// Collects the conditions for what Halide counts in i32.
class Limits {
public:
  explicit Limits(FunctionScope &f)
      : f(f), fits(arith::ConstantOp::create(f.builder(), f.loc(), f.builder().getBoolAttr(true))) {}

  void addPlan(const StagePlan &plan, int64_t decodeQueries) {
    for (const PlanScalar &scalar : plan.scalars)
      if (scalar.number == PlanNumber::Extent)
        within(extent(scalar.axis), mostAlongAxis);
    for (const PlanTensor &tensor : plan.tensors)
      for (int64_t factor : tensor.factors) {
        const Access &access = f.access(refOf(f, tensor.ref));
        within(access.strides[factor], mostElements);
        within(f.extent(access.factors[factor]), mostElements);
      }
    if (plan.part == PlanPart::Product)
      return addProduct(plan);
    bool onDevice = plan.part == PlanPart::Device;
    for (const PlanTensor &tensor : plan.tensors) // A copy is addressed as a whole.
      if (onDevice)
        within(elementsOf(f.access(refOf(f, tensor.ref))), mostElements);
    // Memory of a task has rows of queries and rows of keys, rounded up.
    Value rows = plan.part == PlanPart::Tile ? f.i64(plan.queryTile + plan.keyTile) : queriesOf(plan, onDevice ? mostAlongAxis : decodeQueries);
    auto addRows = [&](const std::string &axis) {
      Value length = f.add(f.min(extent(axis), f.i64(mostAlongAxis)), f.i64(4 * plan.lanes * plan.vectors));
      within(f.mul(f.add(rows, f.i64(plan.queryTile + plan.keyTile)), length), mostElements);
    };
    for (const PlanTerm &term : plan.terms)
      addRows(term.over);
    for (const PlanMix &mix : plan.mixes)
      addRows(mix.width);
    within(f.mul(rows, f.i64(std::max<int64_t>(plan.chunk, 1))), mostElements);
  }
  Value all() const { return fits; }

private:
  static constexpr int64_t mostAlongAxis = int64_t(1) << 27, mostElements = int64_t(1) << 31;

  Value extent(const std::string &axis) { return f.extent(nameIn(f, axis)); }

  /// Queries that share a chunk, where so few take it; kept below what overflows.
  Value queriesOf(const StagePlan &plan, int64_t decodeQueries) {
    Value count = f.i64(1);
    for (auto [i, axis] : llvm::enumerate(plan.queries)) {
      bool isLast = i + 1 == plan.queries.size();
      Value along = f.min(extent(axis.name), f.i64(isLast ? std::min(decodeQueries, mostAlongAxis) : mostAlongAxis));
      count = f.min(f.mul(count, along), f.i64(mostElements));
    }
    return count;
  }

  /// Rows, slots and the depth are counted together; a task's panel, rows and sums lie in memory.
  void addProduct(const StagePlan &plan) {
    for (const std::vector<PlanAxis> *axes : {&plan.queries, &plan.columns, &plan.depth}) {
      Value count = f.i64(1);
      for (const PlanAxis &axis : *axes)
        count = f.min(f.mul(count, f.min(extent(axis.name), f.i64(mostAlongAxis))), f.i64(mostElements));
      within(count, mostElements / 2);
    }
    int64_t block = plan.lanes * plan.vectors;
    Value lane = f.min(extent(plan.columns.back().name), f.i64(mostAlongAxis)); // Whole rows, as many as fill blocks.
    within(f.mul(f.add(lane, f.i64(block)), f.i64(plan.vectors * (plan.queryTile + plan.rows))), mostElements);
  }

  Value elementsOf(const Access &access) {
    Value count = f.i64(1);
    for (ExtentAttr factor : access.factors)
      count = f.min(f.mul(count, f.min(f.extent(factor), f.i64(mostElements))), f.i64(mostElements));
    return count;
  }

  void within(Value value, int64_t limit) {
    OpBuilder &b = f.builder();
    Value below = arith::CmpIOp::create(b, f.loc(), arith::CmpIPredicate::slt, value, f.i64(limit));
    Value above = arith::CmpIOp::create(b, f.loc(), arith::CmpIPredicate::sgt, value, f.i64(-limit));
    fits = arith::AndIOp::create(b, f.loc(), fits, arith::AndIOp::create(b, f.loc(), below, above));
  }

  FunctionScope &f;
  Value fits;
};
} // namespace

Value attn::emitFits(FunctionScope &f, ArrayRef<StageOp> stages) {
  Limits limits(f);
  for (StageOp stage : stages)
    if (auto plans = plansOf(stage); succeeded(plans)) // Else it was said when the stage was prepared.
      for (const StagePlan &plan : *plans)
        limits.addPlan(plan, stage.getSchedule().getDecodeQueries());
  return limits.all();
}
