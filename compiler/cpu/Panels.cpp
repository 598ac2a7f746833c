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

  /// The number of a column among those of the product, row-major; null where the extents in between are not known.
  AffineExpr number() const {
    AffineExpr number = getAffineConstantExpr(0, context);
    for (auto [i, axis] : llvm::enumerate(axes)) {
      std::optional<int64_t> extent = constantExtent(layout.getSignature(), axis);
      if (i > 0 && !extent)
        return {};
      number = number * extent.value_or(1) + getAffineDimExpr(i, context);
    }
    return number;
  }
  AffineExpr simplified(AffineExpr expr) const { return simplifyAffineExpr(expr, axes.size(), 0); }

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

} // namespace

StoredPanels StoredPanels::find(const Contraction &product, const FrameLayout &layout, int64_t lanes, int64_t vectors) {
  auto read = product.right.getDefiningOp<ReadOp>();
  if (!read || !isa<BlockArgument>(read.getRef()) || read.getIndices().size() != product.depth.size() + 2)
    return {};
  auto type = cast<RefType>(read.getRef().getType());
  SmallVector<ExtentAttr> factors = type.getFactors();
  std::optional<int64_t> pitch = factors.back().getConstant();
  bool isFront = type.getDims().front().getFactors().size() == 1, isBack = type.getDims().back().getFactors().size() == 1;
  if (!type.getElementType().isF32() || !isFront || !isBack || !pitch || *pitch % lanes != 0 || lanes * vectors % *pitch != 0)
    return {};
  // Slots of several rows of columns follow one another where each row fills its slots.
  std::optional<int64_t> row = constantExtent(layout.getSignature(), product.lane);
  if (!product.outerColumns.empty() && (!row || *row % lanes != 0))
    return {};
  for (auto [i, axis] : llvm::enumerate(product.depth)) {
    auto index = read.getIndices()[i + 1].getDefiningOp<IndexOp>();
    if (!index || index.getAxisAttr() != axis || layout.isRagged(axis) || !covers(layout.getSignature(), factors[i + 1], axis))
      return {};
  }
  ColumnIndices columns(product, layout);
  AffineExpr number = columns.number(), panel = columns.of(read.getIndices().front()), rest = columns.of(read.getIndices().back());
  if (!number || !panel || !rest || columns.simplified(rest - number % *pitch) != 0 ||
      !isa<AffineConstantExpr>(columns.simplified(panel - number.floorDiv(*pitch))))
    return {};
  return {read, *pitch, lanes * vectors / *pitch};
}

Value StoredPanels::size(FunctionScope &f, const DepthRange &depth) const {
  return f.mul(f.i64(pitch), f.extent(ArrayRef<StringAttr>(depth.axes)));
}

Value StoredPanels::address(Expressions &x, const DepthRange &depth, const PanelColumns &columns, const ColumnSlot &first,
                            Value &inPlace) const {
  FunctionScope &f = x.scope();
  OpBuilder &b = f.builder();
  ReadOp found = read;
  const Access &access = f.access(found.getRef());
  auto require = [&](arith::CmpIPredicate predicate, Value a, Value other) {
    inPlace = x.both(inPlace, arith::CmpIOp::create(b, f.loc(), predicate, a, other));
  };
  size_t last = access.strides.size() - 1;
  require(arith::CmpIPredicate::eq, access.strides.front(), size(f, depth));
  for (size_t i = 0; i < depth.axes.size(); ++i)
    require(arith::CmpIPredicate::eq, access.strides[i + 1], f.mul(f.i64(pitch), depth.step(f, i)));
  require(arith::CmpIPredicate::eq, access.strides[last], f.i64(1));
  x.enter(nullptr);
  for (auto [axis, index] : llvm::zip(columns.outer, first.outer))
    x.bind(axis, index);
  x.bind(columns.lane, first.first);
  Value panel = x.evaluate(found.getIndices().front()).value;
  x.leave();
  require(arith::CmpIPredicate::sge, panel, f.i64(0));
  require(arith::CmpIPredicate::sle, f.add(panel, f.i64(count)), f.extent(access.factors.front()));
  Value point = f.mul(depth.from, f.mul(f.i64(pitch), depth.step(f, 0)));
  return f.address(access.address, f.add(f.mul(panel, size(f, depth)), point), b.getF32Type());
}

Value StoredPanels::offset(FunctionScope &f, const DepthRange &depth, int64_t v, int64_t lanes, Value k) const {
  Value panel = f.mul(f.i64(v * lanes / pitch), size(f, depth));
  return f.add(f.add(f.mul(k, f.i64(pitch)), panel), f.i64(v * lanes % pitch));
}
