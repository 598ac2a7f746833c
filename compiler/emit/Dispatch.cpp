//===- Dispatch.cpp - which variant a processor runs ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Exported entries that ask attn_cpu_level and call the best variant. No constructor and no ifunc: both run before a
// program's main, where a sanitizer or a plain loader may not be ready.
//===----------------------------------------------------------------------===//
#include "compiler/emit/Link.h"

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

void attn::addDispatch(llvm::Module &module, llvm::StringRef name, llvm::ArrayRef<Implementation> implementations) {
  llvm::LLVMContext &context = module.getContext();
  auto *dispatcher = llvm::Function::Create(implementations.front().function->getFunctionType(),
                                            llvm::Function::ExternalLinkage, name, module);
  llvm::IRBuilder<> builder(llvm::BasicBlock::Create(context, "", dispatcher));
  llvm::FunctionCallee level =
      module.getOrInsertFunction("attn_cpu_level", llvm::FunctionType::get(builder.getInt32Ty(), false));
  llvm::Value *found = builder.CreateCall(level, {});
  for (const Implementation &implementation : implementations) {
    if (implementation.level == 0) {
      forward(builder, dispatcher, implementation.function);
      return;
    }
    auto *run = llvm::BasicBlock::Create(context, "", dispatcher);
    auto *next = llvm::BasicBlock::Create(context, "", dispatcher);
    builder.CreateCondBr(builder.CreateICmpSGE(found, builder.getInt32(implementation.level)), run, next);
    builder.SetInsertPoint(run);
    forward(builder, dispatcher, implementation.function);
    builder.SetInsertPoint(next);
  }
  refuse(builder, dispatcher);
}
