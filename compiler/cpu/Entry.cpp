//===- Entry.cpp - the functions that a program calls -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "compiler/cpu/Entry.h"

#include "compiler/cpu/Descriptor.h"
#include "compiler/cpu/Workspace.h"
#include "compiler/emit/Names.h"
#include "compiler/emit/StoredType.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace attn;

EntryBuilder::EntryBuilder(ModuleOp module, const FrameLayout &layout)
    : module(module), layout(layout), name(layout.getSignature().name), b(OpBuilder::atBlockEnd(module.getBody())),
      loc(layout.getKernel().getLoc()), pointer(LLVM::LLVMPointerType::get(module.getContext())), i32(b.getI32Type()),
      i64(b.getI64Type()) {}

//===----------------------------------------------------------------------===//
// Vocabulary
//===----------------------------------------------------------------------===//

Value EntryBuilder::number(int64_t value, Type type) {
  return arith::ConstantOp::create(b, loc, b.getIntegerAttr(type, value));
}

Value EntryBuilder::addressOf(FlatSymbolRefAttr global) { return LLVM::AddressOfOp::create(b, loc, pointer, global); }

Value EntryBuilder::allocate(Type type, int64_t count) {
  return LLVM::AllocaOp::create(b, loc, pointer, type, number(count, i64));
}

Value EntryBuilder::element(Value base, Type type, unsigned index) {
  return LLVM::GEPOp::create(b, loc, pointer, type, base, ArrayRef<LLVM::GEPArg>{int32_t(index)});
}

Value EntryBuilder::isZero(Value status) {
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, status, number(0, status.getType()));
}

Value EntryBuilder::whenOk(Value status, llvm::function_ref<Value()> then) {
  return branch(isZero(status), then, [&] { return status; });
}

Value EntryBuilder::branch(Value condition, llvm::function_ref<Value()> then, llvm::function_ref<Value()> otherwise) {
  auto branch = scf::IfOp::create(b, loc, TypeRange{i32}, condition, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(b, loc, then());
  b.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(b, loc, otherwise());
  return branch.getResult(0);
}

func::FuncOp EntryBuilder::find(const llvm::Twine &suffix) {
  return module.lookupSymbol<func::FuncOp>((name + suffix).str());
}

/// What it reads is invariant while it runs, but not in the entry that filled the frame just before, should LLVM bring
/// the two together.
func::FuncOp EntryBuilder::findDirect(const llvm::Twine &suffix) {
  func::FuncOp function = find(suffix);
  if (function)
    function.walk([](LLVM::LoadOp load) { load.setInvariant(false); });
  return function;
}

func::FuncOp EntryBuilder::runtime(StringRef symbol, TypeRange arguments, TypeRange results) {
  if (auto known = module.lookupSymbol<func::FuncOp>(symbol))
    return known;
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToEnd(module.getBody());
  auto function = func::FuncOp::create(b, loc, symbol, b.getFunctionType(arguments, results));
  function.setPrivate();
  return function;
}

Value EntryBuilder::call(func::FuncOp function, ValueRange arguments) {
  auto call = func::CallOp::create(b, loc, function, arguments);
  return call.getNumResults() ? call.getResult(0) : Value();
}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

/// What C passes for an argument.
Type EntryBuilder::passedType(unsigned i) {
  if (!FrameLayout::isByValue(layout.getSignature(), i))
    return pointer;
  Type element = layout.getSignature().argType(i).getElementType();
  // Narrow values are bits; in a register only the low ones mean something.
  return element.isF32() ? element : Type(b.getIntegerType(findStoredType(element)->bits));
}

func::FuncOp EntryBuilder::declare(StringRef suffix, bool withBytes) {
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
Value EntryBuilder::bind(func::FuncOp function) {
  unsigned count = layout.getSignature().args.size();
  Value args = allocate(pointer, std::max(count, 1u));
  frame = allocate(i64, layout.size());
  memoryPlace = allocate(pointer, 1);
  ownedPlace = allocate(i32, 1);
  allocatePlaces();
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

//===----------------------------------------------------------------------===//
// Workspace
//===----------------------------------------------------------------------===//

Value EntryBuilder::workspaceBytes() { return call(layoutFunction, {frame, workers()}); }

void EntryBuilder::placeBuffers(Value memory) {
  Value base = LLVM::PtrToIntOp::create(b, loc, i64, memory);
  auto slots = llvm::to_vector(llvm::seq(layout.scratch() - unsigned(layout.getBuffers().size()), layout.scratch() + 1));
  slots.push_back(layout.shared());
  for (unsigned i : slots) {
    Value offset = LLVM::LoadOp::create(b, loc, i64, slot(i));
    LLVM::StoreOp::create(b, loc, arith::AddIOp::create(b, loc, base, offset), slot(i));
  }
  LLVM::StoreOp::create(b, loc, context, slot(layout.context()));
}

//===----------------------------------------------------------------------===//
// Both functions
//===----------------------------------------------------------------------===//

void EntryBuilder::buildKernel() {
  OpBuilder::InsertionGuard guard(b);
  func::FuncOp function = declare("", /*withBytes=*/false);
  Value status = whenOk(bind(function), [&] {
    return checkLimits([&] { return checkLengths([&] { return checkRequirements([&] { return runStages(); }); }); });
  });
  func::ReturnOp::create(b, loc, status);
}

void EntryBuilder::buildWorkspaceQuery() {
  OpBuilder::InsertionGuard guard(b);
  func::FuncOp function = declare("_workspace", /*withBytes=*/true);
  Value place = function.getArguments().back();
  Value status = whenOk(bind(function), [&] {
    return checkLengths([&] {
      func::FuncOp report = runtime("attn_report_workspace", {pointer, i64, pointer}, i32);
      return call(report, {context, workspaceBytes(), place});
    });
  });
  func::ReturnOp::create(b, loc, status);
}

/// Are both names free, in this module and in C?
LogicalResult EntryBuilder::checkNames() {
  if (std::string why = whyNoSymbol(name); !why.empty())
    return layout.getKernel().emitError("attention ") << name << ": " << why;
  for (StringRef suffix : {"", "_workspace"})
    if (Operation *other = SymbolTable::lookupSymbolIn(module, (name + suffix).str());
        other && other != layout.getKernel())
      return layout.getKernel().emitError("attention ")
             << name << ": another attention makes a function " << name << suffix << "; choose another name";
  return success();
}

LogicalResult EntryBuilder::build() {
  if (failed(checkNames()))
    return failure();
  Tables tables(b, loc, name);
  auto made = buildDescriptor(layout.getKernel(), layout.getSignature(), deviceType(), tables);
  if (failed(made))
    return failure();
  descriptor = *made;
  if (failed(prepare(tables)))
    return failure();
  FailureOr<func::FuncOp> workspace = buildWorkspaceLayout(b, layout, findDirect(".scratch"), findDirect(".shared"));
  if (failed(workspace))
    return failure();
  layoutFunction = *workspace;
  buildKernel();
  buildWorkspaceQuery();
  return success();
}
