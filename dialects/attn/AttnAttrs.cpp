//===- AttnAttrs.cpp - extents, dimensions, axes ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Extent expressions: building, printing as the language writes them, parsing, evaluating.
//===----------------------------------------------------------------------===//
#include "dialects/attn/Attn.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/CheckedArithmetic.h"

using namespace mlir;
using namespace attn;

#define GET_ATTRDEF_CLASSES
#include "dialects/attn/AttnAttrs.cpp.inc"

void AttnDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/attn/AttnAttrs.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Building
//===----------------------------------------------------------------------===//

/// Puts an expression over `names` (in any order, some unused) into its one form.
static ExtentAttr normalized(MLIRContext *context, AffineExpr expr, ArrayRef<StringAttr> names) {
  SmallVector<unsigned> used;
  for (unsigned i = 0; i < names.size(); ++i)
    if (expr.isFunctionOfSymbol(i))
      used.push_back(i);
  llvm::sort(used, [&](unsigned a, unsigned b) { return names[a].getValue() < names[b].getValue(); });
  SmallVector<AffineExpr> replacements(names.size(), getAffineConstantExpr(0, context));
  SmallVector<StringAttr> kept;
  for (auto [position, i] : llvm::enumerate(used)) {
    replacements[i] = getAffineSymbolExpr(position, context);
    kept.push_back(names[i]);
  }
  AffineExpr renamed = expr.replaceDimsAndSymbols({}, replacements);
  renamed = simplifyAffineExpr(renamed, 0, kept.size());
  return ExtentAttr::get(context, renamed, kept);
}

ExtentAttr ExtentAttr::named(MLIRContext *context, StringRef name) {
  return get(context, getAffineSymbolExpr(0, context), {StringAttr::get(context, name)});
}

ExtentAttr ExtentAttr::constant(MLIRContext *context, int64_t value) {
  return get(context, getAffineConstantExpr(value, context), {});
}

ExtentAttr ExtentAttr::binary(AffineExprKind kind, ExtentAttr a, ExtentAttr b) {
  MLIRContext *context = a.getContext();
  SmallVector<StringAttr> names(a.getNames());
  SmallVector<AffineExpr> renumbered;
  for (StringAttr name : b.getNames()) {
    auto *found = llvm::find(names, name);
    renumbered.push_back(getAffineSymbolExpr(found - names.begin(), context));
    if (found == names.end())
      names.push_back(name);
  }
  AffineExpr right = b.getExpr().replaceSymbols(renumbered);
  return normalized(context, getAffineBinaryOpExpr(kind, a.getExpr(), right), names);
}

ExtentAttr ExtentAttr::subtract(ExtentAttr a, ExtentAttr b) {
  ExtentAttr minusB = binary(AffineExprKind::Mul, b, constant(a.getContext(), -1));
  return binary(AffineExprKind::Add, a, minusB);
}

ExtentAttr ExtentAttr::substitute(llvm::function_ref<ExtentAttr(StringAttr)> replacement) const {
  SmallVector<StringAttr> names;
  SmallVector<AffineExpr> expressions;
  MLIRContext *context = getContext();
  for (StringAttr old : getNames()) {
    ExtentAttr with = replacement(old);
    if (!with)
      with = named(context, old);
    SmallVector<AffineExpr> renumbered;
    for (StringAttr inner : with.getNames()) {
      auto *found = llvm::find(names, inner);
      renumbered.push_back(getAffineSymbolExpr(found - names.begin(), context));
      if (found == names.end())
        names.push_back(inner);
    }
    expressions.push_back(with.getExpr().replaceSymbols(renumbered));
  }
  return normalized(context, getExpr().replaceSymbols(expressions), names);
}

//===----------------------------------------------------------------------===//
// Asking
//===----------------------------------------------------------------------===//

StringAttr ExtentAttr::getName() const { return isa<AffineSymbolExpr>(getExpr()) ? getNames().front() : StringAttr(); }

std::optional<int64_t> ExtentAttr::getConstant() const {
  if (auto constant = dyn_cast<AffineConstantExpr>(getExpr()))
    return constant.getValue();
  return std::nullopt;
}

namespace {
/// Evaluates with checks; stops at the first fault.
struct Evaluator {
  ExtentAttr extent;
  llvm::function_ref<std::optional<int64_t>(StringRef)> lookup;

  llvm::Error fault(const llvm::Twine &why) {
    return llvm::createStringError(llvm::inconvertibleErrorCode(), llvm::Twine(extent.str()) + ": " + why);
  }

  llvm::Expected<int64_t> operator()(AffineExpr expr) {
    if (auto constant = dyn_cast<AffineConstantExpr>(expr))
      return constant.getValue();
    if (auto symbol = dyn_cast<AffineSymbolExpr>(expr)) {
      StringRef name = extent.getNames()[symbol.getPosition()].getValue();
      if (std::optional<int64_t> value = lookup(name))
        return *value;
      return fault("the extent of " + name + " is not known");
    }
    auto binary = cast<AffineBinaryOpExpr>(expr);
    llvm::Expected<int64_t> left = (*this)(binary.getLHS());
    if (!left)
      return left.takeError();
    llvm::Expected<int64_t> right = (*this)(binary.getRHS());
    if (!right)
      return right.takeError();
    return combine(binary.getKind(), *left, *right);
  }

  llvm::Expected<int64_t> combine(AffineExprKind kind, int64_t a, int64_t b) {
    std::optional<int64_t> result;
    switch (kind) {
    case AffineExprKind::Add:
      result = llvm::checkedAdd(a, b);
      break;
    case AffineExprKind::Mul:
      result = llvm::checkedMul(a, b);
      break;
    default:
      if (b == 0)
        return fault("division by zero");
      if (kind == AffineExprKind::Mod)
        return ((a % b) + std::abs(b)) % std::abs(b);
      if (a % b != 0)
        return fault(llvm::Twine(a) + " is not divisible by " + llvm::Twine(b));
      return a / b;
    }
    if (!result)
      return fault("the value does not fit in 64 bits");
    return *result;
  }
};
} // namespace

llvm::Expected<int64_t> ExtentAttr::evaluate(llvm::function_ref<std::optional<int64_t>(StringRef)> lookup) const {
  return Evaluator{*this, lookup}(getExpr());
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

/// Binding strength: 0 sum, 1 product, 2 atom.
static void printExpression(llvm::raw_ostream &os, AffineExpr expr, ArrayRef<StringAttr> names, int strength);

static void printSum(llvm::raw_ostream &os, AffineBinaryOpExpr sum, ArrayRef<StringAttr> names) {
  printExpression(os, sum.getLHS(), names, 0);
  AffineExpr right = sum.getRHS();
  if (auto constant = dyn_cast<AffineConstantExpr>(right); constant && constant.getValue() < 0) {
    os << " - " << -constant.getValue();
    return;
  }
  auto product = dyn_cast<AffineBinaryOpExpr>(right);
  auto factor = product && product.getKind() == AffineExprKind::Mul ? dyn_cast<AffineConstantExpr>(product.getRHS())
                                                                     : AffineConstantExpr();
  if (factor && factor.getValue() < 0) {
    os << " - ";
    printExpression(os, product.getLHS() * -factor.getValue(), names, 1);
    return;
  }
  os << " + ";
  printExpression(os, right, names, 1);
}

static void printExpression(llvm::raw_ostream &os, AffineExpr expr, ArrayRef<StringAttr> names, int strength) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr)) {
    os << constant.getValue();
    return;
  }
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr)) {
    os << names[symbol.getPosition()].getValue();
    return;
  }
  auto binary = cast<AffineBinaryOpExpr>(expr);
  int own = binary.getKind() == AffineExprKind::Add ? 0 : 1;
  if (own < strength)
    os << '(';
  if (own == 0) {
    printSum(os, binary, names);
  } else {
    printExpression(os, binary.getLHS(), names, 1);
    os << (binary.getKind() == AffineExprKind::Mul ? " * " : binary.getKind() == AffineExprKind::Mod ? " mod " : " / ");
    printExpression(os, binary.getRHS(), names, 2);
  }
  if (own < strength)
    os << ')';
}

std::string ExtentAttr::str() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  printExpression(os, getExpr(), getNames(), 0);
  return text;
}

namespace {
/// Recursive descent over `sum = term {(+|-) term}`, `term = atom {(*|/|%) atom}`.
struct ExtentParser {
  AsmParser &parser;
  MLIRContext *context = parser.getContext();

  FailureOr<ExtentAttr> atom() {
    int64_t number;
    OptionalParseResult integer = parser.parseOptionalInteger(number);
    if (integer.has_value())
      return failed(*integer) ? FailureOr<ExtentAttr>() : FailureOr<ExtentAttr>(ExtentAttr::constant(context, number));
    if (succeeded(parser.parseOptionalLParen())) {
      FailureOr<ExtentAttr> inner = sum();
      if (failed(inner) || parser.parseRParen())
        return failure();
      return inner;
    }
    StringRef name;
    if (parser.parseKeyword(&name))
      return failure();
    return ExtentAttr::named(context, name);
  }

  FailureOr<ExtentAttr> term(std::optional<ExtentAttr> first = std::nullopt) {
    FailureOr<ExtentAttr> left = first ? FailureOr<ExtentAttr>(*first) : atom();
    while (succeeded(left)) {
      AffineExprKind kind;
      if (succeeded(parser.parseOptionalStar()))
        kind = AffineExprKind::Mul;
      else if (succeeded(parser.parseOptionalSlash()))
        kind = AffineExprKind::FloorDiv;
      else if (succeeded(parser.parseOptionalKeyword("mod")))
        kind = AffineExprKind::Mod;
      else
        break;
      FailureOr<ExtentAttr> right = atom();
      if (failed(right))
        return failure();
      left = ExtentAttr::binary(kind, *left, *right);
    }
    return left;
  }

  FailureOr<ExtentAttr> sum(std::optional<ExtentAttr> first = std::nullopt) {
    FailureOr<ExtentAttr> left = term(first);
    while (succeeded(left)) {
      bool minus = false;
      if (succeeded(parser.parseOptionalMinus()))
        minus = true;
      else if (failed(parser.parseOptionalPlus()))
        break;
      FailureOr<ExtentAttr> right = term();
      if (failed(right))
        return failure();
      left = minus ? ExtentAttr::subtract(*left, *right) : ExtentAttr::binary(AffineExprKind::Add, *left, *right);
    }
    return left;
  }
};
} // namespace

FailureOr<ExtentAttr> ExtentAttr::parseExpression(AsmParser &parser) { return ExtentParser{parser}.sum(); }

Attribute ExtentAttr::parse(AsmParser &parser, Type) {
  if (parser.parseLess())
    return {};
  FailureOr<ExtentAttr> extent = parseExpression(parser);
  if (failed(extent) || parser.parseGreater())
    return {};
  return *extent;
}

void ExtentAttr::print(AsmPrinter &printer) const { printer << '<' << str() << '>'; }

//===----------------------------------------------------------------------===//
// Dimensions and axes
//===----------------------------------------------------------------------===//

std::string DimAttr::str() const {
  if (getFactors().size() == 1)
    return getFactors().front().str();
  std::string text = "(";
  llvm::ListSeparator space(" ");
  for (ExtentAttr factor : getFactors()) {
    text += StringRef(space);
    bool plain = factor.getName() || factor.getConstant();
    text += plain ? factor.str() : "(" + factor.str() + ")";
  }
  return text + ")";
}

FailureOr<DimAttr> DimAttr::parseDim(AsmParser &parser) {
  ExtentParser extents{parser};
  SmallVector<ExtentAttr> factors;
  if (failed(parser.parseOptionalLParen())) {
    FailureOr<ExtentAttr> extent = extents.sum();
    if (failed(extent))
      return failure();
    return get(parser.getContext(), {*extent});
  }
  while (failed(parser.parseOptionalRParen())) {
    FailureOr<ExtentAttr> factor = factors.empty() ? extents.sum() : extents.atom();
    if (failed(factor))
      return failure();
    factors.push_back(*factor);
  }
  if (factors.size() == 1) { // It was an expression in parentheses: go on behind it.
    FailureOr<ExtentAttr> extent = extents.sum(factors.front());
    if (failed(extent))
      return failure();
    factors.front() = *extent;
  }
  return get(parser.getContext(), factors);
}

Attribute DimAttr::parse(AsmParser &parser, Type) {
  if (parser.parseLess())
    return {};
  FailureOr<DimAttr> dim = parseDim(parser);
  if (failed(dim) || parser.parseGreater())
    return {};
  return *dim;
}

void DimAttr::print(AsmPrinter &printer) const { printer << '<' << str() << '>'; }

Attribute AxisAttr::parse(AsmParser &parser, Type) {
  StringRef name;
  SmallVector<StringAttr> dependsOn;
  ExtentAttr extent;
  auto dependency = [&]() -> ParseResult {
    StringRef axis;
    if (parser.parseKeyword(&axis))
      return failure();
    dependsOn.push_back(StringAttr::get(parser.getContext(), axis));
    return success();
  };
  if (parser.parseLess() || parser.parseKeyword(&name))
    return {};
  if (succeeded(parser.parseOptionalEqual())) {
    FailureOr<ExtentAttr> parsed = ExtentAttr::parseExpression(parser);
    if (failed(parsed))
      return {};
    extent = *parsed;
  } else if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, dependency)) {
    return {};
  }
  if (parser.parseGreater())
    return {};
  return get(parser.getContext(), StringAttr::get(parser.getContext(), name), dependsOn, extent);
}

void AxisAttr::print(AsmPrinter &printer) const {
  printer << '<' << getName().getValue();
  if (getExtent()) {
    printer << " = " << getExtent().str();
  } else {
    printer << '[';
    llvm::interleaveComma(getDependsOn(), printer, [&](StringAttr axis) { printer << axis.getValue(); });
    printer << ']';
  }
  printer << '>';
}
