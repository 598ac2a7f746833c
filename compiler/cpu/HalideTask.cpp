//===- HalideTask.cpp - what a task of Halide's is given --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "compiler/cpu/HalideTask.h"

#include "compiler/cpu/StageLowering.h"
#include "schedules/KernelPlanText.h"

using namespace mlir;
using namespace attn;

namespace {

/// halide_buffer_t of Halide's runtime, in bytes: host pointer, type, dimensions.
struct BufferLayout {
  static constexpr int64_t bytes = 56, host = 16, type = 32, dimensions = 36, dim = 40;
  /// halide_dimension_t: min, extent, stride, flags, an i32 each.
  static constexpr int64_t dimBytes = 16;
};

/// halide_type_t as one i32: code, bits, lanes.
int32_t typeCode(PlanElement element) {
  enum { Int = 0, UInt = 1, Float = 2 };
  auto code = [](int32_t kind, int32_t bits) { return kind | bits << 8 | 1 << 16; };
  switch (element) {
  case PlanElement::F32:
    return code(Float, 32);
  case PlanElement::F16: // Its bits, as those of bf16.
  case PlanElement::BF16:
    return code(UInt, 16);
  case PlanElement::I8:
    return code(Int, 8);
  case PlanElement::U8:
  case PlanElement::Bool:
    return code(UInt, 8);
  case PlanElement::I32:
    return code(Int, 32);
  case PlanElement::I64:
    return code(Int, 64);
  }
  llvm_unreachable("every element has a type");
}

} // namespace

FailureOr<std::vector<StagePlan>> attn::plansOf(StageOp stage) {
  std::vector<StagePlan> plans;
  for (auto text : stage->getAttrOfType<ArrayAttr>("plans").getAsRange<StringAttr>()) {
    llvm::Expected<StagePlan> plan = parsePlan(text.getValue());
    if (!plan)
      return stage.emitError(llvm::toString(plan.takeError()));
    plans.push_back(std::move(*plan));
  }
  return plans;
}

Value attn::refOf(FunctionScope &f, const PlanRef &ref) {
  BufferOp buffer = ref.isBuffer ? f.getLayout().getBuffers()[ref.number] : BufferOp();
  KernelOp kernel = f.getLayout().getKernel();
  return buffer ? buffer.getResult() : Value(kernel.getBody().front().getArgument(ref.number));
}

void HalideTask::bind(StringAttr axis, Value index) {
  x.bind(axis, index);
  x.markExisting(axis);
  indices[axis] = index;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Value HalideTask::allocate(int64_t bytes) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&f.getFunction().getBody().front());
  Value count = arith::ConstantOp::create(b, f.loc(), b.getI64IntegerAttr(bytes));
  return LLVM::AllocaOp::create(b, f.loc(), LLVM::LLVMPointerType::get(b.getContext()), b.getI8Type(), count, 16);
}

/// Where the next allocation goes, where memory ends, the last allocation, the context, whether it has a message.
Value HalideTask::arena() {
  Value scratch = LLVM::PtrToIntOp::create(b, f.loc(), b.getI64Type(), f.workerScratch());
  Value arena = allocate(40);
  storeAt(scratch, arena, 0);
  storeAt(f.add(scratch, f.frameSlot(f.getLayout().scratchBytes())), arena, 8);
  storeAt(f.i64(0), arena, 16);
  storeAt(f.frameSlot(f.getLayout().context()), arena, 24);
  storeAt(f.i64(0), arena, 32);
  return arena;
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

Value HalideTask::buffer(Value address, int32_t type, ArrayRef<Dim> dims) {
  Value buffer = allocate(BufferLayout::bytes), list = allocate(std::max<int64_t>(1, dims.size()) * BufferLayout::dimBytes);
  for (auto [d, dim] : llvm::enumerate(dims)) {
    Value values[] = {narrow(dim.min), narrow(dim.extent), narrow(dim.stride), number(0)};
    for (auto [i, value] : llvm::enumerate(values))
      storeAt(value, list, d * BufferLayout::dimBytes + 4 * i);
  }
  for (int64_t byte = 0; byte < BufferLayout::bytes; byte += 8)
    storeAt(f.i64(0), buffer, byte);
  storeAt(LLVM::PtrToIntOp::create(b, f.loc(), b.getI64Type(), address), buffer, BufferLayout::host);
  storeAt(number(type), buffer, BufferLayout::type);
  storeAt(number(int32_t(dims.size())), buffer, BufferLayout::dimensions);
  storeAt(LLVM::PtrToIntOp::create(b, f.loc(), b.getI64Type(), list), buffer, BufferLayout::dim);
  return buffer;
}

Value HalideTask::floats(Value address, ArrayRef<Dim> dims) { return buffer(address, typeCode(PlanElement::F32), dims); }
Value HalideTask::integer(Value address) { return buffer(address, typeCode(PlanElement::I64), {}); }

/// A result that has all queries of a task along one axis begins at the first of them.
Value HalideTask::describe(const PlanTensor &tensor, const PlanStore *store, Queries queries) {
  const Access &access = f.access(refOf(f, tensor.ref));
  Value offset = f.i64(0), elements = f.i64(1);
  for (const PlanFixed &fixed : tensor.fixed)
    offset = f.add(offset, f.mul(indices.lookup(name(fixed.axis)), access.strides[fixed.factor]));
  for (ExtentAttr factor : access.factors)
    elements = f.mul(elements, f.extent(factor));
  // Of an empty tensor an element may be loaded that is not used: the frame is always there.
  Value isEmpty = arith::CmpIOp::create(b, f.loc(), arith::CmpIPredicate::eq, elements, f.i64(0));

  SmallVector<Dim> dims;
  for (auto [i, factor] : llvm::enumerate(tensor.factors)) {
    Value stride = arith::SelectOp::create(b, f.loc(), isEmpty, f.i64(0), access.strides[factor]);
    Value extent = f.extent(access.factors[factor]);
    // What is empty has an element to copy there.
    Dim dim{f.i64(0), plan.part == PlanPart::Device && !store ? f.max(f.i64(1), extent) : extent, stride};
    if (store && plan.queries.size() == 1 && store->dims[i] == plan.queries[0].name) {
      dim.min = queries.first;
      dim.extent = queries.count;
      offset = f.add(offset, f.mul(queries.first, access.strides[factor]));
    }
    dims.insert(dims.begin(), dim); // Halide counts from the innermost dimension.
  }
  if (store && plan.queries.empty())
    dims.push_back({f.i64(0), f.i64(1), f.i64(0)});
  Value host = f.address(access.address, offset, memoryType(access.element));
  host = arith::SelectOp::create(b, f.loc(), isEmpty, f.getFunction().getArgument(0), host);
  return buffer(host, typeCode(tensor.element), dims);
}

FunctionScope::Values HalideTask::inputs() {
  FunctionScope::Values all;
  for (auto [i, tensor] : llvm::enumerate(plan.tensors)) {
    bool isStored = llvm::any_of(plan.stores, [&, i = i](const PlanStore &store) { return store.tensor == int64_t(i); });
    if (!isStored)
      all.push_back(describe(tensor, nullptr, {}));
  }
  llvm::append_range(all, scalars());
  return all;
}

Value HalideTask::result(const PlanStore &store, Queries queries) {
  return describe(plan.tensors[store.tensor], &store, queries);
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

FunctionScope::Values HalideTask::scalars() {
  return llvm::map_to_vector(plan.scalars, [&](const PlanScalar &each) { return scalar(each); });
}

Value HalideTask::scalar(const PlanScalar &scalar) {
  switch (scalar.number) {
  case PlanNumber::Index: {
    Value index = indices.lookup(name(scalar.axis));
    return index ? index : f.i64(0);
  }
  case PlanNumber::Extent:
    return f.extent(name(scalar.axis));
  case PlanNumber::Factor:
    return f.extent(f.access(refOf(f, scalar.ref)).factors[scalar.factor]);
  case PlanNumber::Argument:
    return f.frameSlot(f.getLayout().arg(scalar.ref.number));
  }
  llvm_unreachable("every number is given");
}

//===----------------------------------------------------------------------===//
// Keys
//===----------------------------------------------------------------------===//

/// The keys of a range that the bound query sees, within those that there are. A range with an absent bound is empty.
std::pair<Value, Value> HalideTask::boundsAt(unsigned range, Value keys) {
  Value lower = f.i64(0), upper = keys, present;
  auto within = [&](Value bound) { return f.min(f.max(bound, f.i64(0)), keys); };
  if (Value bound = flash.getLowerOf(range)) {
    Datum datum = x.evaluate(bound);
    lower = within(datum.value);
    present = datum.present;
  }
  if (Value bound = flash.getUpperOf(range)) {
    Datum datum = x.evaluate(bound);
    upper = within(datum.value);
    present = x.both(present, datum.present);
  }
  Value sees = x.both(present, f.less(lower, upper));
  return {arith::SelectOp::create(b, f.loc(), sees, lower, keys), arith::SelectOp::create(b, f.loc(), sees, upper, f.i64(0))};
}

std::pair<Value, Value> HalideTask::keysSeenBy(Queries queries) {
  Value keys = f.extent(name(plan.key.name));
  if (flash.getNumRanges() == 0)
    return {f.i64(0), keys};
  FunctionScope::Values counts;
  for (const PlanAxis &axis : plan.queries)
    counts.push_back(f.extent(name(axis.name)));
  auto ends = f.loop(f.i64(0), queries.count, f.i64(1), {keys, f.i64(0)}, [&](Value i, ValueRange carried) {
    x.enter(i.getParentBlock()->getParentOp());
    FunctionScope::Values at = splitTask(f, f.add(queries.first, i), counts);
    for (auto [axis, index] : llvm::zip(plan.queries, at)) {
      x.bind(name(axis.name), index);
      x.markExisting(name(axis.name));
    }
    Value low = carried[0], high = carried[1];
    for (unsigned range = 0; range < flash.getNumRanges(); ++range) {
      auto [lower, upper] = boundsAt(range, keys);
      low = f.min(low, lower);
      high = f.max(high, upper);
    }
    x.leave();
    return FunctionScope::Values{low, high};
  });
  return {ends[0], ends[1]};
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

Value attn::queryCount(FunctionScope &f, const StagePlan &plan) {
  Value count = f.i64(1);
  for (const PlanAxis &axis : plan.queries)
    count = f.mul(count, f.extent(nameIn(f, axis.name)));
  return count;
}

Value attn::callHalide(FunctionScope &f, llvm::StringRef symbol, ValueRange arguments, const StagePlan *plan) {
  OpBuilder &builder = f.builder();
  auto module = f.getFunction()->getParentOfType<ModuleOp>();
  auto callee = module.lookupSymbol<func::FuncOp>(symbol);
  if (!callee) {
    OpBuilder b = OpBuilder::atBlockEnd(module.getBody());
    callee = func::FuncOp::create(b, f.loc(), symbol, b.getFunctionType(arguments.getTypes(), b.getI32Type()));
    callee.setPrivate();
    if (plan)
      callee->setAttr("attn.plan", b.getStringAttr(printPlan(*plan)));
  }
  return func::CallOp::create(builder, f.loc(), callee, arguments).getResult(0);
}

Value attn::scratchOf(FunctionScope &f, FlashOp flash, const StagePlan &plan) {
  HalideTask task(f, flash, plan);
  Value bytes = task.allocate(8);
  FunctionScope::Values arguments{LLVM::ZeroOp::create(f.builder(), f.loc(), LLVM::LLVMPointerType::get(f.builder().getContext()))};
  llvm::append_range(arguments, task.scalars());
  arguments.push_back(task.integer(bytes));
  callHalide(f, plan.symbol + ".scratch", arguments, nullptr);
  return f.load(f.builder().getI64Type(), bytes, f.i64(0));
}
