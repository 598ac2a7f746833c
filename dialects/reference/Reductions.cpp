// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sums of products, and joins along axes.
#include "dialects/reference/Reductions.h"

namespace attn::reference {

using llvm::Error;
using llvm::Expected;
using mlir::StringAttr;

namespace {
/// An operand of a contraction with its elements in the order batch, own,
/// contracted, so that every sum runs over neighbours.
struct Packed {
  std::vector<double> value, radius;
  std::vector<uint8_t> flags;
  /// Nothing absent, unsure, bad or infinite in it: sums need no tests.
  bool plain = true;
};

Packed pack(const Tensor &tensor, llvm::ArrayRef<StringAttr> order,
            llvm::ArrayRef<int64_t> shape, std::optional<Dtype> roundedTo) {
  Packed packed;
  int64_t n = tensor.size();
  packed.value.resize(n);
  packed.radius.resize(n);
  packed.flags.resize(n);
  Cursor at(order, shape);
  unsigned t = at.follow(tensor);
  for (int64_t i = 0; i < n; ++i, at.next()) {
    int64_t from = at[t];
    uint8_t flags = tensor.flags[from];
    Number x = tensor.number(from);
    if (!(flags & Present)) // What an absent element holds must not matter.
      x = {0, 0};
    else if (roundedTo)
      x = oncePossiblyRounded(x, *roundedTo);
    packed.value[i] = x.value;
    packed.radius[i] = x.radius;
    packed.flags[i] = flags;
    packed.plain &= flags == Present && std::isfinite(x.value) && x.bounded();
  }
  return packed;
}

/// Units that multiply bf16 take for 0 what lies below the smallest normal
/// number, which f32 shares: elements, products and sums.
constexpr double kFlushed = 0x1p-126;

/// Sums `n` products. `size` collects their magnitudes, which the roundings of
/// products and sums are in proportion to.
Number sumPlain(const Packed &lhs, int64_t il, const Packed &rhs, int64_t ir,
                int64_t n, double tiny) {
  const double *a = lhs.value.data() + il, *ra = lhs.radius.data() + il;
  const double *b = rhs.value.data() + ir, *rb = rhs.radius.data() + ir;
  double sum = 0, size = 0, radius = 0;
  for (int64_t k = 0; k < n; ++k) {
    double product = a[k] * b[k], wide = std::fabs(b[k]) + rb[k];
    sum += product;
    size += std::fabs(product);
    radius += std::fabs(a[k]) * rb[k] + ra[k] * wide;
  }
  return summed(sum, size, radius, n, tiny);
}

/// The same where elements may be absent, unsure or infinite.
Number sumTested(const Packed &a, int64_t ia, const Packed &b, int64_t ib,
                 int64_t n, double tiny, uint8_t &flags) {
  Sum sum;
  sum.tiny = tiny;
  for (int64_t k = 0; k < n; ++k) {
    uint8_t fa = a.flags[ia + k], fb = b.flags[ib + k], both = fa & fb;
    // A side that is surely absent makes the pair so, whatever the other side
    // is.
    if ((!(fa & Present) && !(fa & Unsure)) ||
        (!(fb & Present) && !(fb & Unsure)))
      continue;
    flags |= (fa | fb) & Unsure;
    if (!(both & Present))
      continue;
    flags |= (fa | fb) & Bad;
    sum.add(multiply({a.value[ia + k], a.radius[ia + k]},
                     {b.value[ib + k], b.radius[ib + k]}));
  }
  return sum.result();
}
} // namespace

Number summed(double sum, double size, double radius, int64_t n, double tiny) {
  if (!std::isfinite(sum))
    return {sum, 0}; // The caller knows that it is certain.
  // One rounding per product and per addition; one more for a scale that is
  // folded into an operand.
  double total =
      radius + gammaOf(n + 2.0) * (size + radius) + (size > 0 ? n * tiny : 0);
  if (size == 0 && radius == 0)
    return {sum, 0};
  // Partial sums may be as large as the sum of magnitudes.
  if (!(size + total <= kLargest))
    return Number::unbounded(sum);
  return {sum, total};
}

void Sum::add(Number x) {
  ++count;
  if (!std::isfinite(x.value) || !x.bounded()) {
    special = special ? reference::add(*special, x) : x;
    return;
  }
  sum += x.value;
  size += std::fabs(x.value);
  radius += x.radius;
}

Number Sum::result() const {
  Number finite = summed(sum, size, radius, count, tiny);
  return special ? reference::add(*special, finite) : finite;
}

Number oncePossiblyRounded(Number x, Dtype dtype) {
  bool isFlushed = dtype == Dtype::BF16;
  bool fits = x.exact() && roundTo(x.value, dtype) == x.value;
  if (fits && !(isFlushed && std::fabs(x.value) < kFlushed))
    return x;
  FloatFormat format = floatFormat(dtype);
  double size = std::fabs(x.value) + x.radius;
  if (!std::isfinite(x.value) || !x.bounded())
    return x;
  if (std::isinf(roundTo(size, dtype)))
    return Number::unbounded(x.value);
  double half = fits ? 0 : std::ldexp(0.5, -format.mantissaBits);
  double smallest = std::ldexp(0.5, format.minExponent - format.mantissaBits);
  return {x.value, x.radius + half * size +
                       (isFlushed ? std::min(size, kFlushed) : smallest)};
}

namespace {
/// How the axes of two operands fall apart: batch axes are in both and in the
/// result, left and right ones in one operand only.
struct Split {
  llvm::SmallVector<StringAttr, 6> batch, left, right;

  Split(const Tensor &lhs, const Tensor &rhs, const Tensor &out) {
    for (StringAttr axis : out.axes) {
      bool inLeft = lhs.find(axis) >= 0, inRight = rhs.find(axis) >= 0;
      (inLeft && inRight ? batch : inLeft ? left : right).push_back(axis);
    }
  }
};

llvm::SmallVector<StringAttr, 8>
listed(std::initializer_list<llvm::ArrayRef<StringAttr>> lists) {
  llvm::SmallVector<StringAttr, 8> all;
  for (llvm::ArrayRef<StringAttr> list : lists)
    all.append(list.begin(), list.end());
  return all;
}

Shape shapeOf(const Tensor &tensor, llvm::ArrayRef<StringAttr> axes) {
  Shape shape;
  for (StringAttr axis : axes)
    shape.push_back(tensor.shape[tensor.find(axis)]);
  return shape;
}
} // namespace

Expected<Tensor> contract(Machine &machine, const Tensor &lhs,
                          const Tensor &rhs, llvm::ArrayRef<StringAttr> over,
                          mlir::Value result) {
  Expected<Tensor> out = machine.blank(result);
  if (!out)
    return out.takeError();
  Split split(lhs, rhs, *out);
  auto packed = [&](const Tensor &own, llvm::ArrayRef<StringAttr> axes,
                    const Tensor &other) {
    bool mayRound = !machine.precise && !own.isDouble;
    auto order = listed({split.batch, axes, over});
    // What is narrow itself is not rounded again, but flushed.
    auto roundedTo = other.narrow ? other.narrow : own.narrow;
    return pack(own, order, shapeOf(own, order),
                mayRound ? roundedTo : std::nullopt);
  };
  Packed a = packed(lhs, split.left, rhs), b = packed(rhs, split.right, lhs);
  auto isBf16 = [](const Tensor &side) { return side.narrow == Dtype::BF16; };
  bool mayFlush = !machine.precise && (isBf16(lhs) || isBf16(rhs));
  double tiny = mayFlush ? kFlushed : kTiny;
  int64_t depth = product(shapeOf(lhs, over)),
          rows = product(shapeOf(lhs, split.left));
  int64_t columns = product(shapeOf(rhs, split.right));
  auto order = listed({split.batch, split.left, split.right});
  Cursor at(order, shapeOf(*out, order));
  unsigned o = at.follow(*out);
  for (int64_t i = 0, n = out->size(); i < n; ++i, at.next()) {
    int64_t column = i % columns, row = i / columns; // Row counts batches, too.
    int64_t ia = row * depth, ib = (row / rows * columns + column) * depth;
    uint8_t flags = Present;
    Number sum = a.plain && b.plain ? sumPlain(a, ia, b, ib, depth, tiny)
                                    : sumTested(a, ia, b, ib, depth, tiny, flags);
    out->setNumber(at[o], sum);
    out->flags[at[o]] = flags;
  }
  machine.space.cutRagged(*out);
  return out;
}

static Error evaluateContract(Machine &machine, ContractOp op) {
  AxisList over = axisNames(op.getOver());
  const Tensor &lhs = machine.get(op.getLhs()), &rhs = machine.get(op.getRhs());
  if (lhs.kind != Kind::Number || rhs.kind != Kind::Number)
    return errorAt(op, "the interpreter contracts numbers only");
  Expected<Tensor> result = contract(machine, lhs, rhs, over, op.getResult());
  if (!result)
    return errorAt(op, result.takeError());
  machine.set(op.getResult(), std::move(*result));
  return Error::success();
}

namespace {
/// Joins the present elements of one group.
struct Group {
  explicit Group(Reduction kind) : kind(kind) {}

  Reduction kind;
  Sum sum;
  std::optional<Number> best;
  std::optional<int64_t> bestWhole;
  int64_t total = 0;
  uint8_t flags = Present;

  void add(const Tensor &tensor, int64_t i) {
    uint8_t own = tensor.flags[i];
    flags |= own & Unsure;
    if (!(own & Present))
      return;
    flags |= own & Bad;
    if (tensor.kind == Kind::Integer)
      return addWhole(tensor.integer[i]);
    Number x = tensor.number(i);
    if (kind == Reduction::Sum || kind == Reduction::Mean)
      sum.add(x);
    else if (!best)
      best = x;
    else
      best = kind == Reduction::Max ? maximum(*best, x) : minimum(*best, x);
  }
  void addWhole(int64_t x) {
    total += x;
    sum.add({static_cast<double>(x), 0});
    bestWhole = !bestWhole               ? x
                : kind == Reduction::Max ? std::max(*bestWhole, x)
                                         : std::min(*bestWhole, x);
  }
  Number number() const {
    double nothing = kind == Reduction::Max ? -kUnbounded : kUnbounded;
    switch (kind) {
    case Reduction::Sum:
      return sum.result();
    case Reduction::Mean:
      return sum.count ? loosened(divide(sum.result(),
                                         {static_cast<double>(sum.count), 0}),
                                  2 * kUnit)
                       : Number{0, 0};
    default:
      if (bestWhole)
        return {static_cast<double>(*bestWhole), 0};
      return best.value_or(Number{nothing, 0});
    }
  }
  int64_t whole() const {
    if (kind == Reduction::Sum)
      return total;
    int64_t nothing = kind == Reduction::Max
                          ? std::numeric_limits<int64_t>::min()
                          : std::numeric_limits<int64_t>::max();
    return bestWhole.value_or(nothing);
  }
};
} // namespace

static Error evaluateReduce(Machine &machine, ReduceOp op) {
  Expected<Tensor> result = machine.blank(op.getResult());
  if (!result)
    return errorAt(op, result.takeError());
  const Tensor &value = machine.get(op.getValue());
  if (value.kind == Kind::Condition ||
      (result->kind == Kind::Integer && value.kind != result->kind))
    return errorAt(
        op,
        "the interpreter reduces numbers to numbers and integers to either");
  std::vector<Group> groups(result->size(), Group(op.getKind()));
  Cursor at(value.axes, value.shape);
  unsigned r = at.follow(*result);
  for (int64_t i = 0, n = value.size(); i < n; ++i, at.next())
    groups[at[r]].add(value, i);
  for (int64_t i = 0, n = result->size(); i < n; ++i) {
    if (result->kind == Kind::Number)
      result->setNumber(i, groups[i].number());
    else
      result->integer[i] = groups[i].whole();
    result->flags[i] = groups[i].flags;
  }
  machine.space.cutRagged(*result);
  machine.set(op.getResult(), std::move(*result));
  return Error::success();
}

void addReductionEvaluators(EvaluatorTable &table) {
  addEvaluator<ContractOp, evaluateContract>(table);
  addEvaluator<ReduceOp, evaluateReduce>(table);
}

} // namespace attn::reference
