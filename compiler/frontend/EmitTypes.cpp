//===- EmitTypes.cpp - names, types and places ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/frontend/Emit.h"
#include "mlir/IR/Location.h"

using namespace mlir;
using namespace attn;
using attn::language::EmitContext;

static AffineExprKind affineKind(language::Extent::Kind kind) {
  switch (kind) {
  case language::Extent::Kind::Mul:
    return AffineExprKind::Mul;
  case language::Extent::Kind::Div:
    return AffineExprKind::FloorDiv;
  case language::Extent::Kind::Mod:
    return AffineExprKind::Mod;
  default:
    return AffineExprKind::Add;
  }
}

ExtentAttr EmitContext::extent(const Extent &extent) const {
  switch (extent.kind()) {
  case Extent::Kind::Constant:
    return ExtentAttr::constant(context, extent.value());
  case Extent::Kind::Axis:
    return ExtentAttr::named(context, program.axes[extent.axis()].name);
  case Extent::Kind::Dim:
    return ExtentAttr::named(context, program.describe(extent));
  default:
    break;
  }
  ExtentAttr left = this->extent(extent.lhs()), right = this->extent(extent.rhs());
  if (extent.kind() == Extent::Kind::Sub)
    return ExtentAttr::subtract(left, right);
  return ExtentAttr::binary(affineKind(extent.kind()), left, right);
}

Type EmitContext::storedElement(Dtype dtype) const {
  mlir::Builder builder(context);
  switch (dtype) {
  case Dtype::F32:
    return builder.getF32Type();
  case Dtype::F16:
    return builder.getF16Type();
  case Dtype::BF16:
    return builder.getBF16Type();
  case Dtype::F8E4M3:
    return Float8E4M3FNType::get(context);
  case Dtype::F8E5M2:
    return Float8E5M2Type::get(context);
  case Dtype::I8:
    return builder.getIntegerType(8);
  case Dtype::U8:
    return builder.getIntegerType(8, /*isSigned=*/false);
  case Dtype::I32:
    return builder.getI32Type();
  case Dtype::I64:
    return builder.getI64Type();
  case Dtype::Bool:
    return builder.getI1Type();
  }
  llvm_unreachable("every dtype is above");
}

RefType EmitContext::refType(const Stored &stored) const {
  SmallVector<DimAttr> dims;
  for (const std::vector<Extent> &factors : stored.dims) {
    SmallVector<ExtentAttr> extents;
    for (const Extent &factor : factors)
      extents.push_back(extent(factor));
    dims.push_back(DimAttr::get(context, extents));
  }
  return RefType::get(context, dims, storedElement(stored.dtype));
}

Type EmitContext::element(const Node *node) const {
  mlir::Builder builder(context);
  if (node->kind == ValueKind::Bool)
    return builder.getI1Type();
  if (node->kind == ValueKind::Int)
    return builder.getI64Type();
  return node->wide ? Type(builder.getF64Type()) : Type(builder.getF32Type());
}

ValueType EmitContext::valueType(const Node *node, Type element) const {
  SmallVector<StringAttr> names;
  for (unsigned axis : node->axes.list())
    names.push_back(axisName(axis));
  return ValueType::get(names, element);
}

ArrayAttr EmitContext::axisNames(ArrayRef<unsigned> axes) const {
  SmallVector<Attribute> names;
  for (unsigned axis : axes)
    names.push_back(axisName(axis));
  return ArrayAttr::get(context, names);
}

ArrayAttr EmitContext::axisNames(AxisSet axes) const { return axisNames(axes.list()); }

Location EmitContext::location(llvm::SMRange range) const {
  unsigned buffer = sources.FindBufferContainingLoc(range.Start);
  if (!buffer)
    return UnknownLoc::get(context);
  auto [line, column] = sources.getLineAndColumn(range.Start, buffer);
  return FileLineColLoc::get(context, sources.getMemoryBuffer(buffer)->getBufferIdentifier(), line, column);
}

/// Text in a def is called from its use.
Location EmitContext::location(const Place &place) const {
  Location text = location(place.text);
  return place.use.isValid() ? Location(CallSiteLoc::get(text, location(place.use))) : text;
}

Location EmitContext::location(const Node *node) const {
  Location place = location(node->place);
  return node->name.empty() ? place : Location(NameLoc::get(StringAttr::get(context, node->name), place));
}
