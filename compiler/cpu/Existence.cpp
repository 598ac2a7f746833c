//===- Existence.cpp - points along ragged axes -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A loop over a ragged axis may run to the largest extent; a point exists where its
// index lies within the extent that the other indices give. In a packed dimension a
// run of elements starts where those before it end.
//===----------------------------------------------------------------------===//
#include "compiler/cpu/Expressions.h"

using namespace mlir;
using namespace attn;

Value Expressions::extentAt(StringAttr axis, unsigned slot) {
  if (!f.getLayout().isRagged(axis))
    return f.extent(axis);
  return evaluate(f.getLayout().ragged(axis).getExtent(), slot).value;
}

Value Expressions::existence(ArrayRef<StringAttr> axes, unsigned slot) {
  Value exists;
  for (StringAttr axis : axes) {
    const Scope *scope = binding(axis);
    if (!scope || !f.getLayout().isRagged(axis) || scope->existing.contains(axis) ||
        !llvm::all_of(f.getLayout().dependsOn(axis), [&](StringAttr on) { return binding(on); }))
      continue;
    Value sides[] = {indexAlong(axis, slot), extentAt(axis, slot)};
    unify(sides);
    exists = both(exists, f.less(sides[0], sides[1]));
  }
  return exists;
}

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

static bool isOwnIndex(Value index, StringAttr axis) {
  auto op = index.getDefiningOp<IndexOp>();
  return op && op.getAxisAttr() == axis;
}

/// The number of the factor that is `axis`, alone; that of all factors when there is none.
static size_t factorOf(const Access &access, StringAttr axis) {
  return llvm::find_if(access.factors, [&](ExtentAttr factor) { return factor.getName() == axis; }) -
         access.factors.begin();
}

/// Whether the extent of `ragged` at the place is that at the point.
bool Expressions::isAtOwnPlace(const Access &access, StringAttr ragged, ValueRange indices) const {
  return llvm::all_of(f.getLayout().dependsOn(ragged), [&](StringAttr on) {
    size_t factor = factorOf(access, on);
    return factor == indices.size() || isOwnIndex(indices[factor], on);
  });
}

/// The extent of a ragged axis at a place, whose indices may be others than those of the point.
Value Expressions::limitAt(const Access &access, StringAttr ragged, ValueRange indices, unsigned slot) {
  llvm::SmallVector<std::pair<StringAttr, Value>> moved;
  for (StringAttr on : f.getLayout().dependsOn(ragged)) {
    size_t factor = factorOf(access, on);
    if (factor < indices.size() && !isOwnIndex(indices[factor], on))
      moved.push_back({on, evaluate(indices[factor], slot).value});
  }
  if (moved.empty())
    return extentAt(ragged, slot);
  enter(nullptr);
  for (auto [axis, index] : moved)
    bind(axis, index);
  Value limit = extentAt(ragged, slot);
  leave();
  return limit;
}

/// How many elements lie in front of the run at `index` of a packed axis.
Value Expressions::packedStart(StringAttr ragged, Value index, unsigned slot) {
  StringAttr on = f.getLayout().dependsOn(ragged).front();
  if (!isOwnIndex(index, on))
    return sumOfExtents(ragged, evaluate(index, slot).value);
  size_t home = homeOf({on});
  std::pair<StringAttr, unsigned> key{ragged, alongLanes(on) ? slot : 0};
  if (Value known = scopes[home].starts.lookup(key))
    return known;
  Value start;
  at(home, [&] { start = sumOfExtents(ragged, indexAlong(on, slot)); });
  scopes[home].starts[key] = start;
  return start;
}

Value Expressions::sumOfExtents(StringAttr ragged, Value end) {
  OpBuilder &b = f.builder();
  StringAttr on = f.getLayout().dependsOn(ragged).front();
  Value all = f.extent(on);
  auto extentOf = [&](Value i) {
    enter(i.getParentBlock()->getParentOp());
    bind(on, i);
    Value extent = extentAt(ragged);
    leave();
    return extent;
  };
  if (!isa<VectorType>(end.getType()))
    return f.loop(f.i64(0), f.min(end, all), f.i64(1), {f.i64(0)}, [&](Value i, ValueRange sum) -> Values {
      return {f.add(sum[0], extentOf(i))};
    })[0];
  Value nothing = asLanes(f.i64(0));
  return f.loop(f.i64(0), all, f.i64(1), {nothing}, [&](Value i, ValueRange sum) -> Values {
    Value isBefore = f.less(asLanes(i), end);
    Value more = arith::SelectOp::create(b, f.loc(), isBefore, asLanes(extentOf(i)), nothing);
    return {arith::AddIOp::create(b, f.loc(), sum[0], more).getResult()};
  })[0];
}
