//===- HalideStage.cpp - a stage whose tasks Halide generates ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls the function that a stage's plan becomes (schedules/halide/CompileStage.h): a task is a tile of queries of one
// batch entry, as in the vector code. Here its buffers are described, its numbers gathered, and the blocks of keys found
// that any of its queries sees. Addresses of a batch entry are computed in 64 bits; what is left fits 32.
//===----------------------------------------------------------------------===//
#include "compiler/cpu/HalideStage.h"

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
  case PlanElement::F16:
    return code(Float, 16);
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

Value refOf(FunctionScope &f, const PlanRef &ref) {
  BufferOp buffer = ref.isBuffer ? f.getLayout().getBuffers()[ref.number] : BufferOp();
  KernelOp kernel = f.getLayout().getKernel();
  return buffer ? buffer.getResult() : Value(kernel.getBody().front().getArgument(ref.number));
}

class HalideLowering : public StageLowering {
public:
  using StageLowering::StageLowering;

  LogicalResult prepare(const FrameLayout &layout) override {
    text = stage->getAttrOfType<StringAttr>("plan");
    llvm::Expected<StagePlan> parsed = parsePlan(text.getValue());
    if (!parsed)
      return stage.emitError(llvm::toString(parsed.takeError()));
    plan = std::move(*parsed);
    flash = *stage.getBody().getOps<FlashOp>().begin();
    for (const std::string &task : plan.tasks)
      tasks.push_back(name(task));
    return success();
  }

  Value emitTaskCount(FunctionScope &f) override { return f.mul(f.extent(tasks), tileCount(f)); }
  Value emitScratchBytes(FunctionScope &f) override;
  LogicalResult emitTask(FunctionScope &f, Value task) override;

private:
  StringAttr name(llvm::StringRef axis) { return StringAttr::get(stage.getContext(), axis); }
  Value queryCount(FunctionScope &f) { return plan.lane.empty() ? f.i64(1) : f.extent(name(plan.lane)); }
  Value tileCount(FunctionScope &f) { return f.ceilDiv(queryCount(f), f.i64(plan.queryTile)); }
  bool isStored(size_t tensor) const {
    return llvm::any_of(plan.stores, [&](const PlanStore &store) { return store.tensor == int64_t(tensor); });
  }

  StringAttr text;
  StagePlan plan;
  FlashOp flash;
  AxisList tasks;
};

/// The code of one task.
class TaskBuilder {
public:
  TaskBuilder(FunctionScope &f, StageOp stage, FlashOp flash, const StagePlan &plan)
      : f(f), b(f.builder()), stage(stage), flash(flash), plan(plan), x(f, /*lanes=*/1) {}

  void bind(StringAttr axis, Value index) {
    x.bind(axis, index);
    x.markExisting(axis);
    indices[axis] = index;
  }

  Value pointer(Value address) { return LLVM::IntToPtrOp::create(b, f.loc(), LLVM::LLVMPointerType::get(b.getContext()), address); }
  Value number(int32_t value) { return arith::ConstantOp::create(b, f.loc(), b.getI32IntegerAttr(value)); }
  Value narrow(Value value) { return arith::TruncIOp::create(b, f.loc(), b.getI32Type(), value); }

  /// Memory of the function's own, at its top.
  Value allocate(int64_t bytes) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&f.getFunction().getBody().front());
    Value count = arith::ConstantOp::create(b, f.loc(), b.getI64IntegerAttr(bytes));
    return LLVM::AllocaOp::create(b, f.loc(), LLVM::LLVMPointerType::get(b.getContext()), b.getI8Type(), count, 16);
  }
  void storeAt(Value value, Value base, int64_t byte) {
    f.store(value, f.address(base, f.i64(byte), b.getI8Type()), f.i64(0));
  }

  /// The buffer of a tensor. Of a result the first query and their number are given.
  Value describe(const PlanTensor &tensor, const PlanStore *store, Value firstQuery, Value queries);
  Value scalar(const PlanScalar &scalar);
  /// The first block of keys that a query of the tile sees, and how many there are from it on.
  std::pair<Value, Value> blocks(Value firstQuery, Value queries);
  bool failed() const { return x.failed(); }

private:
  std::pair<Value, Value> boundsAt(unsigned range, Value keys);

  FunctionScope &f;
  OpBuilder &b;
  StageOp stage;
  FlashOp flash;
  const StagePlan &plan;
  Expressions x;
  llvm::DenseMap<StringAttr, Value> indices;
};

} // namespace

//===----------------------------------------------------------------------===//
// Buffers and numbers
//===----------------------------------------------------------------------===//

Value TaskBuilder::describe(const PlanTensor &tensor, const PlanStore *store, Value firstQuery, Value queries) {
  const Access &access = f.access(refOf(f, tensor.ref));
  Type memory = memoryType(access.element);
  Value offset = f.i64(0), elements = f.i64(1);
  for (const PlanFixed &fixed : tensor.fixed)
    offset = f.add(offset, f.mul(indices.lookup(StringAttr::get(b.getContext(), fixed.axis)), access.strides[fixed.factor]));
  for (ExtentAttr factor : access.factors)
    elements = f.mul(elements, f.extent(factor));
  // Of an empty tensor an element may be loaded that is not used: the frame is always there.
  Value isEmpty = arith::CmpIOp::create(b, f.loc(), arith::CmpIPredicate::eq, elements, f.i64(0));

  bool addsQuery = store && plan.lane.empty();
  size_t rank = tensor.factors.size() + (addsQuery ? 1 : 0);
  Value buffer = allocate(BufferLayout::bytes), dims = allocate(std::max<int64_t>(1, rank) * BufferLayout::dimBytes);
  auto setDim = [&](size_t d, Value min, Value extent, Value stride) {
    Value values[] = {min, extent, stride, number(0)};
    for (auto [i, value] : llvm::enumerate(values))
      storeAt(value, dims, d * BufferLayout::dimBytes + 4 * i);
  };
  for (auto [i, factor] : llvm::enumerate(tensor.factors)) {
    size_t d = tensor.factors.size() - 1 - i; // Halide counts from the innermost dimension.
    Value stride = arith::SelectOp::create(b, f.loc(), isEmpty, f.i64(0), access.strides[factor]);
    Value min = f.i64(0), extent = f.extent(access.factors[factor]);
    if (store && !plan.lane.empty() && store->dims[i] == plan.lane) {
      min = firstQuery;
      extent = queries;
      offset = f.add(offset, f.mul(firstQuery, access.strides[factor]));
    }
    setDim(d, narrow(min), narrow(extent), narrow(stride));
  }
  if (addsQuery)
    setDim(rank - 1, number(0), number(1), number(0));

  Value host = f.address(access.address, offset, memory);
  host = arith::SelectOp::create(b, f.loc(), isEmpty, f.getFunction().getArgument(0), host);
  for (int64_t byte = 0; byte < BufferLayout::bytes; byte += 8)
    storeAt(f.i64(0), buffer, byte);
  storeAt(LLVM::PtrToIntOp::create(b, f.loc(), b.getI64Type(), host), buffer, BufferLayout::host);
  storeAt(number(typeCode(tensor.element)), buffer, BufferLayout::type);
  storeAt(number(int32_t(rank)), buffer, BufferLayout::dimensions);
  storeAt(LLVM::PtrToIntOp::create(b, f.loc(), b.getI64Type(), dims), buffer, BufferLayout::dim);
  return buffer;
}

Value TaskBuilder::scalar(const PlanScalar &scalar) {
  switch (scalar.number) {
  case PlanNumber::Index:
    return indices.lookup(StringAttr::get(b.getContext(), scalar.axis));
  case PlanNumber::Extent:
    return f.extent(StringAttr::get(b.getContext(), scalar.axis));
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
std::pair<Value, Value> TaskBuilder::boundsAt(unsigned range, Value keys) {
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

std::pair<Value, Value> TaskBuilder::blocks(Value firstQuery, Value queries) {
  Value keys = f.extent(StringAttr::get(b.getContext(), plan.key)), first = f.i64(0), end = keys;
  if (flash.getNumRanges() > 0) {
    auto ends = f.loop(f.i64(0), queries, f.i64(1), {keys, f.i64(0)}, [&](Value i, ValueRange carried) {
      x.enter(i.getParentBlock()->getParentOp());
      if (!plan.lane.empty()) {
        StringAttr lane = StringAttr::get(b.getContext(), plan.lane);
        x.bind(lane, f.add(firstQuery, i));
        x.markExisting(lane);
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
    first = ends[0];
    end = ends[1];
  }
  Value tile = f.i64(plan.keyTile);
  Value firstBlock = f.div(first, tile);
  return {narrow(firstBlock), narrow(f.max(f.i64(0), f.sub(f.ceilDiv(end, tile), firstBlock)))};
}

//===----------------------------------------------------------------------===//
// The stage
//===----------------------------------------------------------------------===//

static func::FuncOp declareTask(ModuleOp module, Location loc, const StagePlan &plan, StringAttr text, TypeRange types) {
  if (auto known = module.lookupSymbol<func::FuncOp>(plan.symbol))
    return known;
  OpBuilder b = OpBuilder::atBlockEnd(module.getBody());
  auto function = func::FuncOp::create(b, loc, plan.symbol, b.getFunctionType(types, b.getI32Type()));
  function.setPrivate();
  // What it does, for the linker (compiler/emit/Link.h).
  function->setAttr("attn.plan", text);
  return function;
}

LogicalResult HalideLowering::emitTask(FunctionScope &f, Value task) {
  FunctionScope::Values counts;
  for (StringAttr axis : tasks)
    counts.push_back(f.extent(axis));
  Value tiles = tileCount(f);
  counts.push_back(tiles);
  FunctionScope::Values at = splitTask(f, task, counts);
  // The last tile first: under a causal mask it sees the most keys.
  Value tile = f.sub(f.sub(tiles, f.i64(1)), at.back());
  Value firstQuery = f.mul(tile, f.i64(plan.queryTile));
  Value queries = f.min(f.i64(plan.queryTile), f.sub(queryCount(f), firstQuery));

  TaskBuilder builder(f, stage, flash, plan);
  for (auto [axis, index] : llvm::zip(tasks, at))
    builder.bind(axis, index);
  auto [firstBlock, blocks] = builder.blocks(firstQuery, queries);

  // The arena: where the next allocation goes, where memory ends, the last allocation (runtime/bind/Arena.c).
  Value scratch = LLVM::PtrToIntOp::create(f.builder(), f.loc(), f.builder().getI64Type(), f.workerScratch());
  Value arena = builder.allocate(24);
  builder.storeAt(scratch, arena, 0);
  builder.storeAt(f.add(scratch, f.frameSlot(f.getLayout().scratchBytes())), arena, 8);
  builder.storeAt(f.i64(0), arena, 16);

  FunctionScope::Values arguments{arena};
  for (auto [i, tensor] : llvm::enumerate(plan.tensors))
    if (!isStored(i))
      arguments.push_back(builder.describe(tensor, nullptr, firstQuery, queries));
  for (const PlanScalar &scalar : plan.scalars)
    arguments.push_back(builder.scalar(scalar));
  arguments.push_back(firstBlock);
  arguments.push_back(blocks);
  for (const PlanStore &store : plan.stores)
    arguments.push_back(builder.describe(plan.tensors[store.tensor], &store, firstQuery, queries));
  if (builder.failed())
    return failure();
  func::FuncOp callee = declareTask(stage->getParentOfType<ModuleOp>(), f.loc(), plan, text, ValueRange(arguments).getTypes());
  func::CallOp::create(f.builder(), f.loc(), callee, arguments);
  return success();
}

/// What Halide's Funcs hold at once (schedules/halide/Flash.h), in f32, with room for rounding up to vectors and for the
/// heads of allocations.
Value HalideLowering::emitScratchBytes(FunctionScope &f) {
  int64_t width = plan.lanes * plan.vectors, pad = 2 * plan.lanes + plan.rows;
  auto padded = [&](int64_t scalar) { return f.add(f.extent(name(plan.scalars[scalar].axis)), f.i64(pad)); };
  Value floats = f.i64(4096 + 4 * plan.keyTile * (width + pad) + 8 * (plan.queryTile + width));
  Value queries = f.i64(plan.queryTile + width), keys = f.i64(plan.keyTile + pad);
  for (const PlanTerm &term : plan.terms)
    floats = f.add(floats, f.mul(padded(term.extent), f.add(queries, keys)));
  // Each group of the width has its maximum and its sum; a group may have one element.
  for (const PlanMix &mix : plan.mixes)
    floats = f.add(floats, f.mul(padded(mix.extent), f.add(f.mul(queries, f.i64(3)), f.mul(keys, f.i64(2)))));
  return f.mul(floats, f.i64(4));
}

Value attn::emitFits(FunctionScope &f, ArrayRef<StageOp> stages) {
  OpBuilder &b = f.builder();
  Value fits = arith::ConstantOp::create(b, f.loc(), b.getBoolAttr(true));
  auto within = [&](Value value, int64_t limit) {
    Value below = arith::CmpIOp::create(b, f.loc(), arith::CmpIPredicate::slt, value, f.i64(limit));
    Value above = arith::CmpIOp::create(b, f.loc(), arith::CmpIPredicate::sgt, value, f.i64(-limit));
    fits = arith::AndIOp::create(b, f.loc(), fits, arith::AndIOp::create(b, f.loc(), below, above));
  };
  for (StageOp stage : stages) {
    llvm::Expected<StagePlan> plan = parsePlan(stage->getAttrOfType<StringAttr>("plan").getValue());
    if (!plan) { // Reported when the stage was prepared.
      llvm::consumeError(plan.takeError());
      continue;
    }
    for (const PlanScalar &scalar : plan->scalars)
      if (scalar.number == PlanNumber::Extent)
        within(f.extent(StringAttr::get(b.getContext(), scalar.axis)), int64_t(1) << 27);
    for (const PlanTensor &tensor : plan->tensors)
      for (int64_t factor : tensor.factors) {
        const Access &access = f.access(refOf(f, tensor.ref));
        within(access.strides[factor], int64_t(1) << 31);
        within(f.extent(access.factors[factor]), int64_t(1) << 31);
      }
  }
  return fits;
}

std::unique_ptr<StageLowering> attn::makeHalideLowering(StageOp stage) { return std::make_unique<HalideLowering>(stage); }
