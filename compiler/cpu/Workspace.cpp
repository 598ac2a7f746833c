//===- Workspace.cpp - where buffers and scratch lie ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "compiler/cpu/Workspace.h"

#include "compiler/emit/StoredType.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace attn;

namespace {

/// Integers that remember whether any of them overflowed.
struct LayoutBuilder {
  OpBuilder &b;
  Location loc;
  const FrameLayout &layout;
  Value frame;
  Value bad;

  Value number(int64_t value) { return arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(value)); }
  Value compare(arith::CmpIPredicate how, Value x, Value y) { return arith::CmpIOp::create(b, loc, how, x, y); }
  Value either(Value x, Value y) { return arith::OrIOp::create(b, loc, x, y); }

  template <typename Op>
  Value checked(Value x, Value y) {
    auto type = LLVM::LLVMStructType::getLiteral(b.getContext(), {b.getI64Type(), b.getI1Type()});
    Value both = Op::create(b, loc, type, x, y);
    bad = either(bad, LLVM::ExtractValueOp::create(b, loc, both, int64_t(1)));
    return LLVM::ExtractValueOp::create(b, loc, both, int64_t(0));
  }
  Value add(Value x, Value y) { return checked<LLVM::SAddWithOverflowOp>(x, y); }
  Value mul(Value x, Value y) { return checked<LLVM::SMulWithOverflowOp>(x, y); }

  Value slot(unsigned index) {
    Type pointer = LLVM::LLVMPointerType::get(b.getContext());
    return LLVM::GEPOp::create(b, loc, pointer, b.getI64Type(), frame, ArrayRef<LLVM::GEPArg>{int32_t(index)});
  }

  /// Exact division; anything else is bad. Never traps.
  Value divide(Value x, Value y) {
    Value zero = number(0), wrong = compare(arith::CmpIPredicate::sle, y, zero);
    Value divisor = arith::SelectOp::create(b, loc, wrong, number(1), y);
    Value rest = arith::RemSIOp::create(b, loc, x, divisor);
    bad = either(bad, either(wrong, compare(arith::CmpIPredicate::ne, rest, zero)));
    return arith::DivSIOp::create(b, loc, x, divisor);
  }

  /// The remainder of floored division by a positive number.
  Value modulo(Value x, Value y) {
    Value zero = number(0), wrong = compare(arith::CmpIPredicate::sle, y, zero);
    bad = either(bad, wrong);
    Value divisor = arith::SelectOp::create(b, loc, wrong, number(1), y);
    Value rest = arith::RemSIOp::create(b, loc, x, divisor);
    Value lifted = arith::AddIOp::create(b, loc, rest, divisor);
    return arith::SelectOp::create(b, loc, compare(arith::CmpIPredicate::slt, rest, zero), lifted, rest);
  }

  /// Null for the name of what is no axis. Along ragged axes buffers have the largest extent.
  Value extent(AffineExpr expr, ArrayRef<StringAttr> names) {
    if (auto constant = dyn_cast<AffineConstantExpr>(expr))
      return number(constant.getValue());
    if (auto symbol = dyn_cast<AffineSymbolExpr>(expr)) {
      AxisAttr axis = layout.getSignature().findAxis(names[symbol.getPosition()]);
      if (!axis)
        return {};
      return LLVM::LoadOp::create(b, loc, b.getI64Type(), slot(layout.axis(axis.getName())));
    }
    auto binary = cast<AffineBinaryOpExpr>(expr);
    Value left = extent(binary.getLHS(), names), right = extent(binary.getRHS(), names);
    if (!left || !right)
      return {};
    switch (binary.getKind()) {
    case AffineExprKind::Add:
      return add(left, right);
    case AffineExprKind::Mul:
      return mul(left, right);
    case AffineExprKind::Mod:
      return modulo(left, right);
    default:
      return divide(left, right);
    }
  }

  /// A size rounded up to the alignment.
  Value aligned(Value bytes) {
    Value up = add(bytes, number(workspaceAlignment - 1));
    return arith::AndIOp::create(b, loc, up, number(-workspaceAlignment));
  }

  /// The bytes of a buffer; 0 when an extent is 0, however large the others are. Null after a diagnostic.
  Value bytes(BufferOp buffer) {
    RefType type = buffer.getType();
    const StoredType *stored = findStoredType(type.getElementType());
    if (!stored) {
      buffer.emitOpError("elements of this type have no size");
      return {};
    }
    Value badBefore = bad, none = arith::ConstantOp::create(b, loc, b.getBoolAttr(false));
    Value isEmpty = none, size = number(stored->bits / 8);
    bad = none;
    for (ExtentAttr factor : type.getFactors()) {
      Value count = extent(factor.getExpr(), factor.getNames());
      if (!count) {
        buffer.emitOpError("extent ") << factor.str() << " is not known when the call begins";
        return {};
      }
      isEmpty = either(isEmpty, compare(arith::CmpIPredicate::eq, count, number(0)));
      size = mul(size, count);
    }
    size = aligned(size);
    bad = either(badBefore, arith::SelectOp::create(b, loc, isEmpty, none, bad));
    return arith::SelectOp::create(b, loc, isEmpty, number(0), size);
  }
};

} // namespace

FailureOr<func::FuncOp> attn::buildWorkspaceLayout(OpBuilder &builder, const FrameLayout &layout,
                                                   func::FuncOp scratch, func::FuncOp shared) {
  Location loc = layout.getKernel().getLoc();
  Type pointer = LLVM::LLVMPointerType::get(builder.getContext()), i64 = builder.getI64Type();
  auto function = func::FuncOp::create(builder, loc, (layout.getSignature().name + ".layout").str(),
                                       builder.getFunctionType({pointer, i64}, i64));
  function.setPrivate();
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(function.addEntryBlock());

  Value fine = arith::ConstantOp::create(builder, loc, builder.getBoolAttr(false));
  LayoutBuilder l{builder, loc, layout, function.getArgument(0), fine};
  LLVM::StoreOp::create(builder, loc, function.getArgument(1), l.slot(layout.workers()));
  Value offset = l.number(0);
  for (BufferOp buffer : layout.getBuffers()) {
    Value bytes = l.bytes(buffer);
    if (!bytes)
      return failure();
    LLVM::StoreOp::create(builder, loc, offset, l.slot(layout.buffer(buffer)));
    offset = l.add(offset, bytes);
  }
  auto bytesOf = [&](func::FuncOp count) {
    return count ? l.aligned(func::CallOp::create(builder, loc, count, ValueRange{l.frame}).getResult(0)) : l.number(0);
  };
  Value perWorker = bytesOf(scratch);
  LLVM::StoreOp::create(builder, loc, offset, l.slot(layout.shared()));
  offset = l.add(offset, bytesOf(shared));
  LLVM::StoreOp::create(builder, loc, offset, l.slot(layout.scratch()));
  LLVM::StoreOp::create(builder, loc, perWorker, l.slot(layout.scratchBytes()));
  offset = l.add(offset, l.mul(perWorker, function.getArgument(1)));
  Value result = arith::SelectOp::create(builder, loc, l.bad, l.number(-1), offset);
  func::ReturnOp::create(builder, loc, result);
  return function;
}
