// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Rotation of pairs along an axis.
#include "dialects/reference/Machine.h"

namespace attn::reference {

using llvm::Error;
using llvm::Expected;
using mlir::StringAttr;

namespace {
/// Which pair an element of the rotated axis belongs to.
struct Pairing {
  int64_t pairs;
  bool interleaved;

  bool rotates(int64_t e) const { return e < 2 * pairs; }
  int64_t pair(int64_t e) const { return interleaved ? e / 2 : e % pairs; }
  bool isSecond(int64_t e) const { return interleaved ? e % 2 : e >= pairs; }
  int64_t partner(int64_t e) const {
    int64_t step = interleaved ? 1 : pairs;
    return isSecond(e) ? e - step : e + step;
  }
};

int64_t stepOf(const Tensor &tensor, StringAttr axis) {
  return product(
      llvm::ArrayRef(tensor.shape).drop_front(tensor.find(axis) + 1));
}

Number rotate(Number own, Number partner, Number cosine, Number sine,
              bool isSecond) {
  Number first = rounded(multiply(own, cosine)),
         second = rounded(multiply(partner, sine));
  return rounded(isSecond ? add(first, second) : subtract(first, second));
}
} // namespace

static Error evaluateRope(Machine &machine, RopeOp op) {
  Expected<Tensor> result = machine.blank(op.getResult());
  if (!result)
    return errorAt(op, result.takeError());
  const Tensor &x = machine.get(op.getValue());
  const Tensor &cosine = machine.get(op.getCos()),
               &sine = machine.get(op.getSin());
  StringAttr over = op.getOverAttr(), pairAxis = op.getPairAxisAttr();
  int64_t width = x.shape[x.find(over)];
  Pairing pairing = {cosine.shape[cosine.find(pairAxis)],
                     op.getPairs() == Pairs::Interleaved};
  if (2 * pairing.pairs > width)
    return errorAt(op, "rope: " + llvm::Twine(pairing.pairs) +
                           " pairs do not fit in " + over.getValue() + " = " +
                           llvm::Twine(width));
  auto d = static_cast<size_t>(result->find(over));
  int64_t stepX = stepOf(x, over), stepC = stepOf(cosine, pairAxis),
          stepS = stepOf(sine, pairAxis);
  Cursor at(result->axes, result->shape);
  unsigned ix = at.follow(x), ic = at.follow(cosine), is = at.follow(sine);
  for (int64_t i = 0, n = result->size(); i < n; ++i, at.next()) {
    int64_t e = at.along(d), own = at[ix];
    uint8_t flags = x.flags[own];
    if (!pairing.rotates(e)) {
      result->setNumber(i, x.number(own));
      result->flags[i] = flags;
      continue;
    }
    int64_t partner = own + (pairing.partner(e) - e) * stepX;
    int64_t c = at[ic] + pairing.pair(e) * stepC,
            s = at[is] + pairing.pair(e) * stepS;
    for (uint8_t other : {x.flags[partner], cosine.flags[c], sine.flags[s]})
      flags = joined(flags, other);
    result->flags[i] = flags;
    result->setNumber(i,
                      rotate(x.number(own), x.number(partner), cosine.number(c),
                             sine.number(s), pairing.isSecond(e)));
  }
  machine.set(op.getResult(), std::move(*result));
  return Error::success();
}

void addRopeEvaluator(EvaluatorTable &table) {
  addEvaluator<RopeOp, evaluateRope>(table);
}

} // namespace attn::reference
