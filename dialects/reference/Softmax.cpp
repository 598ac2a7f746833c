// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Softmax and log-sum-exp of rows. A score of -inf is absent; a NaN or +inf
// makes its own row NaN; a row without scores gives nothing.
#include "dialects/reference/Reductions.h"

namespace attn::reference {

using llvm::Error;
using llvm::Expected;
using mlir::StringAttr;

namespace {
/// What is gathered of one row.
struct Row {
  double largest = -kUnbounded;
  /// Sum of exp(score - largest); that of each term times its relative error,
  /// from the score's radius and from rounding.
  double sum = 0, spread = 0, rounding = 0;
  double largestRadius = 0;
  int64_t count = 0;
  bool isNaN = false, unsure = false, bad = false;

  /// First pass: finds the largest.
  void look(Number x, uint8_t flags) {
    unsure |= (flags & Unsure) != 0;
    if (!(flags & Present))
      return;
    bad |= (flags & Bad) != 0;
    if (!x.bounded())
      unsure = true;
    else if (std::isnan(x.value) || x.value == kUnbounded)
      isNaN = true;
    else if (x.value > largest)
      largest = x.value;
  }
  /// Second pass: joins the sum.
  void add(Number x) {
    if (x.value == -kUnbounded)
      return;
    double term = std::exp(x.value - largest), own = roundingOf(x);
    sum += term;
    rounding += term * own;
    spread += term * (std::expm1(x.radius) + own);
    largestRadius = std::max(largestRadius, x.radius);
    ++count;
  }
  /// The relative error of computing exp(x - largest): the function's own, the
  /// difference's, and that of scaling the score by log2 e beforehand.
  double roundingOf(Number x) const {
    double apart = std::fabs(x.value - largest);
    return kFunction + 4 * kUnit * apart + 1.5 * kUnit * std::fabs(x.value);
  }
  /// Partial sums and mixes are rescaled when a tile of keys (sixteen or more)
  /// brings a larger score: one exponential and one product each time.
  double rescaling() const { return gammaOf(0.625 * count + 10); }
  double sumError(double terms) const {
    return terms / sum + gammaOf(count + 2.0) + rescaling();
  }

  Number weight(Number x) const {
    if (isNaN)
      return {std::numeric_limits<double>::quiet_NaN(),
              unsure ? kUnbounded : 0};
    double value = std::exp(x.value - largest) / sum;
    if (unsure)
      return Number::unbounded(value);
    double own = std::expm1(x.radius) + roundingOf(x) + rescaling();
    double whole = sumError(spread);
    // A weight lies between 0 and 1 whatever the scores are.
    double most = std::max(value, 1 - value) + sumError(rounding);
    double radius =
        whole < 1 ? value * ((1 + own) / (1 - whole) - 1) : kUnbounded;
    return {value, std::min(radius, most) + kFlush};
  }
  Number logarithm() const {
    if (isNaN)
      return {std::numeric_limits<double>::quiet_NaN(),
              unsure ? kUnbounded : 0};
    double log = std::log(sum), value = count ? largest + log : -kUnbounded;
    if (unsure)
      return Number::unbounded(value);
    if (!count)
      return {value, 0};
    // By the sum's relative error, or by the slope of 1 in each score.
    double bySum = -std::log1p(-std::min(sumError(spread), 1.0));
    double bySlope =
        largestRadius - std::log1p(-std::min(sumError(rounding), 1.0));
    double size = std::fabs(largest) + std::fabs(value);
    return {value,
            std::min(bySum, bySlope) + kFunction * (std::fabs(log) + size)};
  }
};

/// Whether the element is one of its row's scores.
bool isScore(const Tensor &score, int64_t i) {
  bool minusInfinity =
      score.value[i] == -kUnbounded && score.radius[i] < kUnbounded;
  return score.present(i) && !minusInfinity;
}
} // namespace

Expected<Tensor> softmax(Machine &machine, const Tensor &score,
                         llvm::ArrayRef<StringAttr> over, const Tensor *sink,
                         Tensor *logarithm) {
  llvm::SmallVector<StringAttr> rowAxes;
  Shape rowShape;
  for (auto [axis, extent] : llvm::zip(score.axes, score.shape))
    if (!llvm::is_contained(over, axis)) {
      rowAxes.push_back(axis);
      rowShape.push_back(extent);
    }
  std::vector<Row> rows(product(rowShape));
  auto overScores = [&](auto visit) {
    Cursor at(score.axes, score.shape);
    unsigned r = at.follow(rowAxes, rowShape);
    for (int64_t i = 0, n = score.size(); i < n; ++i, at.next())
      visit(rows[at[r]], i);
  };
  auto overSinks = [&](auto visit) {
    if (!sink)
      return;
    Cursor at(rowAxes, rowShape);
    unsigned s = at.follow(*sink);
    for (Row &row : rows) {
      if (sink->present(at[s]) || (sink->flags[at[s]] & Unsure))
        visit(row, sink->number(at[s]), sink->flags[at[s]]);
      at.next();
    }
  };
  overScores(
      [&](Row &row, int64_t i) { row.look(score.number(i), score.flags[i]); });
  overSinks([](Row &row, Number x, uint8_t flags) { row.look(x, flags); });
  overScores([&](Row &row, int64_t i) {
    if (isScore(score, i) && !row.isNaN)
      row.add(score.number(i));
  });
  overSinks([](Row &row, Number x, uint8_t flags) {
    if ((flags & Present) && !row.isNaN)
      row.add(x);
  });
  Tensor weights = score;
  weights.narrow = std::nullopt;
  overScores([&](Row &row, int64_t i) {
    if (isScore(score, i))
      weights.setNumber(i, row.weight(score.number(i)));
    else
      weights.flags[i] &= ~Present;
  });
  for (int64_t i = 0; logarithm && i < logarithm->size(); ++i) {
    logarithm->setNumber(i, rows[i].logarithm());
    logarithm->flags[i] =
        Present | (rows[i].bad ? Bad : 0) | (rows[i].unsure ? Unsure : 0);
  }
  if (logarithm)
    machine.space.cutRagged(*logarithm);
  return weights;
}

static Error evaluateSoftmax(Machine &machine, SoftmaxOp op) {
  const Tensor *sink = op.getSink() ? &machine.get(op.getSink()) : nullptr;
  Expected<Tensor> result = softmax(machine, machine.get(op.getValue()),
                                    axisNames(op.getOver()), sink, nullptr);
  if (!result)
    return errorAt(op, result.takeError());
  machine.set(op.getResult(), std::move(*result));
  return Error::success();
}

static Error evaluateLogSumExp(Machine &machine, LogSumExpOp op) {
  const Tensor *sink = op.getSink() ? &machine.get(op.getSink()) : nullptr;
  Expected<Tensor> result = machine.blank(op.getResult());
  if (!result)
    return errorAt(op, result.takeError());
  Expected<Tensor> weights = softmax(machine, machine.get(op.getValue()),
                                     axisNames(op.getOver()), sink, &*result);
  if (!weights)
    return errorAt(op, weights.takeError());
  machine.set(op.getResult(), std::move(*result));
  return Error::success();
}

void addSoftmaxEvaluators(EvaluatorTable &table) {
  addEvaluator<SoftmaxOp, evaluateSoftmax>(table);
  addEvaluator<LogSumExpOp, evaluateLogSumExp>(table);
}

} // namespace attn::reference
