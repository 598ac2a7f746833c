//===- Panels.cpp - columns that are stored side by side --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "compiler/cpu/Panels.h"

using namespace mlir;
using namespace attn;

namespace {

/// Integers of a stage as affine expressions of the columns' indices: outer columns as they are listed, and then the
/// lane axis.
class ColumnIndices {
public:
  ColumnIndices(const Contraction &product, const FrameLayout &layout)
      : layout(layout), context(product.lane.getContext()), axes(product.outerColumns) {
    axes.push_back(product.lane);
  }

  AffineExpr lane() const { return getAffineDimExpr(axes.size() - 1, context); }

  /// Null where the value is no such expression.
  AffineExpr of(Value value) const {
    Operation *op = value.getDefiningOp();
    if (auto index = dyn_cast_or_null<IndexOp>(op)) {
      auto *found = llvm::find(axes, index.getAxisAttr());
      return found == axes.end() ? AffineExpr() : getAffineDimExpr(found - axes.begin(), context);
    }
    if (auto extent = dyn_cast_or_null<ExtentOp>(op)) {
      std::optional<int64_t> known = constantExtent(layout.getSignature(), extent.getAxisAttr());
      return known ? getAffineConstantExpr(*known, context) : AffineExpr();
    }
    if (auto map = dyn_cast_or_null<MapOp>(op))
      return ofMap(map);
    return {};
  }

private:
  AffineExpr ofMap(MapOp map) const {
    Block &body = map.getBody().front();
    llvm::DenseMap<Value, AffineExpr> known;
    for (auto [scalar, input] : llvm::zip(body.getArguments(), map.getInputs()))
      known[scalar] = of(input);
    for (Operation &op : body.without_terminator())
      known[op.getResult(0)] = ofScalar(&op, known);
    return known.lookup(body.getTerminator()->getOperand(0));
  }

  AffineExpr ofScalar(Operation *op, const llvm::DenseMap<Value, AffineExpr> &known) const {
    if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
      auto number = dyn_cast<IntegerAttr>(constant.getValue());
      return number ? getAffineConstantExpr(number.getInt(), context) : AffineExpr();
    }
    if (op->getNumOperands() != 2)
      return {};
    AffineExpr a = known.lookup(op->getOperand(0)), b = known.lookup(op->getOperand(1));
    if (!a || !b)
      return {};
    if (isa<arith::AddIOp>(op))
      return a + b;
    if (isa<arith::SubIOp>(op))
      return a - b;
    if (isa<arith::MulIOp>(op) && (a.isSymbolicOrConstant() || b.isSymbolicOrConstant()))
      return a * b;
    auto divisor = dyn_cast<AffineConstantExpr>(b);
    return isa<arith::FloorDivSIOp>(op) && divisor && divisor.getValue() > 0 ? a.floorDiv(b) : AffineExpr();
  }

  const FrameLayout &layout;
  MLIRContext *context;
  AxisList axes;
};

/// Whether `expr` minus `lane` is a multiple of `lanes`: it goes up by one from column to column of a slot, without
/// a carry into multiples of `lanes`.
bool countsColumns(AffineExpr expr, AffineExpr lane, int64_t lanes) {
  return (expr - lane).getLargestKnownDivisor() % lanes == 0;
}

/// Whether the expression is the same for all columns of a slot.
bool isOneOfSlot(AffineExpr expr, AffineExpr lane, int64_t lanes) {
  if (!expr.isFunctionOfDim(cast<AffineDimExpr>(lane).getPosition()))
    return true;
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return false;
  switch (expr.getKind()) {
  case AffineExprKind::Add:
  case AffineExprKind::Mul:
    return isOneOfSlot(binary.getLHS(), lane, lanes) && isOneOfSlot(binary.getRHS(), lane, lanes);
  case AffineExprKind::FloorDiv: {
    auto divisor = dyn_cast<AffineConstantExpr>(binary.getRHS());
    return divisor && divisor.getValue() % lanes == 0 && countsColumns(binary.getLHS(), lane, lanes);
  }
  default:
    return false;
  }
}

} // namespace

StoredPanels StoredPanels::find(const Contraction &product, const FrameLayout &layout, int64_t lanes) {
  auto read = product.right.getDefiningOp<ReadOp>();
  if (!read || !isa<BlockArgument>(read.getRef()) || read.getIndices().size() < product.depth.size() + 2)
    return {};
  auto type = cast<RefType>(read.getRef().getType());
  SmallVector<ExtentAttr> factors = type.getFactors();
  std::optional<int64_t> pitch = factors.back().getConstant();
  if (!type.getElementType().isF32() || factors.size() != type.getDims().size() || !pitch || *pitch % lanes != 0)
    return {};
  ColumnIndices columns(product, layout);
  AffineExpr lane = columns.lane();
  size_t outer = factors.size() - 1 - product.depth.size();
  for (auto [i, index] : llvm::enumerate(read.getIndices())) {
    if (i >= outer && i + 1 < factors.size()) {
      auto own = index.getDefiningOp<IndexOp>();
      StringAttr axis = product.depth[i - outer];
      if (!own || own.getAxisAttr() != axis || layout.isRagged(axis) || !covers(layout.getSignature(), factors[i], axis))
        return {};
      continue;
    }
    AffineExpr expr = columns.of(index);
    if (!expr)
      return {};
    expr = simplifyAffineExpr(expr, product.outerColumns.size() + 1, 0);
    bool isLast = i + 1 == factors.size();
    auto last = dyn_cast<AffineBinaryOpExpr>(expr);
    bool fits = isLast ? last && last.getKind() == AffineExprKind::Mod &&
                             last.getRHS() == getAffineConstantExpr(*pitch, lane.getContext()) &&
                             countsColumns(last.getLHS(), lane, lanes)
                       : isOneOfSlot(expr, lane, lanes);
    if (!fits)
      return {};
  }
  return {read, *pitch};
}

Value StoredPanels::address(Expressions &x, const DepthRange &depth, const PanelColumns &columns, const ColumnSlot &slot,
                            Value &inPlace) const {
  FunctionScope &f = x.scope();
  OpBuilder &b = f.builder();
  ReadOp found = read;
  const Access &access = f.access(found.getRef());
  size_t last = access.strides.size() - 1, outer = last - depth.axes.size();
  auto isEqual = [&](Value a, Value other) -> Value {
    return arith::CmpIOp::create(b, f.loc(), arith::CmpIPredicate::eq, a, other);
  };
  inPlace = x.both(inPlace, isEqual(access.strides[last], f.i64(1)));
  for (size_t i = outer; i < last; ++i)
    inPlace = x.both(inPlace, isEqual(access.strides[i], f.mul(f.i64(pitch), depth.step(f, i - outer))));
  Value offset = f.mul(depth.from, access.strides[outer]);
  x.enter(nullptr);
  for (auto [axis, index] : llvm::zip(columns.outer, slot.outer))
    x.bind(axis, index);
  x.bind(columns.lane, slot.first);
  for (auto [i, index] : llvm::enumerate(found.getIndices())) {
    if (i >= outer && i < last)
      continue;
    Value place = x.evaluate(index).value;
    offset = f.add(offset, f.mul(place, access.strides[i]));
    if (i == last)
      continue;
    // As unsigned numbers, negative places are beyond the end as well.
    Value exists = arith::CmpIOp::create(b, f.loc(), arith::CmpIPredicate::ult, place, f.extent(access.factors[i]));
    inPlace = x.both(inPlace, exists);
  }
  x.leave();
  return f.address(access.address, offset, b.getF32Type());
}
