//===- StageSchedules.cpp - a schedule for each stage -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "compiler/decide/StageSchedules.h"
#include "compiler/optimize/Expressions.h"
#include "compiler/optimize/ProductElements.h"
#include "schedules/CostModel.h"

using namespace mlir;
using namespace attn;

StageKind attn::stageKind(StageShape kind) {
  return kind == StageShape::Nest ? StageKind::Nest : kind == StageShape::Flash ? StageKind::Flash : StageKind::Contract;
}

static StageShape stageShape(StageKind kind) {
  return kind == StageKind::Nest ? StageShape::Nest : kind == StageKind::Flash ? StageShape::Flash : StageShape::Contract;
}

FailureOr<ScheduleAttr> ScheduleChooser::choose(Location loc, StringRef kernel, StringRef name, const StageFacts &facts) {
  const StageSchedule *found = findSchedule(given, kernel, name, facts.kind);
  Route said = found ? found->schedule.route : Route::Unsaid;
  Schedule schedule = chooseSchedule(facts, target, said == Route::Unsaid ? wanted : said);
  if (found) {
    used[found - given.data()] = true;
    schedule = completed(found->schedule, schedule);
    if (llvm::Error error = validate(schedule, facts, target)) {
      emitError(loc) << "the schedule of stage '" << name << "' (" << stageShapeName(facts.kind) << ") of " << kernel
                     << " cannot work: " << llvm::toString(std::move(error));
      return failure();
    }
  }
  auto named = [&](StringRef choice) { return choice.empty() ? StringAttr() : StringAttr::get(loc.getContext(), choice); };
  return ScheduleAttr::get(loc.getContext(), schedule.lanes, schedule.vectors, schedule.rows, schedule.queryTile,
                           schedule.keyTile, schedule.depthTile, schedule.decodeQueries, schedule.decodeChunk,
                           named(routeName(schedule.route)), named(productsName(schedule.products)));
}

LogicalResult ScheduleChooser::checkAllUsed(ModuleOp module) const {
  for (auto [stage, wasUsed] : llvm::zip(given, used)) {
    if (wasUsed)
      continue;
    auto error = emitError(module.getLoc(), "no stage is meant by the schedule for kind ");
    error << stageShapeName(stage.kind) << (stage.name.empty() ? "" : ", name '" + stage.name + "'")
          << (stage.kernel.empty() ? "" : ", kernel '" + stage.kernel + "'") << "; there are";
    llvm::ListSeparator comma(", ");
    for (const StageSchedule &existing : schedulesOf(module))
      error << (StringRef(comma).empty() ? " " : ", ") << existing.kernel << "'s " << stageShapeName(existing.kind)
            << " '" << existing.name << "'";
    return error;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Facts
//===----------------------------------------------------------------------===//

/// The number of elements along axes whose extents are numbers.
static std::optional<int64_t> constantSize(ArrayRef<StringAttr> axes, const Signature &signature) {
  llvm::StringMap<int64_t> known = knownExtents(signature);
  int64_t size = 1;
  for (StringAttr axis : axes) {
    auto extent = known.find(axis.getValue());
    if (extent == known.end() || llvm::MulOverflow(size, extent->second, size))
      return std::nullopt;
  }
  return size;
}

StageFacts attn::factsOf(Operation *op, const Signature &signature) {
  StageFacts facts;
  if (auto contract = dyn_cast<ContractOp>(op)) {
    facts.kind = StageShape::Contract;
    facts.keyWidth = constantSize(axisNames(contract.getOver()), signature);
    return facts;
  }
  auto flash = cast<FlashOp>(op);
  facts.kind = StageShape::Flash;
  auto add = [&](std::optional<int64_t> &sum, ArrayRef<StringAttr> axes) {
    std::optional<int64_t> size = constantSize(axes, signature);
    // Wider than any memory is as good as unknown.
    bool known = sum && size && *size < (int64_t(1) << 32);
    sum = known ? std::optional(*sum + *size) : std::nullopt;
  };
  facts.bf16Parts = bf16PartsOf(productElement(flash, signature.precise));
  facts.keyWidth = facts.valueWidth = 0;
  for (Attribute contracted : flash.getContracted())
    add(facts.keyWidth, axisNames(cast<ArrayAttr>(contracted)));
  for (Value value : flash.getValues()) {
    AxisList width;
    for (StringAttr axis : valueType(value).getAxes())
      if (!valueType(flash.getScore()).hasAxis(axis))
        width.push_back(axis);
    add(facts.valueWidth, width);
  }
  return facts;
}

static Products productsOf(ScheduleAttr schedule) {
  StringRef name = schedule.getProducts() ? schedule.getProducts().getValue() : "";
  return name == productsName(Products::Tiles) ? Products::Tiles : name.empty() ? Products::Unsaid : Products::Lanes;
}

std::vector<StageSchedule> attn::schedulesOf(ModuleOp module) {
  std::vector<StageSchedule> all;
  module.walk([&](StageOp stage) {
    ScheduleAttr s = stage.getSchedule();
    Route route = stage.getKind() == StageKind::Nest ? Route::Unsaid : stage->hasAttr("plans") ? Route::Halide : Route::Mlir;
    auto name = stage->getAttrOfType<StringAttr>("name");
    all.push_back({Signature(Signature::around(stage)).name.str(), name ? name.str() : "", stageShape(stage.getKind()),
                   {s.getLanes(), s.getVectors(), s.getRows(), s.getQueryTile(), s.getKeyTile(), s.getDepthTile(),
                    s.getDecodeQueries(), s.getDecodeChunk(), route,
                    route == Route::Halide ? Products::Unsaid : productsOf(s)}});
  });
  return all;
}

std::vector<StageFacts> attn::factsOf(ModuleOp decided) {
  std::vector<StageFacts> all;
  decided.walk([&](StageOp stage) {
    StageFacts facts;
    stage.walk([&](Operation *op) {
      if (stage.getKind() == StageKind::Nest || !isa<FlashOp, ContractOp>(op))
        return WalkResult::advance();
      facts = factsOf(op, Signature(Signature::around(stage)));
      return WalkResult::interrupt();
    });
    all.push_back(facts);
  });
  return all;
}
