//===- AttnOps.cpp - verifiers and syntax -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each constraint carries its id from AttnOps.td.
//===----------------------------------------------------------------------===//
#include "dialects/attn/Attn.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace attn;

//===----------------------------------------------------------------------===//
// Signatures of programs and kernels
//===----------------------------------------------------------------------===//

/// `(in "x" %x : type, ...)`
static ParseResult parseSignature(OpAsmParser &parser, SmallVectorImpl<Attribute> &args,
                                  SmallVectorImpl<OpAsmParser::Argument> &blockArgs) {
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Paren, [&]() -> ParseResult {
    StringRef keyword;
    std::string name;
    SMLoc where = parser.getCurrentLocation();
    if (parser.parseKeyword(&keyword) || parser.parseString(&name) ||
        parser.parseArgument(blockArgs.emplace_back(), /*allowType=*/true))
      return failure();
    std::optional<Mode> mode = symbolizeMode(keyword);
    if (!mode)
      return parser.emitError(where, "expected in, inout or out");
    MLIRContext *context = parser.getContext();
    args.push_back(ArgAttr::get(context, StringAttr::get(context, name), *mode));
    return success();
  });
}

static ParseResult parseAxisList(OpAsmParser &parser, StringRef keyword, StringRef attribute, OperationState &result) {
  SmallVector<Attribute> axes;
  auto axis = [&]() -> ParseResult {
    Attribute parsed = AxisAttr::parse(parser, {});
    axes.push_back(parsed);
    return success(parsed != nullptr);
  };
  if (parser.parseKeyword(keyword) || parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, axis))
    return failure();
  result.addAttribute(attribute, parser.getBuilder().getArrayAttr(axes));
  return success();
}

static ParseResult parseProgramLike(OpAsmParser &parser, OperationState &result) {
  StringAttr name;
  SmallVector<Attribute> args;
  SmallVector<OpAsmParser::Argument> blockArgs;
  if (parser.parseSymbolName(name, "sym_name", result.attributes) || parseSignature(parser, args, blockArgs) ||
      parseAxisList(parser, "axes", "axes", result) || parseAxisList(parser, "facts", "facts", result))
    return failure();
  result.addAttribute("args", parser.getBuilder().getArrayAttr(args));
  if (succeeded(parser.parseOptionalKeyword("precise")))
    result.addAttribute("precise", parser.getBuilder().getUnitAttr());
  if (parser.parseOptionalAttrDictWithKeyword(result.attributes) || parser.parseRegion(*result.addRegion(), blockArgs))
    return failure();
  if (result.regions.front()->empty()) {
    Block &block = result.regions.front()->emplaceBlock();
    for (OpAsmParser::Argument &arg : blockArgs)
      block.addArgument(arg.type, parser.getEncodedSourceLoc(parser.getNameLoc()));
  }
  return success();
}

static void printAxisList(OpAsmPrinter &printer, StringRef keyword, ArrayRef<AxisAttr> axes) {
  printer << ' ' << keyword << " [";
  llvm::interleaveComma(axes, printer, [&](AxisAttr axis) { axis.print(printer); });
  printer << ']';
}

static void printProgramLike(OpAsmPrinter &printer, Operation *op) {
  Signature signature(op);
  printer << ' ';
  printer.printSymbolName(signature.name);
  printer << '(';
  for (auto [i, arg] : llvm::enumerate(signature.args)) {
    printer << (i ? ", " : "") << stringifyMode(arg.getMode()) << " \"" << arg.getName().getValue() << "\" ";
    printer.printRegionArgument(signature.body->getArgument(i));
  }
  printer << ')';
  printAxisList(printer, "axes", signature.axes);
  printAxisList(printer, "facts", signature.facts);
  if (signature.precise)
    printer << " precise";
  printer.printOptionalAttrDictWithKeyword(op->getAttrs(), {"sym_name", "args", "axes", "facts", "precise"});
  printer << ' ';
  printer.printRegion(op->getRegion(0), /*printEntryBlockArgs=*/false, /*printBlockTerminators=*/true);
}

static void nameArguments(Operation *op, OpAsmSetValueNameFn setName) {
  Signature signature(op);
  for (auto [value, arg] : llvm::zip(signature.body->getArguments(), signature.args))
    setName(value, arg.getName().getValue());
}

/// program_c2: extents speak of earlier axes and of dimensions that exist.
static LogicalResult verifyAxes(Operation *op, const Signature &signature) {
  llvm::StringSet<> known;
  for (auto [arg, value] : llvm::zip(signature.args, signature.body->getArguments())) {
    auto ref = cast<RefType>(value.getType());
    for (unsigned dim = 0; dim < ref.getDims().size(); ++dim)
      known.insert((arg.getName().getValue() + "." + llvm::Twine(dim)).str());
  }
  for (AxisAttr axis : signature.axes) {
    SmallVector<StringAttr> needed(axis.getDependsOn());
    if (axis.getExtent())
      llvm::append_range(needed, axis.getExtent().getNames());
    for (StringAttr name : needed)
      if (!known.contains(name.getValue()))
        return op->emitOpError("axis ") << axis.getName().getValue() << ": '" << name.getValue()
                                        << "' is not an earlier axis or a dimension";
    if (!known.insert(axis.getName().getValue()).second)
      return op->emitOpError("axis ") << axis.getName().getValue() << " is declared twice";
  }
  return success();
}

/// program_c3: every axis that a value or a buffer bears is declared.
static LogicalResult verifyAxesAreDeclared(Operation *op, const Signature &signature) {
  llvm::SmallPtrSet<Attribute, 16> declared;
  for (AxisAttr axis : signature.axes)
    declared.insert(axis.getName());
  WalkResult result = op->walk([&](Operation *inner) {
    for (Type type : inner->getResultTypes())
      if (auto value = dyn_cast<ValueType>(type))
        for (StringAttr axis : value.getAxes())
          if (!declared.contains(axis)) {
            inner->emitOpError("axis ") << axis.getValue() << " is not declared by the program";
            return WalkResult::interrupt();
          }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

static LogicalResult verifyProgramLike(Operation *op) {
  Signature signature(op);
  if (signature.args.size() != signature.body->getNumArguments()) // program_c1
    return op->emitOpError("has ") << signature.body->getNumArguments() << " arguments and names for "
                                   << signature.args.size();
  for (BlockArgument argument : signature.body->getArguments())
    if (!isa<RefType>(argument.getType())) // program_c1
      return op->emitOpError("argument ") << argument.getArgNumber() << " is not a ref";
  if (failed(verifyAxes(op, signature)))
    return failure();
  return verifyAxesAreDeclared(op, signature);
}

ParseResult ProgramOp::parse(OpAsmParser &parser, OperationState &result) { return parseProgramLike(parser, result); }
void ProgramOp::print(OpAsmPrinter &printer) { printProgramLike(printer, *this); }
LogicalResult ProgramOp::verify() { return verifyProgramLike(*this); }
void ProgramOp::getAsmBlockArgumentNames(Region &, OpAsmSetValueNameFn setName) { nameArguments(*this, setName); }

ParseResult KernelOp::parse(OpAsmParser &parser, OperationState &result) { return parseProgramLike(parser, result); }
void KernelOp::print(OpAsmPrinter &printer) { printProgramLike(printer, *this); }
LogicalResult KernelOp::verify() { return verifyProgramLike(*this); }
void KernelOp::getAsmBlockArgumentNames(Region &, OpAsmSetValueNameFn setName) { nameArguments(*this, setName); }

//===----------------------------------------------------------------------===//
// Shared checks
//===----------------------------------------------------------------------===//

static std::string listed(ArrayRef<StringAttr> axes) {
  std::string text = "[";
  llvm::ListSeparator comma;
  for (StringAttr axis : axes)
    text += (StringRef(comma) + axis.getValue()).str();
  return text + "]";
}

static LogicalResult expectAxes(Operation *op, ValueType type, ArrayRef<StringAttr> axes) {
  if (type.getAxes() == axes)
    return success();
  return op->emitOpError("result has axes ") << listed(type.getAxes()) << ", expected " << listed(axes);
}

static LogicalResult expectHas(Operation *op, Value value, ArrayRef<StringAttr> axes, StringRef what) {
  for (StringAttr axis : axes)
    if (!valueType(value).hasAxis(axis))
      return op->emitOpError(what) << " has no axis " << axis.getValue();
  return success();
}

static LogicalResult expectIndices(Operation *op, RefType ref, ValueRange indices) {
  size_t wanted = ref.getFactors().size();
  if (indices.size() != wanted)
    return op->emitOpError("expects ") << wanted << " indices, has " << indices.size();
  for (Value index : indices)
    if (!valueType(index).isInteger())
      return op->emitOpError("an index is an i64 value");
  return success();
}

static AxisList without(ArrayRef<StringAttr> axes, ArrayRef<StringAttr> gone) {
  AxisList kept;
  for (StringAttr axis : axes)
    if (!llvm::is_contained(gone, axis))
      kept.push_back(axis);
  return kept;
}

//===----------------------------------------------------------------------===//
// Sources
//===----------------------------------------------------------------------===//

LogicalResult IndexOp::verify() {
  if (!getType().isInteger() || !getType().hasAxis(getAxisAttr()))
    return emitOpError("gives an i64 value over ") << getAxis();
  return success();
}

LogicalResult ConstantOp::verify() {
  if (getValue().getType() != getType().getElementType()) // constant_c1
    return emitOpError("the number is ") << getValue().getType() << ", the element " << getType().getElementType();
  return success();
}

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }

LogicalResult ReadOp::verify() {
  if (failed(expectIndices(*this, getRef().getType(), getIndices()))) // read_c1, read_c2
    return failure();
  if (failed(expectAxes(*this, getType(), unionOfAxes(getIndices())))) // read_c3
    return failure();
  return success();
}

/// Parameters are never written by anybody; everything else is read as it stands.
static bool isConstantRef(Value ref) {
  auto argument = dyn_cast<BlockArgument>(ref);
  Operation *owner = argument ? argument.getOwner()->getParentOp() : nullptr;
  if (!owner || !isa<ProgramOp, KernelOp>(owner))
    return false;
  return Signature(owner).args[argument.getArgNumber()].getMode() == Mode::In;
}

void ReadOp::getEffects(SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  if (!isConstantRef(getRef()))
    effects.emplace_back(MemoryEffects::Read::get(), &getRefMutable());
}

LogicalResult WriteOp::verify() {
  if (failed(expectIndices(*this, getRef().getType(), getIndices()))) // write_c1
    return failure();
  AxisList place = unionOfAxes(getIndices());
  SmallVector<Value> written{getValue()};
  if (getCondition())
    written.push_back(getCondition());
  for (Value value : written)
    for (StringAttr axis : valueType(value).getAxes())
      if (!llvm::is_contained(place, axis)) // write_c2
        return emitOpError("the place has no axis ") << axis.getValue();
  return success();
}

void WriteOp::getEffects(SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  effects.emplace_back(MemoryEffects::Write::get(), &getRefMutable());
}

//===----------------------------------------------------------------------===//
// Values from values
//===----------------------------------------------------------------------===//

LogicalResult MapOp::verify() {
  Block &block = getBody().front();
  if (block.getNumArguments() != getInputs().size())
    return emitOpError("the region takes ") << block.getNumArguments() << " scalars for " << getInputs().size();
  for (auto [input, argument] : llvm::zip(getInputs(), block.getArguments()))
    if (valueType(input).getElementType() != argument.getType())
      return emitOpError("the region takes ") << argument.getType() << " for " << input.getType();
  auto yield = cast<YieldOp>(block.getTerminator());
  if (yield.getNumOperands() != 1 || yield.getOperand(0).getType() != getType().getElementType())
    return emitOpError("the region yields one ") << getType().getElementType();
  return expectAxes(*this, getType(), unionOfAxes(getInputs())); // map_c1
}

template <typename Op>
static LogicalResult verifyLazyCondition(Op op) {
  for (Value side : op->getOperands())
    if (!valueType(side).isCondition())
      return op.emitOpError("takes conditions");
  return expectAxes(op, op.getType(), unionOfAxes(op->getOperands()));
}
LogicalResult AndOp::verify() { return verifyLazyCondition(*this); }
LogicalResult OrOp::verify() { return verifyLazyCondition(*this); }

LogicalResult SelectOp::verify() {
  if (!valueType(getCondition()).isCondition())
    return emitOpError("takes a condition first");
  if (valueType(getOnTrue()).getElementType() != getType().getElementType() ||
      valueType(getOnFalse()).getElementType() != getType().getElementType())
    return emitOpError("both values have the result's element");
  return expectAxes(*this, getType(), unionOfAxes(getOperands()));
}

LogicalResult WhereOp::verify() {
  if (!valueType(getCondition()).isCondition())
    return emitOpError("takes a condition");
  if (valueType(getValue()).getElementType() != getType().getElementType())
    return emitOpError("the result has the value's element");
  return expectAxes(*this, getType(), unionOfAxes(getOperands())); // where_c1
}

LogicalResult TakeOp::verify() {
  AxisList taken = axisNames(getAxes());
  if (taken.size() != getIndices().size())
    return emitOpError("one index per axis");
  if (failed(expectHas(*this, getValue(), taken, "the value"))) // take_c1
    return failure();
  AxisList axes = without(valueType(getValue()).getAxes(), taken);
  for (Value index : getIndices()) {
    if (!valueType(index).isInteger()) // take_c2
      return emitOpError("an index is an i64 value");
    llvm::append_range(axes, valueType(index).getAxes());
  }
  return expectAxes(*this, getType(), ValueType::get(axes, getType().getElementType()).getAxes()); // take_c3
}

LogicalResult RenameOp::verify() {
  AxisList from = axisNames(getFrom()), to = axisNames(getTo());
  if (from.size() != to.size())
    return emitOpError("as many new names as old ones");
  if (failed(expectHas(*this, getValue(), from, "the value"))) // rename_c1
    return failure();
  AxisList axes = without(valueType(getValue()).getAxes(), from);
  for (StringAttr axis : to) {
    if (llvm::is_contained(axes, axis)) // rename_c1
      return emitOpError("the value already has axis ") << axis.getValue();
    axes.push_back(axis);
  }
  return expectAxes(*this, getType(), ValueType::get(axes, getType().getElementType()).getAxes());
}

//===----------------------------------------------------------------------===//
// Contractions and reductions
//===----------------------------------------------------------------------===//

LogicalResult ContractOp::verify() {
  AxisList over = axisNames(getOver());
  if (failed(expectHas(*this, getLhs(), over, "the left side")) ||
      failed(expectHas(*this, getRhs(), over, "the right side"))) // contract_c1
    return failure();
  return expectAxes(*this, getType(), without(unionOfAxes(getOperands()), over)); // contract_c2
}

LogicalResult ReduceOp::verify() {
  AxisList over = axisNames(getOver());
  if (failed(expectHas(*this, getValue(), over, "the value"))) // reduce_c1
    return failure();
  return expectAxes(*this, getType(), without(valueType(getValue()).getAxes(), over)); // reduce_c2
}

/// softmax_c1, softmax_c2 and the same for logsumexp.
template <typename Op>
static LogicalResult verifyNormaliser(Op op) {
  AxisList over = axisNames(op.getOver());
  if (failed(expectHas(op, op.getValue(), over, "the value")))
    return failure();
  if (op.getSink())
    for (StringAttr axis : valueType(op.getSink()).getAxes())
      if (llvm::is_contained(over, axis) || !valueType(op.getValue()).hasAxis(axis))
        return op.emitOpError("the sink has axis ") << axis.getValue() << ", which a row does not have";
  return success();
}

LogicalResult SoftmaxOp::verify() {
  if (failed(verifyNormaliser(*this)))
    return failure();
  return expectAxes(*this, getType(), valueType(getValue()).getAxes()); // softmax_c3
}

LogicalResult LogSumExpOp::verify() {
  if (failed(verifyNormaliser(*this)))
    return failure();
  return expectAxes(*this, getType(), without(valueType(getValue()).getAxes(), axisNames(getOver())));
}

LogicalResult RopeOp::verify() {
  if (failed(expectHas(*this, getValue(), {getOverAttr()}, "the value"))) // rope_c1
    return failure();
  if (failed(expectHas(*this, getCos(), {getPairAxisAttr()}, "the cosine")) ||
      failed(expectHas(*this, getSin(), {getPairAxisAttr()}, "the sine"))) // rope_c2
    return failure();
  if (valueType(getValue()).hasAxis(getPairAxisAttr())) // rope_c2
    return emitOpError("the value already has axis ") << getPairAxis();
  return expectAxes(*this, getType(), without(unionOfAxes(getOperands()), {getPairAxisAttr()})); // rope_c3
}
