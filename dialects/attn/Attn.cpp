//===- Attn.cpp - registration and helpers ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "dialects/attn/Attn.h"
#include "mlir/Interfaces/FoldInterfaces.h"

using namespace mlir;
using namespace attn;

#include "dialects/attn/AttnDialect.cpp.inc"
#include "dialects/attn/AttnEnums.cpp.inc"
#define GET_OP_CLASSES
#include "dialects/attn/AttnOps.cpp.inc"

namespace {
/// A map's region holds scalars, so its constants stay inside; elsewhere they would not be values.
struct ConstantsStayInMaps : DialectFoldInterface {
  using DialectFoldInterface::DialectFoldInterface;
  bool shouldMaterializeInto(Region *region) const final { return isa<MapOp>(region->getParentOp()); }
};
} // namespace

void AttnDialect::initialize() {
  addInterfaces<ConstantsStayInMaps>();
  registerTypes();
  registerAttributes();
  addOperations<
#define GET_OP_LIST
#include "dialects/attn/AttnOps.cpp.inc"
      >();
}

AxisList attn::unionOfAxes(ValueRange values) {
  AxisList axes;
  for (Value value : values)
    for (StringAttr axis : valueType(value).getAxes())
      if (!llvm::is_contained(axes, axis))
        axes.push_back(axis);
  llvm::sort(axes, [](StringAttr a, StringAttr b) { return a.getValue() < b.getValue(); });
  return axes;
}

AxisList attn::axisNames(ArrayAttr names) {
  AxisList axes;
  for (StringAttr name : names.getAsRange<StringAttr>())
    axes.push_back(name);
  return axes;
}

Type attn::widened(Type stored) {
  Builder builder(stored.getContext());
  if (stored.isF64() || stored.isInteger(1))
    return stored;
  return isa<FloatType>(stored) ? Type(builder.getF32Type()) : Type(builder.getI64Type());
}

template <typename Op>
static void readSignature(Op op, Signature &into) {
  into.name = op.getSymName();
  llvm::append_range(into.args, op.getArgs().template getAsRange<ArgAttr>());
  llvm::append_range(into.axes, op.getAxes().template getAsRange<AxisAttr>());
  llvm::append_range(into.facts, op.getFacts().template getAsRange<AxisAttr>());
  into.body = &op.getBody().front();
  into.precise = op.getPrecise();
}

Signature::Signature(Operation *op) {
  if (auto program = dyn_cast<ProgramOp>(op))
    readSignature(program, *this);
  else
    readSignature(cast<KernelOp>(op), *this);
}

Operation *Signature::around(Operation *op) {
  while (op && !isa<ProgramOp, KernelOp>(op))
    op = op->getParentOp();
  return op;
}

AxisAttr Signature::findAxis(StringAttr axis) const {
  auto *found = llvm::find_if(axes, [&](AxisAttr candidate) { return candidate.getName() == axis; });
  return found == axes.end() ? AxisAttr() : *found;
}
