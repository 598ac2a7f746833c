//===- ShareStages.cpp - one body for stages that are alike ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "compiler/cpu/ShareStages.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/OperationSupport.h"

using namespace mlir;

namespace {
/// A task function, and where it takes its slots from the frame, in order.
struct Task {
  func::FuncOp function;
  SmallVector<LLVM::GEPOp> places;
  SmallVector<int32_t> slots;
};
} // namespace

static Task readTask(func::FuncOp function) {
  Task task{function, {}, {}};
  function.walk([&](LLVM::GEPOp place) {
    ArrayRef<int32_t> indices = place.getRawConstantIndices();
    if (place.getBase() != function.getArgument(0) || !place.getDynamicIndices().empty() || indices.size() != 1)
      return;
    task.places.push_back(place);
    task.slots.push_back(indices.front());
  });
  return task;
}

static void setSlots(Task &task, ArrayRef<int32_t> slots) {
  for (auto [place, slot] : llvm::zip(task.places, slots))
    place.setRawConstantIndices({slot});
}

/// Are both the same but for their slots?
static bool alike(Task &one, Task &other) {
  if (one.slots.size() != other.slots.size())
    return false;
  setSlots(other, one.slots);
  bool same = OperationEquivalence::isRegionEquivalentTo(&one.function.getBody(), &other.function.getBody(),
                                                         OperationEquivalence::IgnoreLocations);
  setSlots(other, other.slots);
  return same;
}

/// `task` becomes a call of `body` with the slots at `differing`.
static void callBody(Task &task, func::FuncOp body, ArrayRef<size_t> differing) {
  Location loc = task.function.getLoc();
  task.function.getBody().dropAllReferences();
  task.function.getBody().getBlocks().clear();
  OpBuilder b = OpBuilder::atBlockBegin(task.function.addEntryBlock());
  SmallVector<Value> arguments(task.function.getArguments());
  for (size_t i : differing)
    arguments.push_back(arith::ConstantIntOp::create(b, loc, task.slots[i], 64));
  func::CallOp::create(b, loc, body, arguments);
  func::ReturnOp::create(b, loc);
}

/// Makes the body from the first of the tasks, which are alike.
static void share(MutableArrayRef<Task *> group) {
  Task &first = *group.front();
  SmallVector<size_t> differing;
  for (size_t i = 0; i < first.slots.size(); ++i)
    if (llvm::any_of(group, [&](Task *task) { return task->slots[i] != first.slots[i]; }))
      differing.push_back(i);

  OpBuilder b(first.function);
  Type i64 = b.getI64Type();
  SmallVector<Type> inputs(first.function.getArgumentTypes());
  inputs.append(differing.size(), i64);
  auto body = func::FuncOp::create(b, first.function.getLoc(), (first.function.getSymName() + ".body").str(),
                                   b.getFunctionType(inputs, {}));
  body.setPrivate();
  body.getBody().takeBody(first.function.getBody());
  for (size_t i : differing) {
    LLVM::GEPOp place = first.places[i];
    b.setInsertionPoint(place);
    Value slot = body.getBody().addArgument(i64, place.getLoc());
    Value chosen =
        LLVM::GEPOp::create(b, place.getLoc(), place.getType(), place.getElemType(), place.getBase(), ValueRange{slot});
    place.replaceAllUsesWith(chosen);
    place.erase();
  }
  for (Task *task : group)
    callBody(*task, body, differing);
}

void attn::shareStages(ArrayRef<func::FuncOp> functions) {
  SmallVector<Task> tasks = llvm::map_to_vector(functions, readTask);
  SmallVector<SmallVector<Task *>> groups;
  for (Task &task : tasks) {
    auto like = llvm::find_if(groups, [&](SmallVector<Task *> &group) { return alike(*group.front(), task); });
    if (like == groups.end())
      groups.push_back({&task});
    else
      like->push_back(&task);
  }
  for (SmallVector<Task *> &group : groups)
    if (group.size() > 1)
      share(group);
}
