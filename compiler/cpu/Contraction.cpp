//===- Contraction.cpp - the axes of a matrix product -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "compiler/cpu/Contraction.h"
#include "compiler/cpu/FunctionScope.h"

using namespace mlir;
using namespace attn;

static StringAttr axisOfIndex(Value index) {
  auto op = index.getDefiningOp<IndexOp>();
  return op ? op.getAxisAttr() : StringAttr();
}

ReadOp attn::readAlong(Value value, ArrayRef<StringAttr> axes) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return {};
  if (auto read = dyn_cast<ReadOp>(op)) {
    bool along = llvm::any_of(read.getIndices(), [&](Value i) { return llvm::is_contained(axes, axisOfIndex(i)); });
    return along ? read : ReadOp();
  }
  for (Value operand : op->getOperands())
    if (isa<ValueType>(operand.getType()))
      if (ReadOp read = readAlong(operand, axes))
        return read;
  return {};
}

StringAttr attn::innermostAxis(ReadOp read) {
  if (!read || read.getIndices().empty())
    return {};
  ArrayRef<StringAttr> axes = valueType(read.getIndices().back()).getAxes();
  StringAttr own = axisOfIndex(read.getIndices().back());
  return own || axes.size() != 1 ? own : axes.front();
}

AxisList attn::inStoredOrder(ArrayRef<StringAttr> axes, ValueRange indices) {
  AxisList stored, ordered;
  for (Value index : indices)
    if (StringAttr axis = axisOfIndex(index); axis && llvm::is_contained(axes, axis) && !llvm::is_contained(stored, axis))
      stored.push_back(axis);
  for (StringAttr axis : axes)
    if (!llvm::is_contained(stored, axis))
      ordered.push_back(axis);
  llvm::append_range(ordered, stored);
  return ordered;
}

/// The dimension that each factor belongs to; a buffer is one run of memory.
static SmallVector<unsigned> runsOf(Value ref) {
  SmallVector<unsigned> runs;
  for (auto [i, dim] : llvm::enumerate(cast<RefType>(ref.getType()).getDims()))
    runs.append(dim.getFactors().size(), ref.getDefiningOp<BufferOp>() ? 0 : i);
  return runs;
}

/// Whether the f32 elements of `read` can be addressed by row and a single depth index.
static bool isAddressable(ReadOp read, const Contraction &contraction, const FrameLayout &layout) {
  auto type = cast<RefType>(read.getRef().getType());
  if (!type.getElementType().isF32() || type.isScalar())
    return false;
  SmallVector<unsigned> runs = runsOf(read.getRef());
  SmallVector<ExtentAttr> factors = type.getFactors();
  AxisList seen;
  std::optional<unsigned> last; // Position of the depth axis before.
  for (auto [i, index] : llvm::enumerate(read.getIndices())) {
    StringAttr axis = axisOfIndex(index);
    bool isPacked = axis && layout.isRagged(axis) && i > 0 && runs[i] == runs[i - 1] && isa<BlockArgument>(read.getRef());
    if (!axis || isPacked || llvm::is_contained(seen, axis) || !covers(layout.getSignature(), factors[i], axis))
      return false;
    seen.push_back(axis);
    if (!llvm::is_contained(contraction.depth, axis))
      continue;
    if (last && (*last + 1 != i || runs[*last] != runs[i]))
      return false;
    last = i;
  }
  return last && seen.size() == read.getIndices().size();
}

static void classify(Contraction &result) {
  ValueType left = valueType(result.left), right = valueType(result.right);
  AxisList over = axisNames(result.op.getOver());
  for (StringAttr axis : left.getAxes())
    if (!llvm::is_contained(over, axis))
      (right.hasAxis(axis) ? result.batch : result.rows).push_back(axis);
  for (StringAttr axis : right.getAxes())
    if (!left.hasAxis(axis))
      result.outerColumns.push_back(axis);
  ReadOp read = readAlong(result.left, over);
  result.depth = read ? inStoredOrder(over, read.getIndices()) : over;
  if (ReadOp rows = readAlong(result.left, result.rows))
    result.rows = inStoredOrder(result.rows, rows.getIndices());
}

/// Why the stage's one contraction and its writes do not fit; empty when they do.
static std::string misfit(const Contraction &contraction, ArrayRef<WriteOp> writes) {
  ContractOp op = contraction.op;
  for (Value value : {Value(op.getLhs()), Value(op.getRhs()), Value(op.getResult())})
    if (!valueType(value).getElementType().isF32())
      return "it does not compute in f32";
  ArrayRef<StringAttr> axes = op.getType().getAxes();
  for (WriteOp write : writes)
    if (ArrayRef<StringAttr>(unionOfAxes(write.getIndices())) != axes)
      return "a result has other axes than the contraction";
  if (contraction.outerColumns.empty())
    return "no side has an axis of its own";
  return {};
}

/// The axis that a rotation or a reduction runs along; null for others.
static StringAttr rowAxis(Operation *op) {
  if (auto rope = dyn_cast<RopeOp>(op))
    return rope.getOverAttr();
  auto reduce = dyn_cast<ReduceOp>(op);
  return reduce && reduce.getOver().size() == 1 ? axisNames(reduce.getOver()).front() : StringAttr();
}

/// Finds the rotations and reductions; false when they do not run along one axis of the columns.
static bool findRowOps(StageOp stage, Contraction &result) {
  for (Operation &op : stage.getBody().front()) {
    if (!isa<RopeOp, ReduceOp>(op))
      continue;
    StringAttr axis = rowAxis(&op);
    if (!llvm::is_contained(result.outerColumns, axis) || (result.lane && axis != result.lane) ||
        ArrayRef(valueType(op.getOperand(0)).getAxes()) != result.op.getType().getAxes())
      return false;
    result.lane = axis;
    result.rowOps.push_back(&op);
  }
  return true;
}

std::optional<Contraction> Contraction::find(StageOp stage, const FrameLayout &layout, std::string &why) {
  SmallVector<ContractOp> contracts(stage.getBody().getOps<ContractOp>());
  SmallVector<WriteOp> writes(stage.getBody().getOps<WriteOp>());
  if (contracts.size() != 1 || writes.empty()) {
    why = "it holds not one contraction";
    return std::nullopt;
  }
  Contraction result;
  result.op = contracts.front();
  result.left = result.op.getLhs();
  result.right = result.op.getRhs();
  ValueType left = valueType(result.left);
  bool rightHasOwn = llvm::any_of(valueType(result.right).getAxes(), [&](StringAttr a) { return !left.hasAxis(a); });
  if (!rightHasOwn)
    std::swap(result.left, result.right);
  classify(result);
  why = misfit(result, writes);
  if (!why.empty())
    return std::nullopt;
  if (!findRowOps(stage, result)) {
    why = "what follows it needs rows along another axis";
    return std::nullopt;
  }
  AxisList columns = inStoredOrder(result.outerColumns, writes.front().getIndices());
  if (!result.lane)
    result.lane = columns.back();
  llvm::erase(columns, result.lane);
  result.outerColumns = columns;
  if (auto read = result.left.getDefiningOp<ReadOp>(); read && isAddressable(read, result, layout))
    result.addressable = read;
  return result;
}
