// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sources of values, conditions, choice and renaming.
#include "dialects/reference/Machine.h"

namespace attn::reference {

using llvm::Error;
using llvm::Expected;
using mlir::StringAttr;

static Error evaluateIndex(Machine &machine, IndexOp op) {
  Expected<Tensor> result = machine.blank(op.getResult());
  if (!result)
    return errorAt(op, result.takeError());
  auto d = static_cast<size_t>(result->find(op.getAxisAttr()));
  Cursor at(result->axes, result->shape);
  for (int64_t i = 0, n = result->size(); i < n; ++i, at.next())
    result->integer[i] = at.along(d);
  machine.space.cutRagged(*result);
  machine.set(op.getResult(), std::move(*result));
  return Error::success();
}

static Error evaluateExtent(Machine &machine, ExtentOp op) {
  StringAttr axis = op.getAxisAttr();
  Expected<Tensor> result = machine.blank(op.getResult());
  std::optional<int64_t> extent = machine.space.extent(axis);
  if (!result || !extent)
    return errorAt(op, result ? llvm::createStringError(
                                    "the extent of axis %s is not known here",
                                    axis.getValue().str().c_str())
                              : result.takeError());
  const Tensor *ragged = machine.space.raggedExtent(axis);
  if (!ragged) {
    result->integer.assign(result->size(), *extent);
  } else {
    Cursor at(result->axes, result->shape);
    unsigned from = at.follow(*ragged);
    for (int64_t i = 0, n = result->size(); i < n; ++i, at.next())
      result->integer[i] = ragged->integer[at[from]];
  }
  machine.set(op.getResult(), std::move(*result));
  return Error::success();
}

static Error evaluateConstant(Machine &machine, ConstantOp op) {
  Expected<Tensor> result = machine.blank(op.getResult());
  if (!result)
    return errorAt(op, result.takeError());
  if (auto number = mlir::dyn_cast<mlir::FloatAttr>(op.getValue()))
    result->value.assign(result->size(), number.getValueAsDouble());
  else if (auto whole = mlir::dyn_cast<mlir::IntegerAttr>(op.getValue())) {
    if (result->kind == Kind::Condition)
      result->condition.assign(result->size(), !whole.getValue().isZero());
    else
      result->integer.assign(result->size(), whole.getValue().getSExtValue());
  } else {
    return errorAt(op, "the interpreter does not know this constant");
  }
  machine.set(op.getResult(), std::move(*result));
  return Error::success();
}

/// `and` with `decides` false, `or` with `decides` true: where the left side is
/// `decides`, the right one is not asked for.
static Error evaluateLazy(Machine &machine, mlir::Operation *op, bool decides) {
  Expected<Tensor> result = machine.blank(op->getResult(0));
  if (!result)
    return errorAt(op, result.takeError());
  const Tensor &lhs = machine.get(op->getOperand(0)),
               &rhs = machine.get(op->getOperand(1));
  Cursor at(result->axes, result->shape);
  unsigned l = at.follow(lhs), r = at.follow(rhs);
  for (int64_t i = 0, n = result->size(); i < n; ++i, at.next()) {
    uint8_t left = lhs.flags[at[l]], right = rhs.flags[at[r]];
    bool a = lhs.condition[at[l]], b = rhs.condition[at[r]];
    // A right side that surely decides hides what rounding does to the left
    // one.
    bool settled =
        !(right & (Unsure | Bad)) && (right & Present) && b == decides;
    if (a == decides && !(left & Unsure)) {
      result->condition[i] = decides;
      result->flags[i] = left;
    } else {
      result->condition[i] = decides ? a || b : a && b;
      result->flags[i] = joined(left, right);
      if (settled)
        result->flags[i] &= ~Unsure;
    }
  }
  machine.set(op->getResult(0), std::move(*result));
  return Error::success();
}
static Error evaluateAnd(Machine &machine, AndOp op) {
  return evaluateLazy(machine, op, false);
}
static Error evaluateOr(Machine &machine, OrOp op) {
  return evaluateLazy(machine, op, true);
}

/// Where rounding may turn the condition, a number may be either branch's.
static void selectEither(Tensor &result, int64_t i, const Tensor &taken,
                         int64_t from, const Tensor &other, int64_t otherFrom) {
  uint8_t flags = other.flags[otherFrom];
  bool both = (flags & Present) && !(flags & (Bad | Unsure)) &&
              !(result.flags[i] & (Bad | Unsure));
  if (!both) {
    result.flags[i] |= Unsure;
    return;
  }
  if (result.kind == Kind::Number)
    result.setNumber(i, either(taken.number(from), other.number(otherFrom)));
  else if (result.kind == Kind::Integer
               ? taken.integer[from] != other.integer[otherFrom]
               : taken.condition[from] != other.condition[otherFrom])
    result.flags[i] |= Unsure;
}

static Error evaluateSelect(Machine &machine, SelectOp op) {
  Expected<Tensor> result = machine.blank(op.getResult());
  if (!result)
    return errorAt(op, result.takeError());
  const Tensor &test = machine.get(op.getCondition());
  const Tensor &yes = machine.get(op.getOnTrue()),
               &no = machine.get(op.getOnFalse());
  if (yes.narrow == no.narrow)
    result->narrow = yes.narrow;
  Cursor at(result->axes, result->shape);
  unsigned c = at.follow(test), y = at.follow(yes), n = at.follow(no);
  for (int64_t i = 0, size = result->size(); i < size; ++i, at.next()) {
    bool first = test.condition[at[c]];
    uint8_t flags = test.flags[at[c]];
    const Tensor &taken = first ? yes : no, &other = first ? no : yes;
    int64_t from = at[first ? y : n], otherFrom = at[first ? n : y];
    result->copy(i, taken, from);
    result->flags[i] = (taken.flags[from] & flags & Present) |
                       ((taken.flags[from] & (Bad | Unsure)) | (flags & Bad));
    if (flags & Unsure)
      selectEither(*result, i, taken, from, other, otherFrom);
  }
  machine.set(op.getResult(), std::move(*result));
  return Error::success();
}

static Error evaluateWhere(Machine &machine, WhereOp op) {
  Expected<Tensor> result = machine.blank(op.getResult());
  if (!result)
    return errorAt(op, result.takeError());
  const Tensor &value = machine.get(op.getValue()),
               &test = machine.get(op.getCondition());
  result->narrow = value.narrow;
  Cursor at(result->axes, result->shape);
  unsigned v = at.follow(value), c = at.follow(test);
  for (int64_t i = 0, n = result->size(); i < n; ++i, at.next()) {
    result->copy(i, value, at[v]);
    result->flags[i] =
        kept(value.flags[at[v]], test.condition[at[c]], test.flags[at[c]]);
  }
  machine.set(op.getResult(), std::move(*result));
  return Error::success();
}

/// Whether index `i` of `axis` lies inside at this point of the result.
static bool inside(const Space &space, StringAttr axis, const Tensor *ragged,
                   int64_t raggedAt, int64_t i) {
  int64_t end = ragged ? ragged->integer[raggedAt] : *space.extent(axis);
  return i >= 0 && i < end;
}

static Error evaluateTake(Machine &machine, TakeOp op) {
  Expected<Tensor> result = machine.blank(op.getResult());
  if (!result)
    return errorAt(op, result.takeError());
  const Tensor &value = machine.get(op.getValue());
  AxisList taken = axisNames(op.getAxes());
  // What stays of the value is walked; each taken axis adds its index times its
  // step.
  llvm::SmallVector<StringAttr> rest(value.axes);
  llvm::SmallVector<int64_t> steps;
  for (StringAttr axis : taken) {
    auto d = static_cast<size_t>(value.find(axis));
    steps.push_back(product(llvm::ArrayRef(value.shape).drop_front(d + 1)));
    rest[d] =
        StringAttr(); // No axis of the result has this name: it stays put.
  }
  Cursor at(result->axes, result->shape);
  unsigned base = at.follow(rest, value.shape);
  llvm::SmallVector<unsigned> places, limits;
  llvm::SmallVector<const Tensor *> indices, ragged;
  for (auto [axis, index] : llvm::zip(taken, op.getIndices())) {
    indices.push_back(&machine.get(index));
    places.push_back(at.follow(*indices.back()));
    const Tensor *extents = machine.space.raggedExtent(axis);
    bool known = extents && llvm::all_of(extents->axes, [&](StringAttr on) {
                   return result->find(on) >= 0;
                 });
    ragged.push_back(known ? extents : nullptr);
    limits.push_back(known ? at.follow(*extents) : 0);
  }
  result->narrow = value.narrow;
  for (int64_t i = 0, n = result->size(); i < n; ++i, at.next()) {
    int64_t from = at[base];
    uint8_t flags = Present;
    bool outside = false;
    for (auto [k, axis] : llvm::enumerate(taken)) {
      int64_t index = indices[k]->integer[at[places[k]]];
      uint8_t own = indices[k]->flags[at[places[k]]];
      flags = joined(flags, own);
      if (inside(machine.space, axis, ragged[k], ragged[k] ? at[limits[k]] : 0,
                 index))
        from += index * steps[k];
      else
        outside = true;
    }
    if (outside) {
      result->flags[i] = flags | Bad;
      continue;
    }
    result->copy(i, value, from);
    uint8_t own = value.flags[from];
    result->flags[i] = joined(flags, own);
  }
  machine.space.cutRagged(*result);
  machine.set(op.getResult(), std::move(*result));
  return Error::success();
}

static Error checkRename(Machine &machine, RenameOp op, StringAttr from,
                         StringAttr to) {
  std::optional<int64_t> a = machine.space.extent(from),
                         b = machine.space.extent(to);
  if (a && b && *a == *b &&
      machine.space.isRagged(from) == machine.space.isRagged(to))
    return Error::success();
  return errorAt(op, "with " + from.getValue() + " as " + to.getValue() +
                         ": the axes have different extents");
}

static Error evaluateRename(Machine &machine, RenameOp op) {
  AxisList from = axisNames(op.getFrom()), to = axisNames(op.getTo());
  const Tensor &source = machine.get(op.getValue());
  for (auto [old, fresh] : llvm::zip(from, to))
    if (Error error = checkRename(machine, op, old, fresh))
      return error;
  llvm::SmallVector<StringAttr> renamed(source.axes);
  for (StringAttr &axis : renamed)
    if (auto found = llvm::find(from, axis); found != from.end())
      axis = to[found - from.begin()];
  // The axes of a value are sorted, so new names may move its elements.
  Expected<Tensor> result = machine.blank(op.getResult());
  if (!result)
    return errorAt(op, result.takeError());
  result->narrow = source.narrow;
  Cursor at(result->axes, result->shape);
  unsigned s = at.follow(renamed, source.shape);
  for (int64_t i = 0, n = result->size(); i < n; ++i, at.next()) {
    result->copy(i, source, at[s]);
    result->flags[i] = source.flags[at[s]];
  }
  machine.space.cutRagged(*result);
  machine.set(op.getResult(), std::move(*result));
  return Error::success();
}

void addValueEvaluators(EvaluatorTable &table) {
  addEvaluator<IndexOp, evaluateIndex>(table);
  addEvaluator<ExtentOp, evaluateExtent>(table);
  addEvaluator<ConstantOp, evaluateConstant>(table);
  addEvaluator<AndOp, evaluateAnd>(table);
  addEvaluator<OrOp, evaluateOr>(table);
  addEvaluator<SelectOp, evaluateSelect>(table);
  addEvaluator<WhereOp, evaluateWhere>(table);
  addEvaluator<TakeOp, evaluateTake>(table);
  addEvaluator<RenameOp, evaluateRename>(table);
}

} // namespace attn::reference
