// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The fused and decided levels, by the same plain steps as the math level.
#include "dialects/attn/FlashWeights.h"
#include "dialects/reference/Reductions.h"

namespace attn::reference {

using llvm::Error;
using llvm::Expected;
using llvm::SmallVector;
using mlir::StringAttr;

/// Makes scores absent where the condition does not hold.
static Error applyMask(FlashOp op, Tensor &score, const Tensor &mask) {
  for (StringAttr axis : mask.axes)
    if (score.find(axis) < 0)
      return errorAt(op, "the mask has axis " + axis.getValue() +
                             ", which the score lacks");
  Cursor at(score.axes, score.shape);
  unsigned m = at.follow(mask);
  for (int64_t i = 0, n = score.size(); i < n; ++i, at.next())
    score.flags[i] =
        kept(score.flags[i], mask.condition[at[m]], mask.flags[at[m]]);
  return Error::success();
}

/// Whether a key at position `key` lies in a range, and what is doubtful about
/// that.
static std::pair<bool, uint8_t> isInRange(const Tensor *lower, int64_t l,
                                          const Tensor *upper, int64_t u,
                                          int64_t key) {
  bool seen = true;
  uint8_t flags = 0;
  if (lower) {
    seen &= (lower->flags[l] & Present) && key >= lower->integer[l];
    flags |= lower->flags[l];
  }
  if (upper) {
    seen &= (upper->flags[u] & Present) && key < upper->integer[u];
    flags |= upper->flags[u];
  }
  return {seen, flags & (Bad | Unsure)};
}

/// Makes scores absent whose key lies in none of the ranges.
static void applyRanges(Machine &machine, FlashOp op, Tensor &score) {
  if (op.getNumRanges() == 0)
    return;
  SmallVector<size_t> keys;
  for (StringAttr axis : axisNames(op.getOver()))
    keys.push_back(static_cast<size_t>(score.find(axis)));
  Cursor at(score.axes, score.shape);
  struct Range {
    const Tensor *lower, *upper;
    unsigned l, u;
  };
  SmallVector<Range> ranges;
  auto follow = [&](mlir::Value bound) -> std::pair<const Tensor *, unsigned> {
    if (!bound)
      return {nullptr, 0};
    const Tensor &tensor = machine.get(bound);
    return {&tensor, at.follow(tensor)};
  };
  for (unsigned r = 0; r < op.getNumRanges(); ++r) {
    auto [lower, l] = follow(op.getLowerOf(r));
    auto [upper, u] = follow(op.getUpperOf(r));
    ranges.push_back({lower, upper, l, u});
  }
  for (int64_t i = 0, n = score.size(); i < n; ++i, at.next()) {
    int64_t key = 0;
    for (size_t d : keys)
      key = key * score.shape[d] + at.along(d);
    bool anySeen = false;
    uint8_t doubts = 0;
    for (const Range &range : ranges) {
      auto [seen, flags] =
          isInRange(range.lower, range.lower ? at[range.l] : 0, range.upper,
                    range.upper ? at[range.u] : 0, key);
      anySeen |= seen;
      doubts |= flags;
    }
    if (!anySeen)
      score.flags[i] &= ~Present;
    score.flags[i] |= doubts;
  }
}

/// Runs the region on the score terms, and on weights where it takes them.
static Error runRegion(Machine &machine, FlashOp op, Tensor weights) {
  for (auto [i, term] : llvm::enumerate(termsOf(op))) {
    AxisList contracted =
        axisNames(mlir::cast<mlir::ArrayAttr>(op.getContracted()[i]));
    Expected<Tensor> dots =
        contract(machine, machine.get(op.getQueries()[i]),
                 machine.get(op.getKeys()[i]), contracted, term);
    if (!dots)
      return errorAt(op, dots.takeError());
    machine.set(term, std::move(*dots));
  }
  if (mlir::Value weight = weightOf(op))
    machine.set(weight, std::move(weights));
  return machine.run(op.getBody().front());
}

/// The score of each pair of a query and a key, absent where the mask says so.
static Expected<Tensor> scoresOf(Machine &machine, FlashOp op) {
  Tensor none;
  if (mlir::Value weight = weightOf(op)) {
    Expected<Tensor> blank = machine.blank(weight);
    if (!blank)
      return errorAt(op, blank.takeError());
    none = std::move(*blank);
  }
  if (Error error = runRegion(machine, op, std::move(none)))
    return std::move(error);
  mlir::Block &body = op.getBody().front();
  // What the region yields may come from outside of it, and be used again
  // there.
  mlir::Value yielded = op.getScore(), mask = op.getMask();
  bool own = yielded.getParentBlock() == &body;
  Tensor score = own ? machine.take(yielded) : machine.get(yielded);
  if (mask)
    if (Error error = applyMask(op, score, machine.get(mask)))
      return std::move(error);
  if (mask && mask.getParentBlock() == &body)
    machine.take(mask);
  applyRanges(machine, op, score);
  return score;
}

static Error evaluateFlash(Machine &machine, FlashOp op) {
  Expected<Tensor> score = scoresOf(machine, op);
  if (!score)
    return score.takeError();
  AxisList over = axisNames(op.getOver());
  if (op.getLogsumexp() || op.getNormalizer() == Normalizer::Softmax) {
    const Tensor *sink = op.getSink() ? &machine.get(op.getSink()) : nullptr;
    std::optional<Tensor> logarithm;
    if (op.getLogsumexp()) {
      Expected<Tensor> blank = machine.blank(op.getOutputs().back());
      if (!blank)
        return errorAt(op, blank.takeError());
      logarithm = std::move(*blank);
    }
    Expected<Tensor> weights =
        softmax(machine, *score, over, sink, logarithm ? &*logarithm : nullptr);
    if (!weights)
      return errorAt(op, weights.takeError());
    if (logarithm)
      machine.set(op.getOutputs().back(), std::move(*logarithm));
    if (op.getNormalizer() == Normalizer::Softmax)
      score = std::move(*weights);
  }
  if (weightOf(op)) {
    if (Error error = runRegion(machine, op, std::move(*score)))
      return error;
    score = machine.get(changedWeightOf(op));
  }
  for (auto [value, output] : llvm::zip(op.getValues(), op.getOutputs())) {
    Expected<Tensor> mix =
        contract(machine, *score, machine.get(value), over, output);
    if (!mix)
      return errorAt(op, mix.takeError());
    machine.set(output, std::move(*mix));
  }
  return Error::success();
}

static Error evaluateBuffer(Machine &machine, BufferOp op) {
  machine.addMemory(op.getResult(),
                    Memory("workspace", op.getResult().getType(), nullptr));
  return Error::success();
}

static Error evaluateStage(Machine &machine, StageOp op) {
  return machine.run(op.getBody().front());
}

static Error evaluateYield(Machine &, YieldOp) { return Error::success(); }

void addFusedEvaluators(EvaluatorTable &table) {
  addEvaluator<FlashOp, evaluateFlash>(table);
  addEvaluator<BufferOp, evaluateBuffer>(table);
  addEvaluator<StageOp, evaluateStage>(table);
  addEvaluator<YieldOp, evaluateYield>(table);
}

} // namespace attn::reference
