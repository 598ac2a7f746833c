//===- Plan.cpp - from a stage to a plan ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/halide/Plan.h"

#include "compiler/cpu/DecodeForm.h"
#include "compiler/cpu/FlashDecode.h"
#include "compiler/halide/PlanExpressions.h"
#include "compiler/halide/ProductPlan.h"
#include "dialects/attn/FlashWeights.h"

using namespace mlir;
using namespace attn;

namespace {
class FlashPlanner {
public:
  FlashPlanner(StageOp stage, FlashOp flash, const FlashAxes &axes)
      : stage(stage), flash(flash), axes(axes), layout(cast<KernelOp>(Signature::around(stage))),
        expressions(plan, layout) {}

  llvm::Expected<StagePlan> run(llvm::StringRef symbol, PlanPart part) {
    plan.symbol = symbol.str();
    plan.part = part;
    plan.softmax = flash.getNormalizer() == Normalizer::Softmax;
    if (part == PlanPart::Device)
      setDevice();
    else if (part == PlanPart::Tile)
      setTile();
    else
      setChunk();
    for (auto step : {&FlashPlanner::checkShape, &FlashPlanner::addTerms, &FlashPlanner::addScore,
                      &FlashPlanner::addRanges, &FlashPlanner::addMixes, &FlashPlanner::addStores})
      if (llvm::Error error = (this->*step)())
        return std::move(error);
    return std::move(plan);
  }

private:
  /// Sets a field to the node of a value.
  llvm::Error set(int64_t &field, Value value) {
    llvm::Expected<int64_t> node = expressions.node(value);
    if (!node)
      return node.takeError();
    field = *node;
    return llvm::Error::success();
  }

  void addQueries(StringAttr axis) { plan.queries.push_back({axis.str(), expressions.extentScalar(axis)}); }

  void setTile() {
    ScheduleAttr schedule = stage.getSchedule();
    plan.lanes = schedule.getLanes();
    plan.vectors = axes.lane ? schedule.getVectors() : 1;
    plan.rows = schedule.getRows();
    int64_t width = plan.lanes * plan.vectors;
    plan.queryTile = std::max<int64_t>(1, schedule.getQueryTile() / width) * width;
    plan.keyTile = std::max<int64_t>(1, schedule.getKeyTile() / plan.rows) * plan.rows;
    for (StringAttr axis : llvm::concat<const StringAttr>(axes.batch, axes.rows))
      plan.tasks.push_back(axis.str());
    if (axes.lane)
      addQueries(axes.lane);
  }

  void setDevice() {
    ScheduleAttr schedule = stage.getSchedule();
    plan.lanes = plan.vectors = 1;
    plan.rows = schedule.getRows();
    plan.queryTile = schedule.getQueryTile();
    plan.keyTile = schedule.getKeyTile();
    for (StringAttr axis : llvm::concat<const StringAttr>(axes.batch, axes.rows))
      addQueries(axis);
    if (axes.lane)
      addQueries(axes.lane);
  }

  void setChunk() {
    DecodeShape shape(stage.getSchedule(), axes, layout.getSignature());
    plan.lanes = shape.lanes;
    plan.vectors = shape.block.vectors;
    plan.rows = shape.block.keys;
    plan.queryTile = shape.block.queries;
    plan.keyTile = shape.tile;
    plan.chunk = shape.chunk;
    for (StringAttr axis : axes.batch)
      plan.tasks.push_back(axis.str());
    for (StringAttr axis : axes.rowAxes())
      addQueries(axis);
  }

  llvm::Error checkShape() {
    if (axes.keys.size() != 1)
      return cannotSay("keys over several axes");
    if (!plan.softmax)
      return cannotSay("weights that are not normalised");
    if (weightOf(flash))
      return cannotSay("weights that are changed before they are mixed");
    for (AxisAttr axis : layout.getSignature().axes)
      if (axis.isRagged())
        return cannotSay("the ragged axis " + axis.getName().getValue());
    for (StringAttr width : axes.widths)
      if (width != axes.widths.front())
        return cannotSay("values of several widths");
    plan.key = {axes.keys.front().str(), expressions.extentScalar(axes.keys.front())};
    return llvm::Error::success();
  }

  llvm::Error addTerms() {
    for (auto [i, query] : llvm::enumerate(flash.getQueries())) {
      PlanTerm term;
      term.over = axes.contracted[i].str();
      term.extent = expressions.extentScalar(axes.contracted[i]);
      if (llvm::Error error = set(term.query, query))
        return error;
      if (llvm::Error error = set(term.key, flash.getKeys()[i]))
        return error;
      plan.terms.push_back(term);
    }
    return llvm::Error::success();
  }

  llvm::Error addScore() {
    for (BlockArgument term : flash.getBody().front().getArguments())
      expressions.give(term, "term", term.getArgNumber());
    FlashScore score(flash, axes);
    // A factor that is absent somewhere makes the score absent, not 0.
    if (score.queryFactor && !expressions.mayBeAbsent(score.queryFactor))
      if (llvm::Error error = set(plan.queryFactor, score.queryFactor))
        return error;
    if (flash.getMask())
      if (llvm::Error error = set(plan.mask, flash.getMask()))
        return error;
    if (flash.getSink())
      if (llvm::Error error = set(plan.sink, flash.getSink()))
        return error;
    return set(plan.score, flash.getScore());
  }

  llvm::Error addRanges() {
    for (unsigned i = 0; i < flash.getNumRanges(); ++i) {
      PlanRange range;
      if (Value lower = flash.getLowerOf(i))
        if (llvm::Error error = set(range.lower, lower))
          return error;
      if (Value upper = flash.getUpperOf(i))
        if (llvm::Error error = set(range.upper, upper))
          return error;
      plan.ranges.push_back(range);
    }
    return llvm::Error::success();
  }

  llvm::Error addMixes() {
    for (auto [i, value] : llvm::enumerate(flash.getValues())) {
      PlanMix mix;
      mix.width = axes.widths[i].str();
      mix.extent = expressions.extentScalar(axes.widths[i]);
      if (llvm::Error error = set(mix.value, value))
        return error;
      plan.mixes.push_back(mix);
      expressions.give(flash.getOutputs()[i], "mix", i);
    }
    if (flash.getLogsumexp())
      expressions.give(flash.getOutputs().back(), "logsumexp", 0);
    return llvm::Error::success();
  }

  llvm::Error addStores() {
    for (WriteOp write : stage.getBody().getOps<WriteOp>()) {
      PlanStore store;
      if (llvm::Error error = set(store.value, write.getValue()))
        return error;
      if (write.getCondition())
        if (llvm::Error error = set(store.condition, write.getCondition()))
          return error;
      if (llvm::Error error = addPlace(write, store))
        return error;
      plan.stores.push_back(store);
    }
    return llvm::Error::success();
  }

  bool isQueries(StringAttr axis) const {
    return llvm::any_of(plan.queries, [&](const PlanAxis &queries) { return queries.name == axis.getValue(); });
  }

  /// Results lie at the indices of their axes; a stage reads nothing that it writes.
  llvm::Error addPlace(WriteOp write, PlanStore &store) {
    auto argument = dyn_cast<BlockArgument>(write.getRef());
    if (argument && layout.getSignature().args[argument.getArgNumber()].getMode() == Mode::InOut)
      return cannotSay("writing into an inout from an attention");
    for (ReadOp read : stage.getBody().getOps<ReadOp>())
      if (read.getRef() == write.getRef())
        return cannotSay("a tensor that its own stage reads");
    llvm::Expected<int64_t> tensor = expressions.tensor(write.getRef(), write.getIndices());
    if (!tensor)
      return tensor.takeError();
    store.tensor = *tensor;
    SmallVector<ExtentAttr> factors = write.getRef().getType().getFactors();
    for (int64_t factor : plan.tensors[*tensor].factors) {
      StringAttr axis = expressions.ownAxis(write.getIndices()[factor], factors[factor]);
      bool isPlace = axis && (isQueries(axis) || llvm::is_contained(axes.widths, axis));
      if (!isPlace || llvm::is_contained(store.dims, axis.str()))
        return cannotSay("a result at a computed place");
      store.dims.push_back(axis.str());
    }
    for (const PlanAxis &axis : plan.queries)
      if (!llvm::is_contained(store.dims, axis.name))
        return cannotSay("a result without the axis " + axis.name);
    // A stage without an axis of queries has one query.
    if (plan.queries.empty())
      store.dims.insert(store.dims.begin(), "");
    return checkStored(write);
  }

  StageOp stage;
  FlashOp flash;
  const FlashAxes &axes;
  FrameLayout layout;
  StagePlan plan;
  PlanExpressions expressions;
};
} // namespace

llvm::Expected<std::vector<StagePlan>> attn::makePlans(StageOp stage, llvm::StringRef symbol, bool onDevice) {
  if (stage.getKind() == StageKind::Contract)
    return makeProductPlan(stage, symbol);
  FlashOp flash = *stage.getBody().getOps<FlashOp>().begin();
  Signature signature(Signature::around(stage));
  std::string why;
  ScopedDiagnosticHandler handler(stage.getContext(), [&](Diagnostic &diagnostic) { why = diagnostic.str(); });
  FailureOr<FlashAxes> axes = FlashAxes::of(flash, signature);
  if (failed(axes))
    return llvm::createStringError(why);
  if (onDevice) {
    auto plan = FlashPlanner(stage, flash, *axes).run((symbol + ".device").str(), PlanPart::Device);
    if (!plan)
      return plan.takeError();
    return std::vector<StagePlan>{std::move(*plan)};
  }
  DecodeForm form = DecodeForm::of(*axes, stage.getSchedule(), signature);
  std::vector<StagePlan> plans;
  for (PlanPart part : {PlanPart::Tile, PlanPart::Chunk}) {
    bool isTile = part == PlanPart::Tile;
    if (isTile ? !form.hasPrefill : !form.serves)
      continue;
    auto plan = FlashPlanner(stage, flash, *axes).run((symbol + (isTile ? ".tile" : ".chunk")).str(), part);
    if (!plan)
      return plan.takeError();
    plans.push_back(std::move(*plan));
  }
  return plans;
}
