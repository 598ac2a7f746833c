//===- LinearForm.cpp - integers as multiples of one index ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "compiler/optimize/LinearForm.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace attn;

// As the arithmetic of the program does, that of forms wraps: a sum that fits at the end is right.
static int64_t wrappedSum(int64_t a, int64_t b) { return int64_t(uint64_t(a) + uint64_t(b)); }
static int64_t wrappedProduct(int64_t a, int64_t b) { return int64_t(uint64_t(a) * uint64_t(b)); }

LinearForm LinearForm::scaled(int64_t factor) const {
  LinearForm result;
  result.coefficient = wrappedProduct(coefficient, factor);
  result.constant = wrappedProduct(constant, factor);
  for (auto [multiple, value] : parts)
    result.parts.push_back({wrappedProduct(multiple, factor), value});
  return result;
}

LinearForm LinearForm::plus(const LinearForm &other) const {
  LinearForm result = *this;
  result.coefficient = wrappedSum(coefficient, other.coefficient);
  result.constant = wrappedSum(constant, other.constant);
  for (auto [multiple, value] : other.parts) {
    auto *same = llvm::find_if(result.parts, [v = value](auto &part) { return part.second == v; });
    if (same != result.parts.end())
      same->first = wrappedSum(same->first, multiple);
    else
      result.parts.push_back({multiple, value});
  }
  llvm::erase_if(result.parts, [](auto &part) { return part.first == 0; });
  return result;
}

static bool isSmallValue(Value value) {
  Operation *op = value.getDefiningOp();
  if (auto read = dyn_cast<ReadOp>(op))
    return cast<RefType>(read.getRef().getType()).getElementType().getIntOrFloatBitWidth() <= 32;
  return isa<IndexOp, ExtentOp>(op);
}

bool LinearForm::isSmall() const {
  constexpr int64_t most = int64_t(1) << 60;
  constexpr int64_t mostTimes = int64_t(1) << 16;
  auto within = [](int64_t value, int64_t limit) { return -limit <= value && value <= limit; };
  return within(constant, most) && llvm::all_of(parts, [&](auto &part) {
           return within(part.first, mostTimes) && isSmallValue(part.second);
         });
}

Value LinearForm::rest(OpBuilder &builder, Location loc, int64_t offset) const {
  SmallVector<Value> inputs = llvm::map_to_vector(parts, [](auto &part) { return part.second; });
  int64_t total = wrappedSum(constant, offset);
  if (inputs.empty())
    return constantOf(builder, loc, builder.getI64IntegerAttr(total));
  if (inputs.size() == 1 && parts[0].first == 1 && total == 0)
    return inputs[0];
  return mapOf(builder, loc, inputs, [&](OpBuilder &b, Location loc, ValueRange scalars) -> Value {
    auto number = [&](int64_t value) -> Value { return arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(value)); };
    Value sum;
    for (auto [part, scalar] : llvm::zip(parts, scalars)) {
      if (part.first == -1)
        continue;
      Value term = part.first == 1 ? Value(scalar) : arith::MulIOp::create(b, loc, scalar, number(part.first));
      sum = sum ? Value(arith::AddIOp::create(b, loc, sum, term)) : term;
    }
    bool leading = !sum;
    if (leading)
      sum = number(total);
    for (auto [part, scalar] : llvm::zip(parts, scalars))
      if (part.first == -1)
        sum = arith::SubIOp::create(b, loc, sum, scalar);
    if (!leading && total != 0)
      sum = arith::AddIOp::create(b, loc, sum, number(total));
    return sum;
  });
}

std::optional<LinearForm> LinearForms::ofValue(Value value) {
  if (!valueType(value).isInteger())
    return std::nullopt;
  LinearForm form;
  if (auto constant = value.getDefiningOp<ConstantOp>()) {
    form.constant = cast<IntegerAttr>(constant.getValue()).getInt();
    return form;
  }
  if (auto index = value.getDefiningOp<IndexOp>(); index && index.getAxisAttr() == axis) {
    form.coefficient = 1;
    return form;
  }
  if (auto map = value.getDefiningOp<MapOp>())
    return ofScalar(map, cast<YieldOp>(map.getBody().front().getTerminator()).getOperand(0));
  if (Value part = outside(value)) {
    form.parts.push_back({1, part});
    return form;
  }
  return std::nullopt;
}

std::optional<LinearForm> LinearForms::ofScalar(MapOp map, Value scalar) {
  IntegerAttr number;
  if (matchPattern(scalar, m_Constant(&number))) {
    LinearForm form;
    form.constant = number.getInt();
    return form;
  }
  if (auto argument = dyn_cast<BlockArgument>(scalar))
    return ofValue(map.getInputs()[argument.getArgNumber()]);
  Operation *op = scalar.getDefiningOp();
  if (isa<arith::AddIOp, arith::SubIOp>(op)) {
    auto lhs = ofScalar(map, op->getOperand(0)), rhs = ofScalar(map, op->getOperand(1));
    if (lhs && rhs)
      return lhs->plus(rhs->scaled(isa<arith::SubIOp>(op) ? -1 : 1));
  } else if (isa<arith::MulIOp>(op)) {
    for (unsigned i : {0, 1})
      if (matchPattern(op->getOperand(i), m_Constant(&number)))
        if (auto form = ofScalar(map, op->getOperand(1 - i)))
          return form->scaled(number.getInt());
  }
  // Anything else may be computed apart, if it does not need the index.
  if (Value part = scalarAsValue(map, scalar)) {
    LinearForm form;
    form.parts.push_back({1, part});
    return form;
  }
  return std::nullopt;
}

Value LinearForms::scalarAsValue(MapOp map, Value scalar) {
  llvm::SetVector<Operation *> slice;
  SmallVector<Value> inputs;
  IRMapping scalars;
  SmallVector<BlockArgument> used;
  auto visit = [&](auto &self, Value v) -> bool {
    if (auto argument = dyn_cast<BlockArgument>(v)) {
      if (llvm::is_contained(used, argument))
        return true;
      Value input = map.getInputs()[argument.getArgNumber()];
      Value moved = valueType(input).hasAxis(axis) ? Value() : outside(input);
      if (!moved)
        return false;
      used.push_back(argument);
      inputs.push_back(moved);
      return true;
    }
    Operation *op = v.getDefiningOp();
    if (slice.contains(op))
      return true;
    for (Value operand : op->getOperands())
      if (!self(self, operand))
        return false;
    slice.insert(op);
    return true;
  };
  if (!visit(visit, scalar))
    return {};
  return mapOf(builder, map.getLoc(), inputs, [&](OpBuilder &b, Location, ValueRange arguments) -> Value {
    for (auto [argument, now] : llvm::zip(used, arguments))
      scalars.map(argument, now);
    for (Operation *op : slice)
      b.clone(*op, scalars);
    return scalars.lookup(scalar);
  });
}

Value LinearForms::outside(Value value) {
  if (valueType(value).hasAxis(axis))
    return {};
  Region *home = value.getParentRegion();
  if (!region || !region->isAncestor(home))
    return value;
  Operation *op = value.getDefiningOp();
  if (!op || op->getNumRegions() > 1 || !isMemoryEffectFree(op))
    return {};
  IRMapping mapping;
  for (Value operand : op->getOperands()) {
    Value moved = outside(operand);
    if (!moved)
      return {};
    mapping.map(operand, moved);
  }
  return builder.clone(*op, mapping)->getResult(0);
}
