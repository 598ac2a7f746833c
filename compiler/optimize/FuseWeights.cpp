//===- FuseWeights.cpp - what becomes of weights ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Weights that are changed pair by pair before they are mixed. A fused pass changes them before they are divided by their
// sum, so the change must grow in proportion with them: c * w gives c times what w gives, for every c > 0.
//===----------------------------------------------------------------------===//
#include "compiler/optimize/FuseSupport.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace attn;

namespace {
/// How a value follows weights.
enum class Growth {
  None,         ///< not at all
  Zero,         ///< it is 0, which is in proportion with anything
  Proportional,
  Other,
};

class GrowthReader {
public:
  explicit GrowthReader(Value weights) : weights(weights) {}

  Growth of(Value value) {
    if (value == weights)
      return Growth::Proportional;
    if (auto found = known.find(value); found != known.end())
      return found->second;
    return known[value] = compute(value);
  }

private:
  Growth compute(Value value) {
    Operation *op = value.getDefiningOp();
    if (!op || !followsAtAll(op))
      return floatConstant(value) == 0.0 ? Growth::Zero : Growth::None;
    if (auto map = dyn_cast<MapOp>(op))
      return ofMap(map);
    if (isa<SelectOp>(op) && of(op->getOperand(0)) == Growth::None)
      return either(of(op->getOperand(1)), of(op->getOperand(2)));
    if (isa<WhereOp>(op) && of(op->getOperand(1)) == Growth::None)
      return of(op->getOperand(0));
    return Growth::Other;
  }

  /// Whether anything that the operation reads, through whatever, is made of the weights.
  bool followsAtAll(Operation *op) {
    auto [entry, isNew] = follows.try_emplace(op, false);
    if (!isNew)
      return entry->second;
    llvm::SetVector<Value> read(op->operand_begin(), op->operand_end());
    getUsedValuesDefinedAbove(op->getRegions(), read);
    bool any = llvm::any_of(read, [&](Value value) {
      return value == weights || (value.getDefiningOp() && followsAtAll(value.getDefiningOp()));
    });
    return follows[op] = any;
  }

  /// One of two, whichever.
  static Growth either(Growth x, Growth y) {
    if (x == Growth::Zero || x == y)
      return y;
    return y == Growth::Zero ? x : Growth::Other;
  }

  static Growth ofProduct(Growth x, Growth y) {
    if (x == Growth::Other || y == Growth::Other || (x == Growth::Proportional && y == x))
      return Growth::Other;
    return x == Growth::Proportional || y == Growth::Proportional ? Growth::Proportional : Growth::None;
  }

  Growth ofMap(MapOp map) {
    llvm::DenseMap<Value, Growth> scalars;
    for (auto [input, argument] : llvm::zip(map.getInputs(), map.getBody().front().getArguments()))
      scalars[argument] = of(input);
    for (Operation &op : map.getBody().front().without_terminator())
      scalars[op.getResult(0)] = ofScalar(op, scalars);
    return scalars.lookup(map.getBody().front().getTerminator()->getOperand(0));
  }

  static Growth ofScalar(Operation &op, const llvm::DenseMap<Value, Growth> &scalars) {
    SmallVector<Growth> in = llvm::map_to_vector(op.getOperands(), [&](Value v) { return scalars.lookup(v); });
    if (matchPattern(op.getResult(0), m_AnyZeroFloat()))
      return Growth::Zero;
    if (llvm::all_of(in, [](Growth growth) { return growth == Growth::None || growth == Growth::Zero; }))
      return Growth::None;
    if (isa<arith::MulFOp>(op))
      return ofProduct(in[0], in[1]);
    if (isa<arith::DivFOp>(op) && in[1] != Growth::Proportional)
      return ofProduct(in[0], in[1]);
    if (isa<arith::AddFOp, arith::SubFOp, arith::MaximumFOp, arith::MinimumFOp>(op))
      return either(in[0], in[1]);
    if (isa<arith::NegFOp, math::AbsFOp>(op))
      return in[0];
    if (isa<arith::SelectOp>(op) && in[0] == Growth::None)
      return either(in[1], in[2]);
    return Growth::Other;
  }

  Value weights;
  llvm::DenseMap<Value, Growth> known;
  llvm::DenseMap<Operation *, bool> follows;
};
} // namespace

bool attn::growsWith(Value weights, Value value) {
  return value.getType() == weights.getType() && GrowthReader(weights).of(value) == Growth::Proportional;
}

bool attn::onlyFeeds(Value value, llvm::function_ref<bool(Operation *)> isGoal) {
  return llvm::all_of(value.getUsers(), [&](Operation *user) {
    return isGoal(user) || (isPointwise(user) && onlyFeeds(user->getResult(0), isGoal));
  });
}
