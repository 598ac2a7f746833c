//===- Requirements.cpp - what a program requires of extents --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/attnc/Requirements.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace attn;
using namespace attnc;

namespace {

/// Values that follow from extents alone, as attributes; null for all others.
class Evaluator {
public:
  explicit Evaluator(const Extents &extents) : extents(extents) {}

  Attribute evaluate(Value value) {
    auto [known, isNew] = values.try_emplace(value);
    if (!isNew)
      return known->second;
    Attribute result = compute(value.getDefiningOp());
    values[value] = result;
    return result;
  }

private:
  Attribute compute(Operation *op) {
    if (auto extent = dyn_cast<ExtentOp>(op)) {
      auto found = extents.find(extent.getAxis());
      return found == extents.end() ? Attribute() : Builder(op->getContext()).getI64IntegerAttr(found->second);
    }
    if (auto constant = dyn_cast<ConstantOp>(op))
      return constant.getValue();
    if (isa<AndOp, OrOp>(op)) {
      auto left = dyn_cast_or_null<IntegerAttr>(evaluate(op->getOperand(0)));
      auto right = dyn_cast_or_null<IntegerAttr>(evaluate(op->getOperand(1)));
      if (!left || !right)
        return {};
      bool holds = isa<AndOp>(op) ? left.getValue().getBoolValue() && right.getValue().getBoolValue()
                                  : left.getValue().getBoolValue() || right.getValue().getBoolValue();
      return BoolAttr::get(op->getContext(), holds);
    }
    auto map = dyn_cast<MapOp>(op);
    return map ? computeMap(map) : Attribute();
  }

  Attribute computeMap(MapOp map) {
    Block &body = map.getBody().front();
    llvm::DenseMap<Value, Attribute> scalars;
    for (auto [input, scalar] : llvm::zip(map.getInputs(), body.getArguments())) {
      scalars[scalar] = evaluate(input);
      if (!scalars[scalar])
        return {};
    }
    for (Operation &op : body.without_terminator()) {
      SmallVector<Attribute> operands =
          llvm::map_to_vector(op.getOperands(), [&](Value operand) { return scalars.lookup(operand); });
      SmallVector<OpFoldResult> results;
      if (failed(op.fold(operands, results)) || results.size() != 1)
        return {};
      auto value = dyn_cast<Value>(results.front());
      scalars[op.getResult(0)] = value ? scalars.lookup(value) : cast<Attribute>(results.front());
    }
    return scalars.lookup(body.getTerminator()->getOperand(0));
  }

  const Extents &extents;
  llvm::DenseMap<Value, Attribute> values;
};

/// How many conditions do not hold.
int64_t unmet(const Signature &signature, const Extents &extents) {
  int64_t count = 0;
  Evaluator evaluator(extents);
  for (RequireOp require : signature.body->getOps<RequireOp>())
    if (auto holds = dyn_cast_or_null<IntegerAttr>(evaluator.evaluate(require.getCondition())))
      count += !holds.getValue().getBoolValue();
  // A table of pages that are written needs that many pages.
  for (auto [i, arg] : llvm::enumerate(signature.args)) {
    if (arg.getMode() != Mode::In)
      continue;
    auto spec = specOf(signature, i, extents);
    if (!spec) {
      llvm::consumeError(spec.takeError());
      continue;
    }
    if (spec->range.kind == reference::IntegerRange::Distinct)
      count += reference::elementCount(spec->shape, spec->dtype).value_or(0) > spec->range.high;
  }
  return count;
}

std::optional<Extents> solved(const Signature &signature, llvm::ArrayRef<std::pair<std::string, int64_t>> chosen) {
  auto extents = extentsFrom(signature, chosen);
  if (extents)
    return std::move(*extents);
  llvm::consumeError(extents.takeError());
  return std::nullopt;
}

/// Extents further away than this are not tried.
constexpr int64_t farthest = 512;

} // namespace

std::optional<Extents> attnc::meetRequirements(const Signature &signature,
                                               std::vector<std::pair<std::string, int64_t>> chosen,
                                               llvm::ArrayRef<std::string> movable) {
  std::optional<Extents> extents = solved(signature, chosen);
  if (!extents)
    return std::nullopt;
  int64_t left = unmet(signature, *extents);
  auto moves = [&](std::pair<std::string, int64_t> &axis, int64_t to) {
    if (to < 0)
      return false;
    int64_t before = axis.second;
    axis.second = to;
    std::optional<Extents> moved = solved(signature, chosen);
    int64_t now = moved ? unmet(signature, *moved) : left;
    if (now < left) {
      left = now;
      extents = std::move(moved);
      return true;
    }
    axis.second = before;
    return false;
  };
  for (auto &axis : chosen) {
    if (!llvm::is_contained(movable, axis.first))
      continue;
    int64_t start = axis.second;
    for (int64_t distance = 1; left && distance <= farthest; ++distance)
      if (moves(axis, start + distance) || moves(axis, start - distance))
        break;
  }
  if (left)
    return std::nullopt;
  return extents;
}
