//===- ContractBlocks.cpp - the products of one panel -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "compiler/cpu/ContractStage.h"
#include "compiler/cpu/PanelStream.h"

using namespace mlir;
using namespace attn;

//===----------------------------------------------------------------------===//
// Register blocks
//===----------------------------------------------------------------------===//

Value ContractTask::inStrip(int64_t r) {
  Value row = f.add(f.sub(blockRow, firstRow), f.i64(r));
  Value column = f.mul(panelInGroup, f.i64(plan.width()));
  return at(f.add(f.add(places.strip, f.mul(row, plan.groupWidth(f))), column));
}

void ContractTask::putAway(ValueRange sums) {
  for (int64_t r = 0; r < plan.rows; ++r) {
    Value row = inStrip(r);
    for (int64_t v = 0; v < plan.vectors; ++v)
      f.store(sums[r * plan.vectors + v], row, f.i64(v * plan.lanes));
  }
}

FunctionScope::Values ContractTask::startingSums(int64_t rows, ArrayRef<Value> slots) {
  Values zeros(rows * slots.size(), f.constant(vectorType(), 0.0));
  if (!isFirst)
    return zeros;
  auto fromStrip = [&] { return sumsInStrip(rows, slots); };
  return f.choose(isFirst, SmallVector<Type>(zeros.size(), vectorType()), [&] { return zeros; }, fromStrip);
}

FunctionScope::Values ContractTask::sumsInStrip(int64_t rows, ArrayRef<Value> slots) {
  Values sums;
  for (int64_t r = 0; r < rows; ++r) {
    Value row = inStrip(r);
    for (Value v : slots)
      sums.push_back(f.load(vectorType(), row, f.mul(v, f.i64(plan.lanes))));
  }
  return sums;
}

FunctionScope::Values ContractTask::allSlots() {
  Values all;
  for (int64_t v = 0; v < plan.vectors; ++v)
    all.push_back(f.i64(v));
  return all;
}

FunctionScope::Values ContractTask::leftRows(int64_t count, Value &step) {
  Values pointers;
  if (shape.addressable) {
    step = leftStep();
    for (int64_t r = 0; r < count; ++r)
      pointers.push_back(leftPointer(blockIndices[r]));
    return pointers;
  }
  step = f.i64(1);
  auto packed = [&](Value r) { return at(f.add(places.left, f.mul(r, places.leftPitch))); };
  overRows(f.i64(count), [&](Value r) { mayBeAbsent |= packRow(x, shape.left, depth, packed(r)); });
  for (int64_t r = 0; r < count; ++r)
    pointers.push_back(packed(f.i64(r)));
  return pointers;
}

FunctionScope::Values ContractTask::product(int64_t rows) {
  Value step;
  Values pointers = leftRows(rows, step), sums = startingSums(rows, allSlots());
  Value points = f.mul(f.sub(depth.to, depth.from), depth.inner(f));
  Type element = f.builder().getF32Type();
  return emitMicroKernel(
      f, rows, plan.vectors, f.i64(0), points, sums,
      [&](int64_t r, Value k) { return f.load(element, pointers[r], f.mul(k, step)); },
      [&](int64_t v, Value k) {
        if (stored)
          return f.load(vectorType(), stored, plan.panels.offset(f, depth, v, plan.lanes, k));
        Value offset = f.add(f.mul(k, f.i64(plan.width())), f.i64(v * plan.lanes));
        return f.load(vectorType(), at(places.panel), offset);
      });
}

void ContractTask::locateRows(Value row, ArrayRef<Value> indices) {
  blockRow = row;
  blockIndices = {Values(indices)};
  for (int64_t r = 1; r < plan.rows; ++r)
    blockIndices.push_back(nextRow(blockIndices.back(), hasRow(f.i64(r))));
}

void ContractTask::emitRowBlock(Value row, ArrayRef<Value> indices) {
  locateRows(row, indices);
  Value some = rowExists(0);
  for (int64_t r = 1; r < plan.rows && some; ++r)
    some = x.either(some, rowExists(r));
  if (some)
    f.when(some, [&] { inScope(x, [&] { multiplyBlock(); }); });
  else
    multiplyBlock();
}

/// Sums of few rows are in the strip. Behind them there is nothing: the last one stands for the others, which are not stored.
FunctionScope::Values ContractTask::productOrFew() {
  auto padded = [&] {
    Values sums = sumsInStrip(plan.fewRows, allSlots());
    while (sums.size() < size_t(plan.rows * plan.vectors))
      sums.push_back(sums[sums.size() - plan.vectors]);
    return sums;
  };
  auto all = [&] {
    Values sums;
    inScope(x, [&] { sums = product(plan.rows); });
    return sums;
  };
  return f.choose(hasFewRows, SmallVector<Type>(plan.rows * plan.vectors, vectorType()), padded, all);
}

void ContractTask::multiplyBlock() {
  Values sums = hasFewRows ? productOrFew() : product(plan.rows);
  if (!isLast)
    return emitEpilogue(sums);
  f.when(isLast, [&] { inScope(x, [&] { emitEpilogue(sums); }); }, [&] { putAway(sums); });
}

//===----------------------------------------------------------------------===//
// Few rows
//===----------------------------------------------------------------------===//

Value ContractTask::areRowsFew() { return f.less(plan.extentOf(f, shape.rows), f.i64(plan.fewRows + 1)); }

Value ContractTask::canStream() {
  AxisList axes(depth.axes);
  axes.push_back(shape.lane);
  if (!plan.fewRows || innermostAxis(readAlong(shape.right, axes)) != depth.axes.back())
    return {};
  return x.both(x.both(areRowsFew(), isWhole), areUnit(x, openStridesAlong(f, shape.right, depth.axes.back())));
}

/// Leaves the sums of the first rows in the strip. A loop of their own inside the choice of `productOrFew` would cost the other one
/// its registers.
void ContractTask::multiplyFew(ArrayRef<Value> firstIndices) {
  locateRows(firstRow, firstIndices);
  Values sums = product(plan.fewRows);
  for (int64_t i = 0; i < int64_t(sums.size()); ++i)
    f.store(sums[i], inStrip(i / plan.vectors), f.i64(i % plan.vectors * plan.lanes));
}

void ContractTask::streamPanel(ArrayRef<Value> firstIndices) {
  locateRows(firstRow, firstIndices);
  Value step;
  Values pointers = leftRows(plan.fewRows, step);
  Type element = f.builder().getF32Type();
  auto scalar = [&](size_t r, Value point) { return f.load(element, pointers[r], f.mul(point, step)); };
  f.loop(f.i64(0), f.i64(plan.vectors), f.i64(1), [&](Value v) {
    inScope(x, [&] {
      ColumnSlot slot = columns.slot(x, v);
      for (auto [axis, index] : llvm::zip(columns.outer, slot.outer))
        x.bind(axis, index);
      Values sums = startingSums(plan.fewRows, v);
      x.withUnitStrides(openStridesAlong(f, shape.right, depth.axes.back()), [&] {
        sums = streamSlot(x, shape.right, depth, shape.lane, slot.first, sums, scalar, mayBeAbsent);
      });
      for (auto [r, sum] : llvm::enumerate(sums))
        f.store(sum, inStrip(r), f.mul(v, f.i64(plan.lanes)));
    });
  });
}
