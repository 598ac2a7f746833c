//===- Product.h - a matrix product as Halide Funcs -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The algorithm of one task of a contract stage, and its schedule: some rows by some slots. A slot is a vector of columns:
// `lanes` of them along the last axis, within one row of the others; so narrow heads share a register block.
//===----------------------------------------------------------------------===//
#ifndef ATTN_SCHEDULES_HALIDE_PRODUCT_H
#define ATTN_SCHEDULES_HALIDE_PRODUCT_H

#include "schedules/halide/StageParts.h"

namespace attn {

/// Sums are formed in parts of `keyTile` products, which are added in their order. What follows a sum is computed when all sums
/// of the task are there, and is written to its place, which may be any; where rotations or reductions follow, a task has whole
/// rows along the last axis of columns.
class ProductPipeline : public StageParts {
public:
  explicit ProductPipeline(const StagePlan &plan);

  void schedule() override;
  /// The part's own: the first row and slot, how many of both, and whether rows of columns fill a slot.
  std::vector<Halide::Argument> arguments() const override;
  Expr largestExtent(size_t, int) const override { return 1; }
  std::map<std::string, Expr> largestParams() const override;
  /// Rows and slots of a task, the first and how many, for programs that run it in their own process.
  void setPart(std::pair<int, int> rowsHere, std::pair<int, int> slotsHere, bool isWideHere);

private:
  // Product.cpp: what is computed.
  void defineRows();
  void defineOperands();
  void defineSums();
  void defineReductions();
  void defineResult(const PlanStore &store);

  const std::string &laneAxis() const { return plan.columns.back().name; }
  Expr laneExtent() const { return inputs.extent(plan.columns.back().extent); }
  std::vector<PlanAxis> outerColumns() const { return {plan.columns.begin(), plan.columns.end() - 1}; }
  Expr depthExtent() const { return countOf(plan.depth); }
  /// Points of a part in memory: whole vectors of them, and at least one.
  Expr partExtent() const { return (max(min(tile, depthExtent()), 1) + lanes - 1) / lanes * lanes; }
  /// Of a task: a register block's, or as many whole rows along the lane axis as fill register blocks.
  Expr mostSlots() const;
  Expr slotsPerRow() const { return (laneExtent() + lanes - 1) / lanes; }
  /// Whether rows are known to be so many whole slots.
  bool areSlotsWhole() const;
  /// Whether a row along the lane axis has a whole slot: a number of its own, as lowering simplifies by what it knows of that.
  Expr isWide() const;
  /// The last slot of a row ends with it: it repeats columns of the one before, where there is one.
  Expr firstColumn(const Expr &slotOfRow) const;
  Expr column(const Expr &slot, const Expr &lane) const;
  /// Whether a column belongs to the slot; undefined: always.
  Expr isOwn(const Expr &slot, const Expr &lane) const;
  Expr slotAt(const Expr &number) const;
  Expr rowAt(const Expr &number) const;
  void bindRow(Points &points, const Expr &row) const;
  /// What follows the product, at a row and one of the task's rows of columns.
  Points pointsAt(const Expr &row, const Expr &outer, const Expr &columnIndex, Points::Given sum) const;
  /// The sum at any column of one of the task's rows of columns.
  Expr sumAt(const Expr &row, const Expr &outer, const Expr &columnIndex) const;
  void giveReductions(Points &points, const Expr &row, const Expr &outer) const;

  // ProductSchedule.cpp: how.
  void scheduleOperands();
  void schedulePanel();
  /// Where the columns' points lie side by side; undefined where nothing tells.
  Expr arePointsDense() const;
  /// Where all that `node` reads in a slotlies side by side; undefined where nothing tells.
  Expr isDense(int64_t node) const;
  void scheduleSums();
  void scheduleResult(size_t i);

  Halide::Param<int32_t> firstRow{"first_row"}, rowCount{"rows"}, firstSlot{"first_slot"}, slotCount{"slots"};
  Halide::Param<bool> wide{"wide"};
  Halide::Var l{"l"}, s{"s"}, x{"x"}, d{"d"}, t{"t"}, o{"o"};
  int lanes, vectors, rows, tile;
  Halide::RDom products, parts;
  std::vector<Halide::RDom> results;
  Func left{"left"}, columns{"columns"}, panel{"panel"}, sums{"sums"}, all{"all"};
  std::vector<Func> rowIndices, reduced;
};

} // namespace attn

#endif // ATTN_SCHEDULES_HALIDE_PRODUCT_H
