//===- Dispatch.cpp - which variant a processor runs ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Exported entries that ask where the tensors are, and attn_cpu_level or attn_cpu_tiles, and call the best variant. No constructor and no ifunc: both run before a
// program's main, where a sanitizer or a plain loader may not be ready.
//===----------------------------------------------------------------------===//
#include "compiler/emit/Link.h"
#include "compiler/emit/Machine.h"

#include "llvm/IR/IRBuilder.h"

using namespace attn;

/// Calls with the dispatcher's own arguments; the tail call leaves no frame.
static void forward(llvm::IRBuilder<> &builder, llvm::Function *dispatcher, llvm::Function *target) {
  llvm::SmallVector<llvm::Value *> arguments;
  for (llvm::Argument &argument : dispatcher->args())
    arguments.push_back(&argument);
  llvm::CallInst *call = builder.CreateCall(target, arguments);
  call->setTailCall();
  builder.CreateRet(call);
}

/// Calls attn_unsupported(context, kernel), which explains.
static void refuse(llvm::IRBuilder<> &builder, llvm::Function *dispatcher) {
  llvm::Module &module = *dispatcher->getParent();
  llvm::Type *pointer = builder.getPtrTy();
  llvm::FunctionCallee unsupported = module.getOrInsertFunction(
      "attn_unsupported", llvm::FunctionType::get(builder.getInt32Ty(), {pointer, pointer}, false));
  llvm::Value *name = builder.CreateGlobalString(dispatcher->getName());
  builder.CreateRet(builder.CreateCall(unsupported, {dispatcher->getArg(0), name}));
}

/// One tensor on a device is enough: the kernel for devices says which others are not.
static llvm::Value *isOnDevice(llvm::IRBuilder<> &builder, llvm::Function *dispatcher, unsigned tensors) {
  llvm::FunctionCallee ask = dispatcher->getParent()->getOrInsertFunction(
      "attn_is_on_cuda", llvm::FunctionType::get(builder.getInt32Ty(), {builder.getPtrTy()}, false));
  llvm::Value *any = builder.getInt32(0);
  for (unsigned i = 1; i <= tensors; ++i)
    if (dispatcher->getArg(i)->getType()->isPointerTy())
      any = builder.CreateOr(any, builder.CreateCall(ask, {dispatcher->getArg(i)}));
  return builder.CreateIsNotNull(any);
}

void attn::addDispatch(llvm::Module &module, llvm::StringRef name, const Implementations &implementations) {
  llvm::LLVMContext &context = module.getContext();
  auto *dispatcher = llvm::Function::Create(implementations.processors.front().function->getFunctionType(),
                                            llvm::Function::ExternalLinkage, name, module);
  llvm::IRBuilder<> builder(llvm::BasicBlock::Create(context, "", dispatcher));
  auto runWhere = [&](llvm::Value *condition, llvm::Function *target) {
    auto *run = llvm::BasicBlock::Create(context, "", dispatcher);
    auto *next = llvm::BasicBlock::Create(context, "", dispatcher);
    builder.CreateCondBr(condition, run, next);
    builder.SetInsertPoint(run);
    forward(builder, dispatcher, target);
    builder.SetInsertPoint(next);
  };
  if (implementations.device)
    runWhere(isOnDevice(builder, dispatcher, implementations.tensors), implementations.device);
  auto ask = [&](llvm::StringRef question) -> llvm::Value * {
    return builder.CreateCall(module.getOrInsertFunction(question, llvm::FunctionType::get(builder.getInt32Ty(), false)), {});
  };
  for (const Implementation &implementation : implementations.processors) {
    if (implementation.level == 0)
      return forward(builder, dispatcher, implementation.function);
    llvm::Value *runs = implementation.level == tileLevel
                            ? builder.CreateIsNotNull(ask("attn_cpu_tiles"))
                            : builder.CreateICmpSGE(ask("attn_cpu_level"), builder.getInt32(implementation.level));
    runWhere(runs, implementation.function);
  }
  refuse(builder, dispatcher);
}
