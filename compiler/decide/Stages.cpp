//===- Stages.cpp - building a stage ----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "compiler/decide/Decider.h"
#include "compiler/optimize/Expressions.h"

using namespace mlir;
using namespace attn;

/// The dimensions of `ref` as axes, when `write` stores `value` there, all of it, as it is.
static std::optional<AxisList> storesPlainly(WriteOp write, Value value) {
  if (write.getValue() != value || write.getCondition() ||
      write.getRef().getType().getElementType() != valueType(value).getElementType())
    return std::nullopt;
  AxisList dims;
  for (auto [index, factor] : llvm::zip(write.getIndices(), write.getRef().getType().getFactors())) {
    auto op = index.getDefiningOp<IndexOp>();
    if (!op || factor.getName() != op.getAxisAttr() || llvm::is_contained(dims, op.getAxisAttr()))
      return std::nullopt;
    dims.push_back(op.getAxisAttr());
  }
  if (dims.size() != valueType(value).getAxes().size())
    return std::nullopt;
  return dims;
}

Stored Decider::place(const Output &output) {
  // A result that holds the same numbers is read instead of a buffer.
  for (WriteOp write : output.writes)
    if (std::optional<AxisList> dims = storesPlainly(write, output.stored); dims && isNeverRead(write.getRef()))
      return {arguments.lookup(write.getRef()), *dims};
  MLIRContext *context = builder.getContext();
  OpBuilder::InsertionGuard guard(builder);
  if (firstStage)
    builder.setInsertionPoint(firstStage);
  AxisList dims = layout.of(output.stored);
  SmallVector<DimAttr> stored = llvm::map_to_vector(
      dims, [&](StringAttr axis) { return DimAttr::get(context, ExtentAttr::named(context, axis.getValue())); });
  Type type = RefType::get(context, stored, valueType(output.stored).getElementType());
  return {BufferOp::create(builder, output.stored.getLoc(), type), dims};
}

static std::optional<std::string> nameOf(Value value) {
  if (auto name = dyn_cast<NameLoc>(value.getLoc()))
    return name.getName().str();
  return std::nullopt;
}

/// The name that the program gives to what a stage stores, for people and for schedules.
std::string Decider::stageName(Operation *op, ArrayRef<Output> outputs, StringRef otherwise) {
  std::optional<std::string> name;
  for (const Output &output : outputs)
    if (!name && output.stored)
      name = nameOf(output.stored);
  for (const Output &output : outputs)
    if (!name && !output.writes.empty()) {
      auto argument = cast<BlockArgument>(WriteOp(output.writes.front()).getRef());
      name = signature.args[argument.getArgNumber()].getName().str();
    }
  if (auto contract = dyn_cast_or_null<ContractOp>(op); contract && !name)
    name = stringifyRole(contract.getRole()).str();
  if (!name)
    name = op ? op->getName().stripDialect().str() : otherwise.str();
  std::string base = *name, unique = base;
  for (unsigned n = 2; !names.insert(unique).second; ++n)
    unique = base + std::to_string(n);
  return unique;
}

/// Rows first, lanes second.
Operation *Decider::cloneContract(Inliner &inliner, OpBuilder &builder, ContractOp contract) {
  Value lane = laneSides.lookup(contract);
  Value row = contract.getLhs() == lane ? contract.getRhs() : contract.getLhs();
  Value rows = inliner.inlined(row), lanes = inliner.inlined(lane);
  return ContractOp::create(builder, contract.getLoc(), contract.getType(), rows, lanes, contract.getOver(),
                            contract.getRole());
}

void Decider::emitOutput(Inliner &inliner, OpBuilder &builder, const Output &output) {
  for (WriteOp write : output.writes)
    inliner.cloned(write);
  if (!output.stored)
    return;
  const Stored &place = places.lookup(output.stored);
  if (!isa_and_nonnull<BufferOp>(place.ref.getDefiningOp()))
    return;
  Location loc = output.stored.getLoc();
  SmallVector<Value> indices = llvm::map_to_vector(place.dims, [&](StringAttr axis) { return inliner.index(axis, loc); });
  WriteOp::create(builder, loc, inliner.inlined(output.stored), place.ref, indices, Value());
}

LogicalResult Decider::emitStage(Operation *op, StageShape kind, ArrayRef<Output> outputs, StringRef otherwise) {
  Location loc = op ? op->getLoc()
                 : outputs.front().stored ? outputs.front().stored.getLoc()
                                          : WriteOp(outputs.front().writes.front()).getLoc();
  std::string name = stageName(op, outputs, otherwise);
  StageFacts facts = kind == StageShape::Nest ? StageFacts{} : factsOf(op, signature);
  FailureOr<ScheduleAttr> schedule = chooser.choose(loc, signature.name, name, facts);
  if (failed(schedule))
    return failure();
  for (const Output &output : outputs)
    if (output.stored)
      places[output.stored] = place(output);
  auto stage = StageOp::create(builder, loc, stageKind(kind), *schedule);
  stage->setAttr("name", builder.getStringAttr(name));
  firstStage = firstStage ? firstStage : stage.getOperation();
  OpBuilder inside(builder.getContext());
  inside.setInsertionPointToEnd(&stage.getBody().emplaceBlock());
  Inliner inliner(inside, progress.stored, arguments);
  if (op) {
    Operation *clone = kind == StageShape::Contract ? cloneContract(inliner, inside, cast<ContractOp>(op))
                                                    : inliner.cloned(op);
    for (auto [result, here] : llvm::zip(op->getResults(), clone->getResults()))
      inliner.set(result, here);
  }
  for (const Output &output : outputs)
    emitOutput(inliner, inside, output);
  for (const Output &output : outputs) {
    if (output.stored)
      progress.stored[output.stored] = places.lookup(output.stored);
    progress.written.insert(output.writes.begin(), output.writes.end());
  }
  return success();
}
