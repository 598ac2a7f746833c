//===- Requirements.cpp - what a program requires of extents --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/attnc/Requirements.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include <utility>

using namespace mlir;
using namespace attn;
using namespace attnc;

namespace {

/// Values that follow from extents alone, and from one argument when each of its elements is `number`, as attributes;
/// null for all others.
class Evaluator {
public:
  explicit Evaluator(const Extents &extents, Value argument = {}, int64_t number = 0)
      : extents(extents), argument(argument), number(number) {}

  /// Whether the argument has been asked for.
  bool readsArgument() const { return hasRead; }

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
    if (auto read = dyn_cast<ReadOp>(op); read && argument && read.getRef() == argument && valueType(read).isInteger()) {
      hasRead = true;
      return Builder(op->getContext()).getI64IntegerAttr(number);
    }
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
  Value argument;
  int64_t number;
  bool hasRead = false;
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

/// Extents up to here are all tried, those further away in larger and larger steps.
constexpr int64_t nearby = 64, farthest = 1 << 16;
/// Larger numbers are not tried for arguments.
constexpr int64_t largestNumber = 4096;

} // namespace

std::optional<Extents> attnc::meetRequirements(const Signature &signature,
                                               std::vector<std::pair<std::string, int64_t>> chosen,
                                               llvm::ArrayRef<std::string> movable) {
  std::optional<Extents> extents = solved(signature, chosen);
  if (!extents)
    return std::nullopt;
  int64_t left = unmet(signature, *extents);
  for (auto &[axis, extent] : chosen) {
    if (!left)
      break;
    if (!llvm::is_contained(movable, axis))
      continue;
    const int64_t start = extent;
    // Whether fewer are unmet when the axis has another extent; then that is kept.
    auto helps = [&](int64_t other) {
      int64_t before = std::exchange(extent, other);
      std::optional<Extents> moved = other < 0 ? std::nullopt : solved(signature, chosen);
      if (moved && unmet(signature, *moved) < left)
        return true;
      extent = before;
      return false;
    };
    int64_t distance = 1;
    while (distance <= nearby && !helps(start + distance) && !helps(start - distance))
      ++distance;
    if (distance > nearby) {
      while (distance <= farthest && !helps(start + distance))
        distance *= 2;
      // What is required of large extents is a least one: the nearest that helps lies behind one that does not.
      for (int64_t below = distance / 2; distance <= farthest && distance - below > 1;) {
        int64_t middle = below + (distance - below) / 2;
        (helps(start + middle) ? distance : below) = middle;
      }
    }
    extents = solved(signature, chosen);
    left = unmet(signature, *extents);
  }
  if (left)
    return std::nullopt;
  return extents;
}

std::optional<std::pair<int64_t, int64_t>> attnc::requiredRange(const Signature &signature, unsigned index,
                                                                const Extents &extents, int64_t most) {
  std::optional<int64_t> lowest, highest;
  for (int64_t number = 0; number <= largestNumber && !(lowest && number > most); ++number) {
    bool isRequired = false, holds = true;
    for (RequireOp require : signature.body->getOps<RequireOp>()) {
      Evaluator evaluator(extents, signature.body->getArgument(index), number);
      auto condition = dyn_cast_or_null<IntegerAttr>(evaluator.evaluate(require.getCondition()));
      if (!condition || !evaluator.readsArgument())
        continue;
      isRequired = true;
      holds &= condition.getValue().getBoolValue();
    }
    if (!isRequired)
      return std::nullopt;
    if (holds && !lowest)
      lowest = number;
    if (!holds && lowest)
      break;
    if (holds)
      highest = number;
  }
  if (!lowest)
    return std::nullopt;
  return std::pair(*lowest, *highest);
}
