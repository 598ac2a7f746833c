// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `attn.map`: the scalar region at every point, in runs of a few hundred
// points.
#include "dialects/reference/Lanes.h"
#include "dialects/reference/Machine.h"

namespace attn::reference {

using llvm::Error;
using llvm::Expected;

namespace {
/// Long enough that dispatch costs nothing, short enough for the first cache.
constexpr size_t kRun = 512;

using LaneMap = llvm::DenseMap<mlir::Value, Lanes>;

/// An integer that was rounded when it was stored may differ by a little: what
/// is computed from it as a number still has a bound.
bool hasSlack(const Tensor &tensor, int64_t i) {
  return tensor.kind == Kind::Integer && !tensor.radius.empty() &&
         tensor.radius[i] < kUnbounded;
}

void load(Lanes &lanes, size_t k, const Tensor &tensor, int64_t from) {
  bool unsure = tensor.flags[from] & Unsure;
  switch (tensor.kind) {
  case Kind::Number:
    lanes.set(k,
              {tensor.value[from], unsure ? kUnbounded : tensor.radius[from]});
    return;
  case Kind::Integer:
    lanes.set(k, tensor.integer[from], unsure);
    if (hasSlack(tensor, from))
      lanes.radius[k] = tensor.radius[from];
    return;
  case Kind::Condition:
    return lanes.set(k, tensor.condition[from], unsure);
  }
}

void store(Tensor &tensor, int64_t i, const Lanes &lanes, size_t k) {
  if (tensor.kind == Kind::Number)
    return tensor.setNumber(i, lanes.number(k));
  if (tensor.kind == Kind::Integer)
    tensor.integer[i] = lanes.integer[k];
  else
    tensor.condition[i] = lanes.integer[k] != 0;
  if (lanes.unsure[k])
    tensor.flags[i] |= Unsure;
}

/// Runs the region's operations on one run of points.
void runRegion(mlir::Block &block, LaneMap &lanes, size_t n) {
  for (mlir::Operation &op : block.without_terminator()) {
    llvm::SmallVector<const Lanes *, 3> operands;
    for (mlir::Value operand : op.getOperands())
      operands.push_back(&lanes.find(operand)->second);
    findScalarFunction(op.getName().getStringRef())(
        &op, operands, lanes.find(op.getResult(0))->second, n);
  }
}

/// Whether every scalar is known, and none comes from outside of the region.
Error checkRegion(mlir::Block &block) {
  for (mlir::Operation &op : block) {
    bool known = op.hasTrait<mlir::OpTrait::IsTerminator>() ||
                 (findScalarFunction(op.getName().getStringRef()) &&
                  op.getNumResults() == 1);
    if (!known)
      return errorAt(&op, "the interpreter does not know '" +
                              op.getName().getStringRef() + "'");
    for (mlir::Value operand : op.getOperands())
      if (operand.getParentBlock() != &block)
        return errorAt(&op, "a map's region uses a scalar from outside");
  }
  return Error::success();
}
} // namespace

static Error evaluateMap(Machine &machine, MapOp op) {
  mlir::Block &block = op.getBody().front();
  if (Error error = checkRegion(block))
    return error;
  Expected<Tensor> result = machine.blank(op.getResult());
  if (!result)
    return errorAt(op, result.takeError());
  LaneMap lanes;
  for (mlir::Value argument : block.getArguments())
    lanes.try_emplace(argument, Lanes(argument.getType(), kRun));
  for (mlir::Operation &inner : block.without_terminator())
    lanes.try_emplace(inner.getResult(0),
                      Lanes(inner.getResult(0).getType(), kRun));
  Cursor at(result->axes, result->shape);
  llvm::SmallVector<std::pair<const Tensor *, Lanes *>> inputs;
  for (auto [input, argument] :
       llvm::zip(op.getInputs(), block.getArguments())) {
    inputs.emplace_back(&machine.get(input), &lanes.find(argument)->second);
    at.follow(*inputs.back().first);
  }
  const Lanes &yielded =
      lanes.find(block.getTerminator()->getOperand(0))->second;
  for (int64_t start = 0, size = result->size(); start < size; start += kRun) {
    size_t n = std::min<int64_t>(kRun, size - start);
    for (size_t k = 0; k < n; ++k, at.next()) {
      uint8_t flags = Present;
      for (auto [t, input] : llvm::enumerate(inputs)) {
        load(*input.second, k, *input.first, at[t]);
        uint8_t own = input.first->flags[at[t]];
        if (hasSlack(*input.first, at[t]))
          own &= ~Unsure;
        flags = joined(flags, own);
      }
      result->flags[start + k] = flags;
    }
    runRegion(block, lanes, n);
    for (size_t k = 0; k < n; ++k)
      store(*result, start + k, yielded, k);
  }
  machine.set(op.getResult(), std::move(*result));
  return Error::success();
}

void addMapEvaluator(EvaluatorTable &table) {
  addEvaluator<MapOp, evaluateMap>(table);
}

} // namespace attn::reference
