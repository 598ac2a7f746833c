//===- Emit.cpp - from a typed program to the dialect -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/frontend/Emit.h"

using namespace mlir;
using namespace attn;
using attn::language::Emitter;

ProgramOp attn::language::emitProgram(const Program &program, llvm::SourceMgr &sources, OpBuilder &builder) {
  return Emitter(program, sources, builder).run();
}

ProgramOp Emitter::run() {
  OpBuilder::InsertionGuard guard(builder);
  ProgramOp op = createProgram();
  body = &op.getBody().front();
  builder.setInsertionPointToEnd(body);
  planMaps();
  emitFacts();
  emitSteps();
  return op;
}

ProgramOp Emitter::createProgram() {
  SmallVector<Attribute> args, axes, facts;
  SmallVector<Type> types;
  SmallVector<Location> places;
  for (const Stored &stored : program.stored) {
    args.push_back(ArgAttr::get(context, builder.getStringAttr(stored.name), static_cast<attn::Mode>(stored.mode)));
    types.push_back(refType(stored));
    places.push_back(NameLoc::get(builder.getStringAttr(stored.name), location(stored.range)));
  }
  for (unsigned number : program.axisOrder) {
    const Axis &axis = program.axes[number];
    SmallVector<StringAttr> dependsOn;
    for (unsigned on : axis.dependsOn.list())
      dependsOn.push_back(axisName(on));
    ExtentAttr found = axis.extent ? extent(*axis.extent) : ExtentAttr();
    axes.push_back(AxisAttr::get(context, axisName(number), dependsOn, found));
  }
  for (const AxisFact &check : program.checks)
    facts.push_back(AxisAttr::get(context, axisName(check.axis), {}, extent(check.extent)));
  auto op = ProgramOp::create(builder, location(program.range), program.name, builder.getArrayAttr(args),
                              builder.getArrayAttr(axes), builder.getArrayAttr(facts), program.precise);
  op.getBody().emplaceBlock().addArguments(types, places);
  return op;
}

void Emitter::emitFacts() {
  for (unsigned number : program.axisOrder)
    if (const Node *extent = program.axes[number].raggedExtent)
      RaggedOp::create(builder, location(extent), program.axes[number].name, valueOf(extent));
  for (const Requirement &requirement : program.requirements)
    RequireOp::create(builder, location(requirement.condition), valueOf(requirement.condition), requirement.text);
}

void Emitter::emitSteps() {
  for (const Step &step : program.steps) {
    Value value = valueOf(step.value);
    if (!step.isWrite)
      continue;
    SmallVector<Value> indices;
    for (const Node *index : step.indices)
      indices.push_back(valueOf(index));
    Value condition = step.condition ? valueOf(step.condition) : Value();
    WriteOp::create(builder, location(step.place), value, body->getArgument(step.stored), indices, condition);
  }
}

//===----------------------------------------------------------------------===//
// Which nodes share a map
//===----------------------------------------------------------------------===//

/// A pointwise node joins the map of its only user when that user is pointwise over the same
/// axes: over fewer, it would be computed again and again.
void Emitter::planMaps() {
  static constexpr unsigned maxDepth = 32;
  llvm::DenseMap<Key, llvm::SmallVector<const Node *, 2>> users;
  llvm::DenseSet<Key> seen, kept;
  llvm::DenseMap<Key, unsigned> depth;
  for (const std::unique_ptr<Node> &node : program.nodes) {
    if (!node->name.empty())
      kept.insert(keyOf(node.get()));
    if (seen.insert(keyOf(node.get())).second)
      for (const Node *operand : node->operands)
        users[keyOf(operand)].push_back(node.get());
  }
  auto keep = [&](const Node *node) { kept.insert(keyOf(node)); };
  for (const Step &step : program.steps) {
    keep(step.value);
    llvm::for_each(step.indices, keep);
    if (step.condition)
      keep(step.condition);
  }
  for (const std::unique_ptr<Node> &node : program.nodes) {
    Key key = keyOf(node.get());
    unsigned height = 1;
    for (const Node *operand : node->operands)
      if (inlined.contains(keyOf(operand)))
        height = std::max(height, depth[keyOf(operand)] + 1);
    depth[key] = height;
    const auto &by = users[key];
    if (isMapped(node.get()) && by.size() == 1 && isMapped(by[0]) && by[0]->axes == node->axes && !kept.contains(key) &&
        height < maxDepth)
      inlined.insert(key);
  }
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

Value Emitter::valueOf(const Node *node) { return valueOf(node, element(node)); }

Value Emitter::valueOf(const Node *node, Type wanted) {
  if (isNumber(node))
    return ConstantOp::create(builder, location(node), ValueType::get({}, wanted), numberAttr(node, wanted));
  emitTree(node);
  Value value = values.lookup(keyOf(node));
  if (attn::valueType(value).getElementType() == wanted)
    return value;
  auto map = MapOp::create(builder, location(node), valueType(node, wanted), value);
  OpBuilder inner = OpBuilder::atBlockBegin(&map.getBody().emplaceBlock());
  Value scalar = map.getBody().addArgument(attn::valueType(value).getElementType(), location(node));
  YieldOp::create(inner, location(node), convertFloat(scalar, wanted, inner, location(node)));
  return map;
}

Value attn::language::convertFloat(Value scalar, Type wanted, OpBuilder &builder, Location location) {
  if (scalar.getType() == wanted)
    return scalar;
  if (scalar.getType().getIntOrFloatBitWidth() < wanted.getIntOrFloatBitWidth())
    return arith::ExtFOp::create(builder, location, wanted, scalar);
  return arith::TruncFOp::create(builder, location, wanted, scalar);
}

Value Emitter::indexOf(unsigned axis, Location location) {
  AxisList names{axisName(axis)};
  for (unsigned on : program.axes[axis].dependsOn.list())
    names.push_back(axisName(on));
  return IndexOp::create(builder, location, ValueType::get(names, builder.getI64Type()), axisName(axis));
}

/// Without recursion: defs can make deep trees.
void Emitter::emitTree(const Node *root) {
  SmallVector<std::pair<const Node *, bool>> open{{root, false}};
  while (!open.empty()) {
    auto [node, ready] = open.pop_back_val();
    if (isNumber(node) || values.count(keyOf(node)))
      continue;
    if (ready) {
      values[keyOf(node)] = emitNode(node);
      continue;
    }
    open.push_back({node, true});
    SmallVector<const Node *> inputs(node->operands.begin(), node->operands.end());
    if (isMapped(node)) {
      inputs.clear();
      collectInputs(node, inputs);
    }
    for (const Node *input : llvm::reverse(inputs))
      open.push_back({input, false});
  }
}

Value Emitter::emitNode(const Node *node) {
  Location place = location(node);
  Type type = valueType(node, element(node));
  auto operand = [&](unsigned i) { return valueOf(node->operands[i]); };
  auto sameElement = [&](unsigned i) { return valueOf(node->operands[i], element(node)); };
  auto indices = [&](unsigned first) {
    SmallVector<Value> values;
    for (unsigned i = first; i < node->operands.size(); ++i)
      values.push_back(operand(i));
    return values;
  };
  switch (node->op) {
  case Op::Index:
    return indexOf(node->axis, place);
  case Op::Extent:
    return ExtentOp::create(builder, place, type, axisName(node->axis));
  case Op::Read:
    return emitRead(node, indices(0));
  case Op::Take:
    return TakeOp::create(builder, place, type, sameElement(0), axisNames(node->taken), indices(1));
  case Op::Rename:
    return RenameOp::create(builder, place, type, sameElement(0), axisNames(node->taken), axisNames(node->renamed));
  case Op::Select:
    return emitSelect(node);
  case Op::And:
    return AndOp::create(builder, place, type, operand(0), operand(1));
  case Op::Or:
    return OrOp::create(builder, place, type, operand(0), operand(1));
  case Op::Where:
    return WhereOp::create(builder, place, type, sameElement(0), operand(1));
  case Op::Contract:
    return ContractOp::create(builder, place, type, sameElement(0), sameElement(1), axisNames(node->over),
                              static_cast<attn::Role>(node->role));
  case Op::Reduce:
    return ReduceOp::create(builder, place, type, static_cast<attn::Reduction>(node->reduction), sameElement(0),
                            axisNames(node->over));
  case Op::Softmax:
    return SoftmaxOp::create(builder, place, type, sameElement(0), axisNames(node->over), sinkOf(node));
  case Op::LogSumExp:
    return LogSumExpOp::create(builder, place, type, sameElement(0), axisNames(node->over), sinkOf(node));
  case Op::Rope:
    return RopeOp::create(builder, place, type, sameElement(0), sameElement(1), sameElement(2), axisName(node->axis),
                          axisName(node->pairAxis), node->interleaved ? Pairs::Interleaved : Pairs::Half);
  case Op::Pointwise:
  case Op::ToFloat:
    return emitMap(node);
  case Op::Poison:
  case Op::Constant:
    break;
  }
  llvm_unreachable("poison never gets here, and numbers stand where they are used");
}

Value Emitter::sinkOf(const Node *node) {
  return node->operands.size() > 1 ? valueOf(node->operands[1], element(node)) : Value();
}

/// Whether a value is made of the weights of a softmax, pair by pair.
static bool isMadeOfWeights(Value value) {
  SmallVector<Value> open{value};
  llvm::DenseSet<Value> seen;
  while (!open.empty()) {
    Value next = open.pop_back_val();
    Operation *op = next.getDefiningOp();
    if (isa_and_nonnull<SoftmaxOp>(op))
      return true;
    if (isa_and_nonnull<MapOp, SelectOp, WhereOp, TakeOp, RenameOp>(op) && seen.insert(next).second)
      llvm::append_range(open, op->getOperands());
  }
  return false;
}

/// What takes the place of a weight is absent where the weight is: dropping weights brings no masked pair back.
Value Emitter::emitSelect(const Node *node) {
  Location place = location(node);
  auto side = [&](unsigned i) { return valueOf(node->operands[i], element(node)); };
  Value condition = valueOf(node->operands[0]), yes = side(1), no = side(2);
  Value chosen = SelectOp::create(builder, place, valueType(node, element(node)), condition, yes, no);
  bool isYes = isMadeOfWeights(yes), isNo = isMadeOfWeights(no);
  if (isYes == isNo)
    return chosen;
  Value weight = isYes ? yes : no;
  Block *body = new Block;
  for (Value input : {chosen, weight})
    body->addArgument(attn::valueType(input).getElementType(), place);
  OpBuilder inside(context);
  inside.setInsertionPointToEnd(body);
  YieldOp::create(inside, place, body->getArgument(0));
  auto map = MapOp::create(builder, place, chosen.getType(), ValueRange{chosen, weight});
  map.getBody().push_back(body);
  return map;
}

/// What is stored is widened to f32, and further where the value ends in an index.
Value Emitter::emitRead(const Node *node, ArrayRef<Value> indices) {
  Value ref = body->getArgument(node->stored);
  Type stored = widened(cast<RefType>(ref.getType()).getElementType());
  return ReadOp::create(builder, location(node), valueType(node, stored), ref, indices);
}

//===----------------------------------------------------------------------===//
// Maps
//===----------------------------------------------------------------------===//

/// The nodes that the map of `node` takes from outside, in order, each once.
void Emitter::collectInputs(const Node *node, SmallVectorImpl<const Node *> &inputs) {
  for (const Node *operand : node->operands) {
    if (isNumber(operand))
      continue;
    if (inlined.contains(keyOf(operand)))
      collectInputs(operand, inputs);
    else if (llvm::none_of(inputs, [&](const Node *other) { return keyOf(other) == keyOf(operand); }))
      inputs.push_back(operand);
  }
}

Value Emitter::emitMap(const Node *node) {
  SmallVector<const Node *> inputs;
  collectInputs(node, inputs);
  SmallVector<Value> operands;
  for (const Node *input : inputs)
    operands.push_back(valueOf(input));
  auto map = MapOp::create(builder, location(node), valueType(node, element(node)), operands);
  Block &block = map.getBody().emplaceBlock();
  for (Value operand : operands)
    block.addArgument(attn::valueType(operand).getElementType(), operand.getLoc());
  OpBuilder inner = OpBuilder::atBlockBegin(&block);
  Value result = emitInRegion(node, block, inputs, inner);
  YieldOp::create(inner, location(node), result);
  return map;
}

/// The element that a node's operands have when it computes: its own for arithmetic; for
/// comparisons and conversions that of the widest operand.
Type Emitter::workElement(const Node *node) {
  if (node->kind == ValueKind::Float && node->op != Op::ToFloat && node->function != Function::Random)
    return element(node);
  const Node *widest = node->operands[0];
  for (const Node *operand : node->operands)
    if (operand->wide)
      widest = operand;
  return element(widest);
}

Value Emitter::emitInRegion(const Node *node, Block &block, ArrayRef<const Node *> inputs, OpBuilder &inner) {
  Type work = workElement(node);
  SmallVector<Value> operands;
  for (const Node *operand : node->operands) {
    if (isNumber(operand)) {
      operands.push_back(arith::ConstantOp::create(inner, location(operand), numberAttr(operand, work)));
      continue;
    }
    const auto *input = llvm::find_if(inputs, [&](const Node *other) { return keyOf(other) == keyOf(operand); });
    Value scalar =
        input != inputs.end() ? block.getArgument(input - inputs.begin()) : emitInRegion(operand, block, inputs, inner);
    operands.push_back(convertFloat(scalar, work, inner, location(operand)));
  }
  return emitScalar(node, operands, element(node), inner, location(node->place));
}
