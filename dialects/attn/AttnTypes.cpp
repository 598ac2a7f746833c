//===- AttnTypes.cpp - values and refs --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "dialects/attn/Attn.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace attn;

#define GET_TYPEDEF_CLASSES
#include "dialects/attn/AttnTypes.cpp.inc"

void AttnDialect::registerTypes() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/attn/AttnTypes.cpp.inc"
      >();
}

/// Axes are a set: sorted by name, each once.
static SmallVector<StringAttr> asSet(ArrayRef<StringAttr> axes) {
  SmallVector<StringAttr> sorted(axes);
  llvm::sort(sorted, [](StringAttr a, StringAttr b) { return a.getValue() < b.getValue(); });
  sorted.erase(llvm::unique(sorted), sorted.end());
  return sorted;
}

ValueType ValueType::get(ArrayRef<StringAttr> axes, Type elementType) {
  return Base::get(elementType.getContext(), ArrayRef<StringAttr>(asSet(axes)), elementType);
}

ValueType ValueType::getChecked(llvm::function_ref<InFlightDiagnostic()> emitError, ArrayRef<StringAttr> axes,
                                Type elementType) {
  return Base::getChecked(emitError, elementType.getContext(), ArrayRef<StringAttr>(asSet(axes)), elementType);
}

LogicalResult ValueType::verify(llvm::function_ref<InFlightDiagnostic()> emitError, ArrayRef<StringAttr> axes,
                                Type element) {
  if (element.isF32() || element.isF64() || element.isInteger(64) || element.isInteger(1))
    return success();
  return emitError() << "a value's element is f32, f64, i64 or i1, not " << element;
}

ValueType ValueType::without(ArrayRef<StringAttr> axes) const {
  SmallVector<StringAttr> kept;
  for (StringAttr axis : getAxes())
    if (!llvm::is_contained(axes, axis))
      kept.push_back(axis);
  return get(kept, getElementType());
}

Type ValueType::parse(AsmParser &parser) {
  SmallVector<StringAttr> axes;
  Type element;
  auto axis = [&]() -> ParseResult {
    StringRef name;
    if (parser.parseKeyword(&name))
      return failure();
    axes.push_back(StringAttr::get(parser.getContext(), name));
    return success();
  };
  if (parser.parseLess() || parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, axis) || parser.parseComma() ||
      parser.parseType(element) || parser.parseGreater())
    return {};
  return getChecked([&] { return parser.emitError(parser.getNameLoc()); }, axes, element);
}

void ValueType::print(AsmPrinter &printer) const {
  printer << "<[";
  llvm::interleaveComma(getAxes(), printer, [&](StringAttr axis) { printer << axis.getValue(); });
  printer << "], " << getElementType() << '>';
}

SmallVector<ExtentAttr> RefType::getFactors() const {
  SmallVector<ExtentAttr> factors;
  for (DimAttr dim : getDims())
    llvm::append_range(factors, dim.getFactors());
  return factors;
}

RefType RefType::get(ArrayRef<DimAttr> dims, Type elementType) {
  return Base::get(elementType.getContext(), dims, elementType);
}

Type RefType::parse(AsmParser &parser) {
  SmallVector<DimAttr> dims;
  Type element;
  auto dim = [&]() -> ParseResult {
    FailureOr<DimAttr> parsed = DimAttr::parseDim(parser);
    if (failed(parsed))
      return failure();
    dims.push_back(*parsed);
    return success();
  };
  if (parser.parseLess() || parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, dim) || parser.parseComma() ||
      parser.parseType(element) || parser.parseGreater())
    return {};
  return get(dims, element);
}

void RefType::print(AsmPrinter &printer) const {
  printer << "<[";
  llvm::interleaveComma(getDims(), printer, [&](DimAttr dim) { printer << dim.str(); });
  printer << "], " << getElementType() << '>';
}
