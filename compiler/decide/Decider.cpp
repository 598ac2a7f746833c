//===- Decider.cpp - one program's stages -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "compiler/decide/Decider.h"
#include "compiler/Remarks.h"
#include "compiler/decide/Capacity.h"
#include "compiler/optimize/Expressions.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace attn;

Decider::Decider(ProgramOp program, ScheduleChooser &chooser, bool turnsKeys, bool isDevice)
    : program(program), chooser(chooser), turnsKeys(turnsKeys), isDevice(isDevice), signature(program),
      block(program.getBody().front()),
      dependences(block, progress), layout(program), builder(program) {
  kernel = KernelOp::create(builder, program.getLoc(), program.getSymNameAttr(), program.getArgsAttr(),
                            program.getAxesAttr(), program.getFactsAttr(), program.getPreciseAttr());
  Block &body = kernel.getBody().emplaceBlock();
  for (BlockArgument argument : block.getArguments())
    arguments.map(argument, body.addArgument(argument.getType(), argument.getLoc()));
  builder.setInsertionPointToEnd(&body);
}

FailureOr<KernelOp> Decider::run() {
  emitChecks();
  for (WriteOp write : block.getOps<WriteOp>())
    if (failed(emitWrite(write)))
      return failure();
  return kernel;
}

/// Ragged extents and requirements are evaluated before anything runs, sums and all: no stage has stored anything yet.
void Decider::emitChecks() {
  Inliner inliner(builder, progress.stored, arguments);
  for (Operation &op : block)
    if (isa<RequireOp, RaggedOp>(op))
      inliner.cloned(&op);
  llvm::StringMap<int64_t> known = knownExtents(signature);
  for (WriteOp write : block.getOps<WriteOp>())
    if (isPlaceKnown(write))
      requireCapacity(builder, inliner, signature, write, known);
}

/// Whether it can be told before anything runs where a write goes. Nothing of an absent value goes anywhere.
bool Decider::isPlaceKnown(WriteOp write) const {
  SmallVector<Value> values(write.getIndices());
  if (write.getCondition())
    values.push_back(write.getCondition());
  Dependences::Values leaves;
  for (Value value : values)
    dependences.collectLeaves(value, {}, leaves);
  return leaves.empty() && !mayBeAbsent(write.getValue()) &&
         llvm::all_of(values, [&](Value value) { return dependences.isComputable(value, {}); });
}

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

LogicalResult Decider::emitWrite(WriteOp write) {
  if (progress.written.contains(write))
    return success();
  if (failed(saveWhatChanges(write)))
    return failure();
  // The last operation over the place's axes takes the write into its stage, if it can.
  AxisList place = unionOfAxes(write.getIndices());
  Operation *anchor = nullptr;
  for (Value leaf : dependences.leavesOf(write, {})) {
    Operation *op = leaf.getDefiningOp();
    if (isHeavy(op) && valueType(leaf).getAxes() == ArrayRef<StringAttr>(place) &&
        (!anchor || anchor->isBeforeInBlock(op)))
      anchor = op;
  }
  if (anchor && failed(emitHeavy(anchor, write)))
    return failure();
  // Any stage may turn out to be the one that can do the write.
  auto leaves = [&] {
    return progress.written.contains(write) ? Dependences::Values() : dependences.leavesOf(write, {});
  };
  if (failed(storeAll(leaves)))
    return failure();
  if (progress.written.contains(write))
    return success();
  return emitStage(nullptr, StageShape::Nest, Output{{}, {}, {write}});
}

LogicalResult Decider::saveWhatChanges(WriteOp write) {
  for (Operation *user : llvm::to_vector(write.getRef().getUsers())) {
    auto read = dyn_cast<ReadOp>(user);
    if (!read || !read->isBeforeInBlock(write) || progress.stored.contains(read))
      continue;
    if (dependences.isNeededBehind(read, write) && failed(storePointwise(read, "saved")))
      return failure();
  }
  return success();
}

LogicalResult Decider::storeAll(llvm::function_ref<Dependences::Values()> leaves) {
  for (Dependences::Values now = leaves(); !now.empty(); now = leaves())
    if (failed(store(now.front())))
      return failure();
  return success();
}

LogicalResult Decider::store(Value value) {
  Operation *op = value.getDefiningOp();
  if (isHeavy(op))
    return emitHeavy(op, {});
  return storePointwise(value, "value");
}

LogicalResult Decider::storePointwise(Value value, StringRef name) {
  auto leaves = [&] {
    Dependences::Values found;
    dependences.collectLeaves(value, {}, found);
    return found;
  };
  if (failed(storeAll(leaves)))
    return failure();
  if (progress.stored.contains(value))
    return success();
  return emitStage(nullptr, StageShape::Nest, Output{{}, value, {}}, name);
}

LogicalResult Decider::storeSides(ArrayRef<Output> outputs) {
  return storeAll([&] {
    Dependences::Values found;
    for (const Output &output : outputs) {
      if (output.stored)
        dependences.collectLeaves(output.stored, output.result, found);
      for (WriteOp write : output.writes)
        for (Value value : valuesReadBy(write))
          dependences.collectLeaves(value, output.result, found);
    }
    return found;
  });
}

LogicalResult Decider::emitHeavy(Operation *op, WriteOp root) {
  if (ContractOp host = hostOf(op, signature, isDevice); host && !begun.contains(host))
    return emitHeavy(host, root);
  if (isDevice && hostOf(op, signature, /*isDevice=*/false))
    remarkMissed(op->getLoc(), "a product is stored before what follows it along its rows",
                 "a tile has no rows of more than " + Twine(widestDeviceRow) + " elements, nor of an extent that is not known when compiling");
  // A stage that is asked for again left something unstored; going on would never end.
  if (!begun.insert(op).second)
    return emitError(op->getLoc(), "no order of stages was found for this operation");
  progress.running.insert(op);
  // What joins this stage does not join those that come before it.
  llvm::SaveAndRestore outer(progress.joined, {});
  if (auto flash = dyn_cast<FlashOp>(op); flash && failed(joinRopes(flash)))
    return failure();
  if (failed(storeAll([&] { return dependences.leavesOf(op, {}); })))
    return failure();
  auto contract = dyn_cast<ContractOp>(op);
  RowOps rowOps = contract ? findRowOps(contract, signature, isDevice) : RowOps();
  progress.joined.insert(rowOps.ops.begin(), rowOps.ops.end());
  OutputPlanner planner(block, progress, dependences, root);
  SmallVector<Output> outputs = llvm::map_to_vector(op->getResults(), [&](Value result) { return planner.plan(result); });
  if (failed(storeSides(outputs)))
    return failure();
  FailureOr<StageShape> kind = contract ? prepareContract(contract, outputs.front()) : prepare(op);
  if (failed(kind) || failed(emitStage(op, *kind, outputs)))
    return failure();
  progress.running.erase(op);
  return success();
}

//===----------------------------------------------------------------------===//
// Kinds of stages
//===----------------------------------------------------------------------===//

static bool isPlainIndex(Value index) { return isa_and_nonnull<IndexOp>(index.getDefiningOp()); }

bool Decider::isPlainRead(Value value) const {
  if (progress.stored.contains(value))
    return true;
  Operation *op = value.getDefiningOp();
  if (auto take = dyn_cast<TakeOp>(op))
    return llvm::all_of(take.getIndices(), isPlainIndex);
  auto read = dyn_cast<ReadOp>(op);
  return read && llvm::all_of(read.getIndices(), isPlainIndex) &&
         read.getIndices().size() == valueType(read).getAxes().size();
}

bool Decider::readsBuffer(Value value) const {
  if (auto found = progress.stored.find(value); found != progress.stored.end())
    return isa_and_nonnull<BufferOp>(found->second.ref.getDefiningOp());
  Operation *op = value.getDefiningOp();
  if (auto rope = dyn_cast<RopeOp>(op)) // Its angles are beside the point.
    return readsBuffer(rope.getValue());
  if (auto take = dyn_cast<TakeOp>(op))
    return readsBuffer(take.getValue());
  return llvm::any_of(valuesReadBy(op), [&](Value operand) { return readsBuffer(operand); });
}

LogicalResult Decider::storeUnlessPlain(Value value, StringRef name) {
  return isPlainRead(value) || mayBeAbsent(value) ? success() : storePointwise(value, name);
}

/// One angle serves all heads.
LogicalResult Decider::storeAngles(RopeOp rope) {
  return failure(failed(storeUnlessPlain(rope.getCos(), "cos")) || failed(storeUnlessPlain(rope.getSin(), "sin")));
}

/// Keys that are read and turned are turned as they are loaded, by angles that are stored; keys of a projection are turned
/// where they are computed.
LogicalResult Decider::joinRopes(FlashOp flash) {
  SmallVector<Value> work(flash.getKeys());
  while (!work.empty()) {
    Value value = work.pop_back_val();
    Operation *op = value.getDefiningOp();
    if (progress.stored.contains(value))
      continue;
    if (isPointwise(op))
      llvm::append_range(work, op->getOperands());
    auto rope = dyn_cast_or_null<RopeOp>(op);
    Dependences::Values leaves;
    if (rope)
      dependences.collectLeaves(rope.getValue(), {}, leaves);
    if (!rope || !leaves.empty() || readsBuffer(rope.getValue()))
      continue;
    if (!turnsKeys) {
      remarkMissed(op->getLoc(), "keys are turned in a stage of their own, and stored",
                   "a fused pass reads them as they are on this target or route", "keep turned keys in the cache");
      continue;
    }
    if (failed(storeAngles(rope)))
      return failure();
    if (isPlainRead(rope.getCos()) && isPlainRead(rope.getSin()))
      progress.joined.insert(op);
  }
  return success();
}

FailureOr<StageShape> Decider::prepare(Operation *op) {
  SmallVector<std::pair<Value, StringRef>> wanted;
  StageShape kind = StageShape::Nest;
  if (auto flash = dyn_cast<FlashOp>(op)) {
    // They are read once per query tile. What is computed from arguments alone, as cached or quantised keys are,
    // is not worth the memory; what lies in a buffer anyway is.
    kind = StageShape::Flash;
    for (Value key : flash.getKeys())
      wanted.push_back({key, "keys"});
    for (Value value : flash.getValues())
      wanted.push_back({value, "values"});
    llvm::erase_if(wanted, [&](auto &side) { return !readsBuffer(side.first); });
  } else if (auto rope = dyn_cast<RopeOp>(op); rope && failed(storeAngles(rope))) {
    return failure();
  }
  for (auto [value, name] : wanted)
    if (failed(storeUnlessPlain(value, name)))
      return failure();
  return kind;
}

/// The innermost axis of what an output stores first; null when it has none.
static StringAttr innermostAxis(const Output &output, const Layout &layout) {
  if (output.stored) {
    AxisList axes = layout.of(output.stored);
    return axes.empty() ? StringAttr() : axes.back();
  }
  if (output.writes.empty() || WriteOp(output.writes.front()).getIndices().empty())
    return {};
  auto index = WriteOp(output.writes.front()).getIndices().back().getDefiningOp<IndexOp>();
  return index ? index.getAxisAttr() : StringAttr();
}

/// What the stage computes along rows, from the output backwards.
SmallVector<Operation *> Decider::rowOpsOf(const Output &output) const {
  SmallVector<Value> work;
  if (output.stored)
    work.push_back(output.stored);
  for (WriteOp write : output.writes)
    llvm::append_range(work, valuesReadBy(write));
  llvm::SetVector<Operation *> seen;
  while (!work.empty()) {
    Value value = work.pop_back_val();
    Operation *op = value.getDefiningOp();
    if (op && value != output.result && !progress.stored.contains(value) && seen.insert(op))
      llvm::append_range(work, valuesReadBy(op));
  }
  SmallVector<Operation *> used = seen.takeVector();
  llvm::erase_if(used, [&](Operation *op) { return !progress.joined.contains(op); });
  return used;
}

FailureOr<StageShape> Decider::prepareContract(ContractOp op, const Output &output) {
  Value row = op.getLhs(), lane = op.getRhs();
  StringRef misfit = whyNoLanes(row, lane, signature), laneMisfit = whyNoLanes(lane, row, signature);
  bool rowCan = misfit.empty(), laneCan = laneMisfit.empty();
  if (!rowCan && !laneCan) {
    remarkMissed(op.getLoc(), "this contraction is computed point by point", laneMisfit);
    return StageShape::Nest;
  }
  // Lanes run along the innermost stored axis, so that whole vectors are stored, or along the rows that are finished.
  StringAttr innermost = innermostAxis(output, layout);
  for (Operation *rowOp : rowOpsOf(output)) {
    innermost = rowAxis(rowOp);
    if (auto rope = dyn_cast<RopeOp>(rowOp); rope && failed(storeAngles(rope)))
      return failure();
  }
  auto has = [&](Value side) { return innermost && valueType(side).hasAxis(innermost); };
  bool prefersRow = has(row) == has(lane) ? !isPlainRead(row) && isPlainRead(lane) : has(row);
  if (!laneCan || (rowCan && prefersRow))
    std::swap(row, lane);
  // What may be absent is not stored so: it is packed where it is needed.
  if (!isPlainRead(row) && !mayBeAbsent(row) && failed(storePointwise(row, "rows")))
    return failure();
  laneSides[op] = lane;
  return StageShape::Contract;
}
