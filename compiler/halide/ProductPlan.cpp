//===- ProductPlan.cpp - from a product to a plan -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/halide/ProductPlan.h"

#include "compiler/cpu/ContractStage.h"
#include "compiler/halide/PlanExpressions.h"

using namespace mlir;
using namespace attn;

namespace {
class ProductPlanner {
public:
  ProductPlanner(StageOp stage, const FrameLayout &layout, ContractPlan product)
      : stage(stage), layout(layout), product(std::move(product)), expressions(plan, layout) {}

  llvm::Expected<std::vector<StagePlan>> run(llvm::StringRef symbol) {
    plan.symbol = (symbol + ".product").str();
    plan.part = PlanPart::Product;
    plan.lanes = product.lanes;
    plan.vectors = product.vectors;
    plan.rows = product.rows;
    plan.keyTile = product.depthTile;
    plan.queryTile = product.mostStripRows();
    for (StringAttr axis : product.product.batch)
      plan.tasks.push_back(axis.str());
    addAxes(plan.queries, product.product.rows);
    addAxes(plan.columns, product.product.outerColumns);
    addAxes(plan.columns, product.product.lane);
    addAxes(plan.depth, product.product.depth);
    for (auto step : {&ProductPlanner::checkShape, &ProductPlanner::addSides, &ProductPlanner::addStores})
      if (llvm::Error error = (this->*step)())
        return std::move(error);
    return std::vector<StagePlan>{std::move(plan)};
  }

private:
  void addAxes(std::vector<PlanAxis> &to, ArrayRef<StringAttr> axes) {
    for (StringAttr axis : axes)
      to.push_back({axis.str(), expressions.extentScalar(axis)});
  }

  llvm::Error checkShape() {
    for (AxisAttr axis : layout.getSignature().axes)
      if (axis.isRagged())
        return cannotSay("the ragged axis " + axis.getName().getValue());
    if (product.panels)
      return cannotSay("weights in packed panels");
    for (Value side : {product.product.left, product.product.right})
      if (expressions.mayBeAbsent(side))
        return cannotSay("a side of a product that may be absent");
    return llvm::Error::success();
  }

  /// A left side whose depth lies in one run is read along that.
  llvm::Error addSides() {
    PlanTerm term;
    for (StringAttr axis : product.product.depth)
      term.over += (term.over.empty() ? "" : " ") + axis.str();
    bool isRun = product.product.addressable && product.product.depth.size() > 1;
    auto left = isRun ? expressions.readRun(product.product.addressable, product.product.depth, term.over)
                      : expressions.node(product.product.left);
    if (!left)
      return left.takeError();
    auto right = expressions.node(product.product.right);
    if (!right)
      return right.takeError();
    term.query = *left;
    term.key = *right;
    plan.terms.push_back(term);
    expressions.give(product.product.op.getResult(), "product", 0);
    return llvm::Error::success();
  }

  llvm::Error addStores() {
    for (WriteOp write : product.writes) {
      if (llvm::Error error = checkStored(write))
        return error;
      for (ReadOp read : stage.getBody().getOps<ReadOp>())
        if (read.getRef() == write.getRef())
          return cannotSay("a tensor that its own stage reads");
      PlanStore store;
      llvm::Expected<int64_t> value = expressions.node(write.getValue());
      if (!value)
        return value.takeError();
      store.value = *value;
      if (write.getCondition()) {
        llvm::Expected<int64_t> condition = expressions.node(write.getCondition());
        if (!condition)
          return condition.takeError();
        store.condition = *condition;
      }
      llvm::Expected<int64_t> tensor = expressions.tensor(write.getRef(), write.getIndices());
      if (!tensor)
        return tensor.takeError();
      store.tensor = *tensor;
      auto place = expressions.place(*tensor, write.getRef(), write.getIndices());
      if (!place)
        return place.takeError();
      store.place = std::move(*place);
      auto argument = dyn_cast<BlockArgument>(write.getRef());
      store.keepsAbsent = argument && layout.getSignature().args[argument.getArgNumber()].getMode() == Mode::InOut;
      plan.stores.push_back(std::move(store));
    }
    return llvm::Error::success();
  }

  StageOp stage;
  const FrameLayout &layout;
  ContractPlan product;
  StagePlan plan;
  PlanExpressions expressions;
};
} // namespace

bool attn::isProduct(StageOp stage) {
  std::string why;
  return ContractPlan::of(stage, FrameLayout(cast<KernelOp>(Signature::around(stage))), why).has_value();
}

llvm::Expected<std::vector<StagePlan>> attn::makeProductPlan(StageOp stage, llvm::StringRef symbol) {
  FrameLayout layout(cast<KernelOp>(Signature::around(stage)));
  std::string why;
  std::optional<ContractPlan> product = ContractPlan::of(stage, layout, why);
  if (!product)
    return cannotSay(why);
  return ProductPlanner(stage, layout, std::move(*product)).run(symbol);
}
