//===- Entry.cpp - the functions that a program calls -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "compiler/cpu/Entry.h"

#include "compiler/cpu/Descriptor.h"
#include "compiler/cpu/Ragged.h"
#include "compiler/cpu/Workspace.h"
#include "compiler/emit/Names.h"
#include "compiler/emit/StoredType.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace attn;

namespace {

struct EntryBuilder {
  ModuleOp module;
  const FrameLayout &layout;
  StringRef name = layout.getSignature().name;
  OpBuilder b = OpBuilder::atBlockEnd(module.getBody());
  Location loc = layout.getKernel().getLoc();
  Type pointer = LLVM::LLVMPointerType::get(module.getContext());
  Type i32 = b.getI32Type(), i64 = b.getI64Type();
  FlatSymbolRefAttr descriptor, requirements, lengths, limits;
  func::FuncOp layoutFunction;
  // Of the function under construction; places stand in its first block, where LLVM makes registers of them.
  Value context, frame, memoryPlace, ownedPlace;

  EntryBuilder(ModuleOp module, const FrameLayout &layout) : module(module), layout(layout) {}

  Value number(int64_t value, Type type) {
    return arith::ConstantOp::create(b, loc, b.getIntegerAttr(type, value));
  }
  Value addressOf(FlatSymbolRefAttr global) { return LLVM::AddressOfOp::create(b, loc, pointer, global); }
  Value allocate(Type type, int64_t count) {
    return LLVM::AllocaOp::create(b, loc, pointer, type, number(count, i64));
  }
  Value element(Value base, Type type, unsigned index) {
    return LLVM::GEPOp::create(b, loc, pointer, type, base, ArrayRef<LLVM::GEPArg>{int32_t(index)});
  }
  Value slot(unsigned index) { return element(frame, i64, index); }
  Value isZero(Value status) {
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, status, number(0, status.getType()));
  }

  func::FuncOp find(const llvm::Twine &suffix) { return module.lookupSymbol<func::FuncOp>((name + suffix).str()); }

  /// A function that entries call themselves. What it reads is invariant while it runs, but not in the entry that
  /// filled the frame just before, should LLVM bring the two together.
  func::FuncOp findDirect(const llvm::Twine &suffix) {
    func::FuncOp function = find(suffix);
    if (function)
      function.walk([](LLVM::LoadOp load) { load.setInvariant(false); });
    return function;
  }

  /// A function of runtime/bind/Bind.h.
  func::FuncOp runtime(StringRef symbol, TypeRange arguments, TypeRange results) {
    if (auto known = module.lookupSymbol<func::FuncOp>(symbol))
      return known;
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToEnd(module.getBody());
    auto function = func::FuncOp::create(b, loc, symbol, b.getFunctionType(arguments, results));
    function.setPrivate();
    return function;
  }
  Value call(func::FuncOp function, ValueRange arguments) {
    auto call = func::CallOp::create(b, loc, function, arguments);
    return call.getNumResults() ? call.getResult(0) : Value();
  }

  /// What C passes for an argument.
  Type passedType(unsigned i) {
    if (!FrameLayout::isByValue(layout.getSignature(), i))
      return pointer;
    Type element = layout.getSignature().argType(i).getElementType();
    // Narrow values are bits; in a register only the low ones mean something.
    return element.isF32() ? element : Type(b.getIntegerType(findStoredType(element)->bits));
  }

  func::FuncOp declare(StringRef suffix, bool withBytes) {
    SmallVector<Type> types{pointer};
    for (unsigned i = 0; i < layout.getSignature().args.size(); ++i)
      types.push_back(passedType(i));
    if (withBytes)
      types.push_back(pointer);
    auto function = func::FuncOp::create(b, loc, (name + suffix).str(), b.getFunctionType(types, i32));
    b.setInsertionPointToStart(function.addEntryBlock());
    context = function.getArgument(0);
    return function;
  }

  /// Gathers the arguments and checks them. Gives the status; the frame is filled when it is 0.
  Value bind(func::FuncOp function) {
    unsigned count = layout.getSignature().args.size();
    Value args = allocate(pointer, std::max(count, 1u));
    frame = allocate(i64, layout.size());
    memoryPlace = allocate(pointer, 1);
    ownedPlace = allocate(i32, 1);
    for (unsigned i = 0; i < count; ++i) {
      Value argument = function.getArgument(i + 1);
      if (FrameLayout::isByValue(layout.getSignature(), i)) {
        Value place = allocate(argument.getType(), 1);
        LLVM::StoreOp::create(b, loc, argument, place);
        argument = place;
      }
      LLVM::StoreOp::create(b, loc, argument, element(args, pointer, i));
    }
    func::FuncOp check = runtime("attn_bind", {pointer, pointer, pointer, pointer}, i32);
    return call(check, {addressOf(descriptor), context, args, frame});
  }

  /// `then` where the status is 0, otherwise the status itself.
  Value whenOk(Value status, llvm::function_ref<Value()> then) {
    return branch(isZero(status), then, [&] { return status; });
  }
  Value branch(Value condition, llvm::function_ref<Value()> then, llvm::function_ref<Value()> otherwise) {
    auto branch = scf::IfOp::create(b, loc, TypeRange{i32}, condition, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    scf::YieldOp::create(b, loc, then());
    b.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(b, loc, otherwise());
    return branch.getResult(0);
  }

  Value workspaceBytes() {
    Value workers = call(runtime("attn_workers", {pointer}, i32), {context});
    return call(layoutFunction, {frame, arith::ExtSIOp::create(b, loc, i64, workers)});
  }

  /// Checks what needs data to decide: `suffix` names the function that gives the number of a text.
  Value require(StringRef suffix, FlatSymbolRefAttr texts, llvm::function_ref<Value()> then) {
    func::FuncOp check = findDirect(suffix);
    if (!check)
      return then();
    Value failing = call(check, {frame});
    return branch(isZero(failing), then, [&] {
      Value index = arith::SubIOp::create(b, loc, arith::ExtSIOp::create(b, loc, i64, failing), number(1, i64));
      Value place = LLVM::GEPOp::create(b, loc, pointer, pointer, addressOf(texts),
                                        ArrayRef<LLVM::GEPArg>{index});
      Value text = LLVM::LoadOp::create(b, loc, pointer, place);
      return call(runtime("attn_refuse", {pointer, pointer, pointer}, i32), {addressOf(descriptor), context, text});
    });
  }

  /// Turns the offsets in the frame into addresses.
  void placeBuffers(Value memory) {
    Value base = LLVM::PtrToIntOp::create(b, loc, i64, memory);
    auto slots = llvm::to_vector(llvm::seq(layout.scratch() - unsigned(layout.getBuffers().size()), layout.scratch() + 1));
    slots.push_back(layout.shared());
    for (unsigned i : slots) {
      Value offset = LLVM::LoadOp::create(b, loc, i64, slot(i));
      LLVM::StoreOp::create(b, loc, arith::AddIOp::create(b, loc, base, offset), slot(i));
    }
    LLVM::StoreOp::create(b, loc, context, slot(layout.context()));
  }

  void runStage(unsigned stage) {
    std::string symbol = (".stage" + llvm::Twine(stage)).str();
    runTasks(symbol);
    if (find(symbol + ".finish"))
      runTasks(symbol + ".finish");
  }

  void runTasks(const std::string &symbol) {
    func::FuncOp body = find(symbol), tasks = findDirect(symbol + ".tasks");
    Value address = func::ConstantOp::create(b, loc, body.getFunctionType(), FlatSymbolRefAttr::get(body));
    address = UnrealizedConversionCastOp::create(b, loc, pointer, address).getResult(0);
    Value count = call(tasks, {frame});
    call(runtime("attn_run", {pointer, i64, pointer, pointer}, {}), {context, count, address, frame});
  }

  Value runStages(unsigned stages) {
    func::FuncOp reserve = runtime("attn_reserve", {pointer, i64, i64, pointer, pointer}, i32);
    Value status = call(reserve, {context, workspaceBytes(), number(workspaceAlignment, i64), memoryPlace, ownedPlace});
    return whenOk(status, [&] {
      Value memory = LLVM::LoadOp::create(b, loc, pointer, memoryPlace);
      placeBuffers(memory);
      for (unsigned stage = 0; stage < stages; ++stage)
        runStage(stage);
      Value owned = LLVM::LoadOp::create(b, loc, i32, ownedPlace);
      call(runtime("attn_release", {pointer, pointer, i32}, {}), {context, memory, owned});
      return number(0, i32);
    });
  }

  void buildKernel(unsigned stages) {
    OpBuilder::InsertionGuard guard(b);
    func::FuncOp function = declare("", /*withBytes=*/false);
    Value status = whenOk(bind(function), [&] {
      return require(".fits", limits, [&] {
        return require(".ragged", lengths,
                       [&] { return require(".require", requirements, [&] { return runStages(stages); }); });
      });
    });
    func::ReturnOp::create(b, loc, status);
  }

  void buildWorkspaceQuery() {
    OpBuilder::InsertionGuard guard(b);
    func::FuncOp function = declare("_workspace", /*withBytes=*/true);
    Value place = function.getArguments().back();
    Value status = whenOk(bind(function), [&] {
      return require(".ragged", lengths, [&] {
        func::FuncOp report = runtime("attn_report_workspace", {pointer, i64, pointer}, i32);
        return call(report, {context, workspaceBytes(), place});
      });
    });
    func::ReturnOp::create(b, loc, status);
  }

  /// Are both names free, in this module and in C?
  LogicalResult checkNames() {
    if (std::string why = whyNoSymbol(name); !why.empty())
      return layout.getKernel().emitError("attention ") << name << ": " << why;
    for (StringRef suffix : {"", "_workspace"})
      if (Operation *other = SymbolTable::lookupSymbolIn(module, (name + suffix).str());
          other && other != layout.getKernel())
        return layout.getKernel().emitError("attention ")
               << name << ": another attention makes a function " << name << suffix << "; choose another name";
    return success();
  }

  LogicalResult build() {
    if (failed(checkNames()))
      return failure();
    Tables tables(b, loc, name);
    FailureOr<FlatSymbolRefAttr> made = buildDescriptor(layout.getKernel(), layout.getSignature(), tables);
    if (failed(made))
      return failure();
    descriptor = *made;
    Tables::Words texts;
    for (RequireOp op : layout.getKernel().getBody().getOps<RequireOp>()) {
      if (!find(".require"))
        return op.emitOpError("has no code");
      texts.push_back(tables.text(op.getMessage()));
    }
    requirements = tables.table(texts, "requirements");
    texts.clear();
    for (const std::string &condition : raggedConditions(layout))
      texts.push_back(tables.text(condition));
    lengths = tables.table(texts, "lengths");
    if (find(".fits"))
      limits = tables.table({tables.text("at most 2^27 elements along an axis, and strides within 2^31: Halide counts in "
                                         "32 bits (--route=mlir takes any)")},
                            "limits");

    FailureOr<func::FuncOp> workspace = buildWorkspaceLayout(b, layout, findDirect(".scratch"), findDirect(".shared"));
    if (failed(workspace))
      return failure();
    layoutFunction = *workspace;
    unsigned stages = 0;
    for (StageOp stage : layout.getKernel().getBody().getOps<StageOp>()) {
      std::string symbol = (".stage" + llvm::Twine(stages++)).str();
      if (!find(symbol) || !find(symbol + ".tasks"))
        return stage.emitOpError("has no code");
    }
    buildKernel(stages);
    buildWorkspaceQuery();
    return success();
  }
};

} // namespace

LogicalResult attn::buildEntry(ModuleOp module, const FrameLayout &layout) {
  return EntryBuilder(module, layout).build();
}
