//===- ContractTask.cpp - one task of a matrix product ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "compiler/cpu/ContractStage.h"
#include "compiler/cpu/RowEpilogue.h"

using namespace mlir;
using namespace attn;

ContractTask::ContractTask(FunctionScope &f, const ContractPlan &plan)
    : f(f), plan(plan), shape(plan.product), places(f, plan), x(f, plan.lanes), scratch(f.workerScratch()) {}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

FunctionScope::Values ContractTask::nextRow(ArrayRef<Value> indices, Value hasNext) {
  OpBuilder &b = f.builder();
  Values next(indices);
  Value carry = hasNext;
  for (size_t i = indices.size(); i-- > 0;) {
    Value raised = f.add(indices[i], f.i64(1));
    next[i] = arith::SelectOp::create(b, f.loc(), carry, raised, indices[i]);
    if (i == 0)
      break;
    carry = arith::CmpIOp::create(b, f.loc(), arith::CmpIPredicate::eq, next[i], f.extent(shape.rows[i]));
    next[i] = arith::SelectOp::create(b, f.loc(), carry, f.i64(0), next[i]);
  }
  return next;
}

void ContractTask::bindRow(ArrayRef<Value> indices) {
  for (auto [axis, index] : llvm::zip(shape.rows, indices))
    x.bind(axis, index);
}

void ContractTask::overRows(Value count, llvm::function_ref<void(Value)> body) {
  f.loop(f.i64(0), count, f.i64(1), blockIndices.front(), [&](Value r, ValueRange carried) {
    Values indices(carried);
    inScope(x, [&] {
      bindRow(indices);
      body(r);
    });
    return nextRow(indices, hasRow(f.add(r, f.i64(1))));
  });
}

Value ContractTask::leftPointer(ArrayRef<Value> indices) {
  ReadOp read = shape.addressable;
  const Access &access = f.access(read.getRef());
  Value offset = f.i64(0);
  for (auto [index, stride] : llvm::zip(read.getIndices(), access.strides)) {
    StringAttr axis = index.getDefiningOp<IndexOp>().getAxisAttr();
    if (axis == depth.axes.front()) {
      offset = f.add(offset, f.mul(depth.from, stride));
      continue;
    }
    if (llvm::is_contained(depth.axes, axis))
      continue;
    auto *row = llvm::find(shape.rows, axis);
    Value here = row != shape.rows.end() ? indices[row - shape.rows.begin()] : x.evaluate(index).value;
    offset = f.add(offset, f.mul(here, stride));
  }
  return f.address(access.address, offset, f.builder().getF32Type());
}

Value ContractTask::leftStep() {
  ReadOp read = shape.addressable;
  for (auto [index, stride] : llvm::zip(read.getIndices(), f.access(read.getRef()).strides))
    if (index.getDefiningOp<IndexOp>().getAxisAttr() == depth.axes.back())
      return stride;
  llvm_unreachable("an addressable side has the depth axes");
}

//===----------------------------------------------------------------------===//
// What follows the product
//===----------------------------------------------------------------------===//

/// A packed 0 in place of an absent element spoils a sum only by meeting a NaN or an infinity, and then the sum
/// is NaN. Such blocks are computed again, point by point.
FunctionScope::Values ContractTask::withoutAbsent(ValueRange sums) {
  OpBuilder &b = f.builder();
  Value isSpoilt;
  for (Value sum : sums) {
    Value isNaN = arith::CmpFOp::create(b, f.loc(), arith::CmpFPredicate::UNO, sum, sum);
    isSpoilt = isSpoilt ? arith::OrIOp::create(b, f.loc(), isSpoilt, isNaN).getResult() : isNaN;
  }
  isSpoilt = vector::ReductionOp::create(b, f.loc(), vector::CombiningKind::OR, isSpoilt);
  auto again = [&] {
    overRows(f.i64(plan.rows), [&](Value r) {
      f.loop(f.i64(0), f.i64(plan.vectors), f.i64(1), [&](Value v) {
        inScope(x, [&] {
          columns.clamp = true;
          columns.bind(x, columns.slot(x, v));
          Value sum = x.evaluateLanes(shape.op->getResult(0)).value;
          f.store(sum, at(places.tile), f.add(f.mul(r, f.i64(plan.width())), f.mul(v, f.i64(plan.lanes))));
        });
      });
    });
    Values results;
    for (size_t i = 0; i < sums.size(); ++i)
      results.push_back(f.load(vectorType(), at(places.tile), f.i64(i * plan.lanes)));
    return results;
  };
  return f.choose(isSpoilt, SmallVector<Type>(sums.size(), vectorType()), again, [&] { return Values(sums); });
}

Value ContractTask::rowExists(size_t r) {
  x.enter(nullptr);
  bindRow(blockIndices[r]);
  Value exists = x.existence(shape.rows);
  x.leave();
  return exists;
}

void ContractTask::emitRow(int64_t r, Value sum) {
  auto write = [&] {
    bindRow(blockIndices[r]);
    x.set(shape.op->getResult(0), 0, {sum, {}});
    for (WriteOp write : plan.writes)
      x.write(write);
  };
  if (Value exists = rowExists(r))
    f.when(exists, [&] { inScope(x, write); });
  else
    write();
}

void ContractTask::emitRows(ValueRange sums, bool clamp) {
  columns.clamp = clamp;
  auto slot = [&](int64_t v) {
    columns.bind(x, slots[v]);
    x.enter(nullptr);
    emitRow(0, sums[v]);
    x.leave();
    // A row must not be computed twice: the result may be an operand too.
    for (int64_t r = 1; r < plan.rows; ++r)
      f.when(hasRow(f.i64(r)), [&] { inScope(x, [&] { emitRow(r, sums[r * plan.vectors + v]); }); });
  };
  for (int64_t v = 0; v < plan.vectors; ++v) {
    if (clamp) {
      Value isThere = f.less(f.add(columns.firstSlot, f.i64(v)), plan.slotCount(f));
      f.when(isThere, [&] { inScope(x, [&] { slot(v); }); });
      continue;
    }
    x.enter(nullptr);
    slot(v);
    x.leave();
  }
}

void ContractTask::emitEpilogue(ValueRange sums) {
  Values results = mayBeAbsent ? withoutAbsent(sums) : Values(sums);
  if (plan.needsRows())
    return putAway(results);
  wholeOrNot([&](bool clamp) { emitRows(results, clamp); });
}

void ContractTask::wholeOrNot(llvm::function_ref<void(bool)> body) {
  if (!isWhole)
    return body(false);
  f.when(
      isWhole, [&] { inScope(x, [&] { body(false); }); }, [&] { inScope(x, [&] { body(true); }); });
}

//===----------------------------------------------------------------------===//
// Panels
//===----------------------------------------------------------------------===//

void ContractTask::locateColumns(Value panel) {
  slots.clear();
  isWhole = {};
  columns = {shape.lane, shape.outerColumns, plan.vectors, f.mul(panel, f.i64(plan.vectors)), false};
  for (int64_t v = 0; v < plan.vectors; ++v)
    slots.push_back(columns.slot(x, f.i64(v)));
  std::optional<int64_t> known = f.constantExtent(shape.lane);
  bool areSlotsWhole = known && *known % plan.lanes == 0;
  if (areSlotsWhole && (*known / plan.lanes) % plan.vectors == 0)
    return;
  isWhole = f.less(f.add(columns.firstSlot, f.i64(plan.vectors - 1)), plan.slotCount(f));
  if (areSlotsWhole)
    return;
  for (const ColumnSlot &slot : slots) {
    Value fits = f.less(f.add(slot.first, f.i64(plan.lanes - 1)), f.extent(shape.lane));
    isWhole = arith::AndIOp::create(f.builder(), f.loc(), isWhole, fits);
  }
}

void ContractTask::packColumns() {
  wholeOrNot([&](bool clamp) {
    columns.clamp = clamp;
    mayBeAbsent |= packPanel(x, shape.right, depth, columns, at(places.panel));
  });
}

void ContractTask::emitRowBlocks(ArrayRef<Value> firstIndices) {
  f.loop(firstRow, endRow, f.i64(plan.rows), firstIndices, [&](Value row, ValueRange indices) {
    inScope(x, [&] { emitRowBlock(row, Values(indices)); });
    return nextRow(blockIndices.back(), hasRow(f.i64(plan.rows)));
  });
}

void ContractTask::emitDepthBlock(Value block) {
  Value step = plan.depthStep(f), blocks = plan.depthBlocks(f);
  depth.axes = shape.depth;
  depth.from = f.mul(block, step);
  depth.to = f.min(f.add(depth.from, step), f.extent(shape.depth.front()));
  if (FunctionScope::constantOf(blocks) != 1) {
    auto is = [&](Value other) -> Value {
      return arith::CmpIOp::create(f.builder(), f.loc(), arith::CmpIPredicate::eq, block, other);
    };
    isFirst = is(f.i64(0));
    isLast = is(f.sub(blocks, f.i64(1)));
  }
  Values counts;
  for (StringAttr axis : shape.rows)
    counts.push_back(f.extent(axis));
  Values first = splitTask(f, firstRow, counts);
  if (plan.panels) {
    hasFewRows = plan.fewRows ? areRowsFew() : Value();
    Value inPlace, address = plan.panels.address(x, depth, columns, slots.front(), inPlace);
    auto multiply = [&] {
      if (hasFewRows)
        f.when(hasFewRows, [&] { inScope(x, [&] { multiplyFew(first); }); });
      emitRowBlocks(first);
    };
    auto read = [&] {
      stored = address;
      multiply();
      stored = {};
    };
    auto pack = [&] {
      packColumns();
      multiply();
    };
    x.doNotRemark(plan.panels.read);
    return f.when(f.likely(inPlace), [&] { inScope(x, read); }, [&] { inScope(x, pack); });
  }
  hasFewRows = canStream();
  if (hasFewRows)
    f.when(hasFewRows, [&] { inScope(x, [&] { streamPanel(first); }); }, [&] { inScope(x, [&] { packColumns(); }); });
  else
    packColumns();
  emitRowBlocks(first);
}

void ContractTask::emitPanel(Value panel) {
  locateColumns(panel);
  Value blocks = plan.depthBlocks(f);
  if (FunctionScope::constantOf(blocks) == 1)
    emitDepthBlock(f.i64(0));
  else
    f.loop(f.i64(0), blocks, f.i64(1), [&](Value block) { inScope(x, [&] { emitDepthBlock(block); }); });
}

//===----------------------------------------------------------------------===//
// Whole rows
//===----------------------------------------------------------------------===//

void ContractTask::emitWholeRow(Value row, ArrayRef<Value> indices, Value group) {
  Value count = plan.groupRows(f), first = f.mul(group, count);
  Value end = f.min(f.add(first, count), plan.extentOf(f, shape.outerColumns));
  Values counts;
  for (StringAttr axis : shape.outerColumns)
    counts.push_back(f.extent(axis));
  Value start = f.add(places.strip, f.mul(f.sub(row, firstRow), plan.groupWidth(f)));
  f.loop(first, end, f.i64(1), [&](Value outer) {
    inScope(x, [&] {
      // What has no lane axis is computed in this scope, where reductions are known.
      bindRow(indices);
      for (auto [axis, index] : llvm::zip(shape.batch, batch))
        x.bind(axis, index);
      for (auto [axis, index] : llvm::zip(shape.outerColumns, splitTask(f, outer, counts)))
        x.bind(axis, index);
      Value column = f.mul(f.mul(f.sub(outer, first), plan.slotsPerRow(f)), f.i64(plan.lanes));
      RowEpilogue rows(x, shape, plan.writes, at(places.rows), places.rowPitch);
      rows.emit(at(f.add(start, column)));
    });
  });
}

void ContractTask::emitWholeRows(Value group) {
  Values counts;
  for (StringAttr axis : shape.rows)
    counts.push_back(f.extent(axis));
  f.loop(firstRow, endRow, f.i64(1), [&](Value row) {
    inScope(x, [&] {
      Values indices = splitTask(f, row, counts);
      bindRow(indices);
      Value exists = x.existence(shape.rows);
      auto emit = [&] { emitWholeRow(row, indices, group); };
      if (exists)
        f.when(exists, [&] { inScope(x, emit); });
      else
        emit();
    });
  });
}

//===----------------------------------------------------------------------===//
// Tasks
//===----------------------------------------------------------------------===//

void ContractTask::emitGroup(Value group) {
  if (!plan.needsRows()) {
    panelInGroup = f.i64(0);
    return emitPanel(group);
  }
  Value panels = plan.groupPanels(f);
  f.loop(f.i64(0), panels, f.i64(1), [&](Value panel) {
    panelInGroup = panel;
    inScope(x, [&] { emitPanel(f.add(f.mul(group, panels), panel)); });
  });
  emitWholeRows(group);
}

LogicalResult ContractTask::emit(Value task) {
  ContractPlan::Part part = plan.partOf(f, task);
  batch = part.batch;
  for (auto [axis, index] : llvm::zip(shape.batch, batch))
    x.bind(axis, index);
  firstRow = part.firstRow;
  endRow = part.endRow;
  emitGroup(part.group);
  return failure(x.failed());
}
