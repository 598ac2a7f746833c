//===- Descriptor.cpp - a signature as attn_bind reads it -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "compiler/cpu/Descriptor.h"

#include "compiler/cpu/Frame.h"
#include "compiler/emit/StoredType.h"
#include "runtime/bind/Descriptor.h"

using namespace mlir;
using namespace attn;

namespace {

struct DescriptorBuilder {
  Operation *op;
  const Signature &signature;
  Tables &tables;

  /// Words of a name: an axis, or a dimension such as `x.0`. Nothing for what is known only per index.
  bool appendName(StringRef name, SmallVectorImpl<int64_t> &code) {
    auto [argument, dimension] = name.rsplit('.');
    int64_t number;
    if (!dimension.empty() && !dimension.getAsInteger(10, number)) {
      for (auto [i, arg] : llvm::enumerate(signature.args))
        if (arg.getName().getValue() == argument) {
          code.append({ATTN_OP_DIM, static_cast<int64_t>(i), number});
          return true;
        }
      return false;
    }
    for (auto [i, axis] : llvm::enumerate(signature.axes))
      if (axis.getName().getValue() == name && !axis.isRagged()) {
        code.append({ATTN_OP_AXIS, static_cast<int64_t>(i)});
        return true;
      }
    return false;
  }

  bool append(AffineExpr expr, ArrayRef<StringAttr> names, SmallVectorImpl<int64_t> &code) {
    if (auto constant = dyn_cast<AffineConstantExpr>(expr)) {
      code.append({ATTN_OP_PUSH, constant.getValue()});
      return true;
    }
    if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
      return appendName(names[symbol.getPosition()].getValue(), code);
    auto binary = cast<AffineBinaryOpExpr>(expr);
    if (!append(binary.getLHS(), names, code) || !append(binary.getRHS(), names, code))
      return false;
    code.push_back(binary.getKind() == AffineExprKind::Add   ? ATTN_OP_ADD
                   : binary.getKind() == AffineExprKind::Mul ? ATTN_OP_MUL
                   : binary.getKind() == AffineExprKind::Mod ? ATTN_OP_MOD
                                                             : ATTN_OP_DIV);
    return true;
  }

  /// The two words of an attn_expr; code null where a ragged axis takes part.
  Tables::Words expression(ExtentAttr extent) {
    SmallVector<int64_t> code;
    FlatSymbolRefAttr words;
    if (append(extent.getExpr(), extent.getNames(), code)) {
      code.push_back(ATTN_OP_END);
      words = tables.numbers(code);
    }
    return {words, tables.text(extent.str())};
  }

  Tables::Words dimension(DimAttr dim) {
    Tables::Words factors;
    for (ExtentAttr factor : dim.getFactors())
      factors.append(expression(factor));
    return {static_cast<int64_t>(dim.getFactors().size()), tables.table(factors), tables.text(dim.str())};
  }

  FailureOr<Tables::Words> argument(unsigned i) {
    RefType type = signature.argType(i);
    const StoredType *stored = findStoredType(type.getElementType());
    StringRef name = signature.args[i].getName().getValue();
    if (!stored)
      return op->emitError("argument ") << name << ": elements of type " << type.getElementType()
                                        << " cannot be passed to a kernel";
    Tables::Words dims;
    for (DimAttr dim : type.getDims())
      dims.append(dimension(dim));
    return Tables::Words{tables.text(name),
                         static_cast<int64_t>(signature.args[i].getMode()),
                         stored->code,
                         stored->bits,
                         FrameLayout::isByValue(signature, i) ? int64_t(1) : int64_t(0),
                         static_cast<int64_t>(type.getDims().size()),
                         tables.table(dims)};
  }

  Tables::Words axes() {
    Tables::Words words;
    for (AxisAttr axis : signature.axes) {
      words.push_back(tables.text(axis.getName().getValue()));
      if (axis.isRagged())
        words.append({FlatSymbolRefAttr(), tables.text("its own length")});
      else
        words.append(expression(axis.getExtent()));
    }
    return words;
  }

  Tables::Words facts(int64_t &count) {
    Tables::Words words;
    for (AxisAttr fact : signature.facts)
      for (auto [i, axis] : llvm::enumerate(signature.axes)) {
        if (axis.getName() != fact.getName() || axis.isRagged() || fact.isRagged())
          continue;
        Tables::Words sides = expression(fact.getExtent());
        if (!sides.front().symbol) // Over a ragged axis: nothing that is known before the call.
          continue;
        words.push_back(static_cast<int64_t>(i));
        words.append(sides);
        ++count;
      }
    return words;
  }
};

} // namespace

static_assert(int64_t(Mode::In) == ATTN_MODE_IN && int64_t(Mode::InOut) == ATTN_MODE_INOUT &&
              int64_t(Mode::Out) == ATTN_MODE_OUT);

FailureOr<FlatSymbolRefAttr> attn::buildDescriptor(Operation *op, const Signature &signature, int64_t deviceType,
                                                   Tables &tables) {
  DescriptorBuilder builder{op, signature, tables};
  Tables::Words args;
  for (unsigned i = 0; i < signature.args.size(); ++i) {
    FailureOr<Tables::Words> words = builder.argument(i);
    if (failed(words))
      return failure();
    args.append(*words);
  }
  int64_t numFacts = 0;
  Tables::Words facts = builder.facts(numFacts);
  // Requirements over extents and data alike are the kernel's own code; see Entry.cpp.
  return tables.table({int64_t(ATTN_DESC_VERSION), tables.text(signature.name),
                       static_cast<int64_t>(signature.args.size()), tables.table(args),
                       static_cast<int64_t>(signature.axes.size()), tables.table(builder.axes()), numFacts,
                       tables.table(facts), int64_t(0), FlatSymbolRefAttr(), deviceType},
                      "descriptor");
}
