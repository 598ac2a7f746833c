//===- PlanExpressions.cpp - values as nodes of a plan --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/halide/PlanExpressions.h"

#include "compiler/cpu/FunctionScope.h"
#include "schedules/halide/CompileStage.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace attn;

llvm::Error attn::cannotSay(const llvm::Twine &what) { return llvm::createStringError(what); }

llvm::Error attn::checkStored(WriteOp write) {
  Type value = valueType(write.getValue()).getElementType(), stored = write.getRef().getType().getElementType();
  if (isa<FloatType>(value) && !value.isF64() && (isa<FloatType>(stored) || stored.isInteger(8)))
    return llvm::Error::success();
  return cannotSay("a result that is no float, or is stored as an integer of more than 8 bits");
}

static std::optional<PlanElement> elementOf(Type type) {
  if (type.isF32())
    return PlanElement::F32;
  if (type.isF16())
    return PlanElement::F16;
  if (type.isBF16())
    return PlanElement::BF16;
  auto integer = dyn_cast<IntegerType>(type);
  if (!integer)
    return std::nullopt;
  switch (integer.getWidth()) {
  case 1:
    return PlanElement::Bool;
  case 8:
    return integer.isUnsigned() ? PlanElement::U8 : PlanElement::I8;
  case 32:
    return PlanElement::I32;
  case 64:
    return PlanElement::I64;
  }
  return std::nullopt;
}

static PlanKind kindOf(Type type) {
  return type.isF64() ? PlanKind::F64 : isa<FloatType>(type) ? PlanKind::F32 : type.isInteger(1) ? PlanKind::Bool : PlanKind::I64;
}

static std::string text(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

int64_t PlanExpressions::push(PlanNode node) {
  plan.nodes.push_back(std::move(node));
  return int64_t(plan.nodes.size()) - 1;
}

llvm::Expected<int64_t> PlanExpressions::add(PlanNode made, ValueRange inputs) {
  for (Value input : inputs) {
    llvm::Expected<int64_t> operand = node(input);
    if (!operand)
      return operand.takeError();
    made.inputs.push_back(*operand);
  }
  return push(std::move(made));
}

int64_t PlanExpressions::scalar(PlanScalar wanted, PlanKind kind) {
  if (wanted.number == PlanNumber::Extent) {
    Attribute axis = StringAttr::get(layout.getKernel()->getContext(), wanted.axis);
    wanted.known = constantExtent(layout.getSignature(), cast<StringAttr>(axis)).value_or(-1);
  }
  int64_t number = 0;
  for (const PlanScalar &known : plan.scalars) {
    if (known.number == wanted.number && known.axis == wanted.axis && known.ref == wanted.ref &&
        known.factor == wanted.factor)
      break;
    ++number;
  }
  if (number == int64_t(plan.scalars.size()))
    plan.scalars.push_back(wanted);
  return push({"scalar", kind, "", number, 0, 0, {}});
}

int64_t PlanExpressions::extentScalar(StringAttr axis) {
  return plan.nodes[scalar({PlanNumber::Extent, axis.str(), {}, 0, PlanElement::I64})].number;
}

void PlanExpressions::give(Value value, llvm::StringRef op, int64_t number) {
  known[value] = push({op.str(), PlanKind::F32, "", number, 0, 0, {}});
}

llvm::Expected<int64_t> PlanExpressions::node(Value value) {
  auto found = known.find(value);
  if (found != known.end())
    return found->second;
  llvm::Expected<int64_t> made = translate(value);
  if (made)
    known[value] = *made;
  return made;
}

llvm::Expected<int64_t> PlanExpressions::translate(Value value) {
  using Made = llvm::Expected<int64_t>;
  PlanKind kind = kindOf(valueType(value).getElementType());
  return llvm::TypeSwitch<Operation *, Made>(value.getDefiningOp())
      .Case([&](IndexOp op) -> Made {
        std::string axis = op.getAxis().str();
        if (isFixed(op.getAxisAttr()))
          return scalar({PlanNumber::Index, axis, {}, 0, PlanElement::I64});
        return push({"index", kind, axis, 0, 0, 0, {}});
      })
      .Case([&](ExtentOp op) -> Made {
        return scalar({PlanNumber::Extent, op.getAxis().str(), {}, 0, PlanElement::I64});
      })
      .Case([&](ConstantOp op) -> Made {
        PlanNode node{"constant", kind, "", 0, 0, 0, {}};
        if (auto number = dyn_cast<IntegerAttr>(op.getValue()))
          node.integer = kind == PlanKind::Bool ? number.getValue().getBoolValue() : number.getInt();
        else
          node.value = cast<FloatAttr>(op.getValue()).getValueAsDouble();
        return push(node);
      })
      .Case([&](ReadOp op) { return translateRead(op); })
      .Case([&](MapOp op) { return translateMap(op); })
      .Case([&](SelectOp op) { return add({"lazy_select", kind, "", 0, 0, 0, {}}, op->getOperands()); })
      .Case([&](AndOp op) { return add({"and", kind, "", 0, 0, 0, {}}, op->getOperands()); })
      .Case([&](OrOp op) { return add({"or", kind, "", 0, 0, 0, {}}, op->getOperands()); })
      .Case([&](WhereOp op) { return add({"where", kind, "", 0, 0, 0, {}}, op->getOperands()); })
      .Case([&](RopeOp op) { return translateRope(op); })
      .Case([&](ReduceOp op) { return translateReduce(op); })
      .Default([&](Operation *op) -> Made {
        return cannotSay(op->getName().stripDialect() + (isProduct() ? " beside a product" : " inside an attention"));
      });
}

//===----------------------------------------------------------------------===//
// Maps
//===----------------------------------------------------------------------===//

/// The plan's name of a scalar operation.
static std::string nameOf(Operation &op) {
  std::string name = op.getName().stripDialect().str();
  if (auto compare = dyn_cast<arith::CmpIOp>(op))
    name += "." + arith::stringifyCmpIPredicate(compare.getPredicate()).str();
  if (auto compare = dyn_cast<arith::CmpFOp>(op))
    name += "." + arith::stringifyCmpFPredicate(compare.getPredicate()).str();
  return name;
}

llvm::Expected<int64_t> PlanExpressions::scalarNode(Operation &op, llvm::DenseMap<Value, int64_t> &scalars) {
  PlanKind kind = kindOf(op.getResult(0).getType());
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    PlanNode node{"constant", kind, "", 0, 0, 0, {}};
    if (auto number = dyn_cast<IntegerAttr>(constant.getValue()))
      node.integer = kind == PlanKind::Bool ? number.getValue().getBoolValue() : number.getInt();
    else
      node.value = cast<FloatAttr>(constant.getValue()).getValueAsDouble();
    return push(node);
  }
  PlanNode node{nameOf(op), kind, "", 0, 0, 0, {}};
  if (std::string why = whyNoHalideOp(node.op, kind); !why.empty())
    return cannotSay(why);
  for (Value operand : op.getOperands())
    node.inputs.push_back(scalars.lookup(operand));
  return push(std::move(node));
}

llvm::Expected<int64_t> PlanExpressions::translateMap(MapOp map) {
  llvm::DenseMap<Value, int64_t> scalars;
  Block &body = map.getBody().front();
  for (auto [input, scalar] : llvm::zip(map.getInputs(), body.getArguments())) {
    llvm::Expected<int64_t> operand = node(input);
    if (!operand)
      return operand.takeError();
    scalars[scalar] = *operand;
  }
  int64_t last = -1;
  for (Operation &op : body.without_terminator()) {
    llvm::Expected<int64_t> made = scalarNode(op, scalars);
    if (!made)
      return made.takeError();
    scalars[op.getResult(0)] = last = *made;
  }
  int64_t result = scalars.lookup(body.getTerminator()->getOperand(0));
  for (auto [input, scalar] : llvm::zip(map.getInputs(), body.getArguments()))
    if (scalar.use_empty() && !valueType(input).getAxes().empty())
      return cannotSay("a map that does not use its input");
  return result;
}

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

StringAttr PlanExpressions::ownAxis(Value index, ExtentAttr factor) const {
  auto own = index.getDefiningOp<IndexOp>();
  return own && covers(layout.getSignature(), factor, own.getAxisAttr()) ? own.getAxisAttr() : StringAttr();
}

llvm::Expected<PlanTensor> PlanExpressions::describe(Value ref, ValueRange indices) {
  auto type = cast<RefType>(ref.getType());
  PlanTensor made;
  if (auto buffer = ref.getDefiningOp<BufferOp>()) {
    made.ref = {true, llvm::find(layout.getBuffers(), buffer) - layout.getBuffers().begin()};
    made.name = "buffer" + std::to_string(made.ref.number);
  } else {
    made.ref = {false, int64_t(cast<BlockArgument>(ref).getArgNumber())};
    made.name = layout.getSignature().args[made.ref.number].getName().str();
  }
  std::optional<PlanElement> element = elementOf(type.getElementType());
  if (!element)
    return cannotSay("elements of type " + text(type.getElementType()) + " (of " + made.name + ")");
  made.element = *element;
  for (auto [i, factor] : llvm::enumerate(type.getFactors())) {
    StringAttr axis = ownAxis(indices[i], factor);
    if (axis && isFixed(axis))
      made.fixed.push_back({int64_t(i), axis.str()});
    else
      made.factors.push_back(i);
  }
  return made;
}

int64_t PlanExpressions::numberOf(const PlanTensor &made) {
  auto known = llvm::find_if(plan.tensors, [&](const PlanTensor &other) { return other.sees(made); });
  if (known != plan.tensors.end())
    return known - plan.tensors.begin();
  plan.tensors.push_back(made);
  // How large its copy on the device is.
  if (plan.part == PlanPart::Device)
    for (int64_t factor : made.factors)
      scalar({PlanNumber::Factor, "", made.ref, factor, PlanElement::I64});
  return int64_t(plan.tensors.size()) - 1;
}

llvm::Expected<int64_t> PlanExpressions::tensor(Value ref, ValueRange indices) {
  llvm::Expected<PlanTensor> made = describe(ref, indices);
  if (!made)
    return made.takeError();
  return numberOf(*made);
}

llvm::Expected<int64_t> PlanExpressions::translateRead(ReadOp read) {
  PlanKind kind = kindOf(read.getType().getElementType());
  auto argument = dyn_cast<BlockArgument>(read.getRef());
  if (argument && FrameLayout::isByValue(layout.getSignature(), argument.getArgNumber())) {
    Type stored = cast<RefType>(argument.getType()).getElementType();
    std::optional<PlanElement> element = elementOf(stored);
    if (!element)
      return cannotSay("elements of type " + text(stored));
    return scalar({PlanNumber::Argument, "", {false, int64_t(argument.getArgNumber())}, 0, *element}, kind);
  }
  llvm::Expected<int64_t> made = tensor(read.getRef(), read.getIndices());
  if (!made)
    return made.takeError();
  auto inputs = place(*made, read.getRef(), read.getIndices());
  if (!inputs)
    return inputs.takeError();
  return push({"read", kind, "", *made, 0, 0, std::move(*inputs)});
}

llvm::Expected<std::vector<int64_t>> PlanExpressions::place(int64_t tensor, Value ref, ValueRange indices) {
  std::vector<int64_t> inputs, limits;
  SmallVector<ExtentAttr> factors = cast<RefType>(ref.getType()).getFactors();
  // By number: nodes and tensors move while more of them are made.
  for (int64_t factor : std::vector<int64_t>(plan.tensors[tensor].factors)) {
    llvm::Expected<int64_t> index = node(indices[factor]);
    if (!index)
      return index.takeError();
    inputs.push_back(*index);
    bool isWithin = bool(ownAxis(indices[factor], factors[factor]));
    limits.push_back(isWithin ? -1 : scalar({PlanNumber::Factor, "", plan.tensors[tensor].ref, factor, PlanElement::I64}));
  }
  llvm::append_range(inputs, limits);
  return inputs;
}

bool PlanExpressions::mayBeAbsent(Value value) const {
  Operation *op = value.getDefiningOp();
  if (isa<WhereOp>(op))
    return true;
  if (auto read = dyn_cast<ReadOp>(op)) {
    SmallVector<ExtentAttr> factors = read.getRef().getType().getFactors();
    return llvm::any_of(llvm::zip(read.getIndices(), factors),
                        [&](auto pair) { return !ownAxis(std::get<0>(pair), std::get<1>(pair)); });
  }
  return llvm::any_of(op->getOperands(), [&](Value operand) { return mayBeAbsent(operand); });
}

//===----------------------------------------------------------------------===//
// What follows a product
//===----------------------------------------------------------------------===//

llvm::Expected<int64_t> PlanExpressions::translateRope(RopeOp rope) {
  if (!isProduct())
    return cannotSay("rope inside an attention");
  PlanNode made{"rope", PlanKind::F32, rope.getOver().str(), extentScalar(rope.getPairAxisAttr()), 0, 0, {}};
  made.integer = rope.getPairs() == Pairs::Interleaved;
  return add(std::move(made), {rope.getValue(), rope.getCos(), rope.getSin()});
}

llvm::Expected<int64_t> PlanExpressions::translateReduce(ReduceOp reduce) {
  if (!isProduct())
    return cannotSay("reduce inside an attention");
  if (mayBeAbsent(reduce.getValue()))
    return cannotSay("a reduction of what may be absent");
  llvm::Expected<int64_t> value = node(reduce.getValue());
  if (!value)
    return value.takeError();
  plan.reductions.push_back({stringifyReduction(reduce.getKind()).str(), *value});
  return push({"reduced", PlanKind::F32, "", int64_t(plan.reductions.size()) - 1, 0, 0, {}});
}

llvm::Expected<int64_t> PlanExpressions::readRun(ReadOp read, ArrayRef<StringAttr> axes, llvm::StringRef run) {
  llvm::Expected<PlanTensor> made = describe(read.getRef(), read.getIndices());
  if (!made)
    return made.takeError();
  std::vector<int64_t> inputs, factors;
  for (int64_t factor : made->factors) {
    StringAttr axis = read.getIndices()[factor].getDefiningOp<IndexOp>().getAxisAttr();
    if (llvm::is_contained(axes.drop_back(), axis))
      continue;
    llvm::Expected<int64_t> index = axis == axes.back() ? push({"index", PlanKind::I64, run.str(), 0, 0, 0, {}})
                                                        : node(read.getIndices()[factor]);
    if (!index)
      return index.takeError();
    inputs.push_back(*index);
    factors.push_back(factor);
  }
  made->factors = factors;
  inputs.resize(2 * inputs.size(), -1);
  return push({"read", PlanKind::F32, "", numberOf(*made), 0, 0, std::move(inputs)});
}
