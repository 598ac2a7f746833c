//===- Loader.cpp - kernels of an object in this process ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel's C signature follows from its spec, so no C++ type has it: a small function made here takes pointers,
// loads the scalars and calls the kernel as a C compiler would.
//===----------------------------------------------------------------------===//
#include "compiler/Loader.h"

#include "llvm/ExecutionEngine/Orc/ExecutionUtils.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Host.h"

using namespace attn;

LoadedObject::LoadedObject(std::unique_ptr<llvm::orc::LLJIT> jit) : jit(std::move(jit)) {}
LoadedObject::~LoadedObject() = default;

/// Code of another architecture must not run here.
static llvm::Error checkArchitecture(llvm::MemoryBufferRef object) {
  auto file = llvm::object::ObjectFile::createObjectFile(object);
  if (!file)
    return file.takeError();
  llvm::Triple host(llvm::sys::getProcessTriple());
  if ((*file)->getArch() == host.getArch())
    return llvm::Error::success();
  return llvm::createStringError("the kernels are for " + llvm::Triple::getArchTypeName((*file)->getArch()) +
                                 ", this machine is " + llvm::Triple::getArchTypeName(host.getArch()));
}

llvm::Expected<std::unique_ptr<LoadedObject>> LoadedObject::load(std::unique_ptr<llvm::MemoryBuffer> object) {
  if (llvm::Error error = checkArchitecture(*object))
    return std::move(error);
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  auto jit = llvm::orc::LLJITBuilder().create();
  if (!jit)
    return jit.takeError();
  // A symbol that is missing comes back from lookup(); nothing is printed behind the caller's back.
  (*jit)->getExecutionSession().setErrorReporter([](llvm::Error error) { llvm::consumeError(std::move(error)); });
  // memcpy and the like come from this process, as from the program that links the file.
  auto process = llvm::orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(
      (*jit)->getDataLayout().getGlobalPrefix());
  if (!process)
    return process.takeError();
  (*jit)->getMainJITDylib().addGenerator(std::move(*process));
  if (llvm::Error error = (*jit)->addObjectFile(std::move(object)))
    return std::move(error);
  return std::unique_ptr<LoadedObject>(new LoadedObject(std::move(*jit)));
}

namespace {

/// How C passes a scalar: its LLVM type, and how it is widened to a register.
struct Scalar {
  llvm::Type *type;
  llvm::Attribute::AttrKind extension;
};

Scalar passedAs(mlir::Type element, llvm::LLVMContext &context) {
  if (element.isF32())
    return {llvm::Type::getFloatTy(context), llvm::Attribute::None};
  unsigned bits = element.getIntOrFloatBitWidth();
  llvm::Type *type = llvm::Type::getIntNTy(context, bits);
  if (bits >= 32)
    return {type, llvm::Attribute::None};
  // Narrow floats travel as their bits, unsigned.
  auto integer = mlir::dyn_cast<mlir::IntegerType>(element);
  bool isSigned = integer && bits > 1 && !integer.isUnsigned();
  return {type, isSigned ? llvm::Attribute::SExt : llvm::Attribute::ZExt};
}

/// `i32 NAME.through(context, arguments [, bytes])`, which calls `NAME`.
void addThrough(llvm::Module &module, llvm::StringRef callee, const Signature &signature, bool withBytes) {
  llvm::LLVMContext &context = module.getContext();
  llvm::Type *pointer = llvm::PointerType::get(context, 0);
  llvm::Type *status = llvm::Type::getInt32Ty(context);
  llvm::SmallVector<llvm::Type *> outer{pointer, pointer}, inner{pointer};
  llvm::SmallVector<llvm::Attribute::AttrKind> extensions{llvm::Attribute::None};
  for (unsigned i = 0, e = signature.args.size(); i < e; ++i) {
    RefType type = signature.argType(i);
    Scalar scalar = type.isScalar() && signature.args[i].getMode() == Mode::In
                        ? passedAs(type.getElementType(), context)
                        : Scalar{pointer, llvm::Attribute::None};
    inner.push_back(scalar.type);
    extensions.push_back(scalar.extension);
  }
  if (withBytes) {
    outer.push_back(pointer);
    inner.push_back(pointer);
    extensions.push_back(llvm::Attribute::None);
  }

  auto *kernel = llvm::Function::Create(llvm::FunctionType::get(status, inner, false),
                                        llvm::Function::ExternalLinkage, callee, module);
  for (auto [i, extension] : llvm::enumerate(extensions))
    if (extension != llvm::Attribute::None)
      kernel->addParamAttr(i, extension);
  auto *through = llvm::Function::Create(llvm::FunctionType::get(status, outer, false),
                                         llvm::Function::ExternalLinkage, callee + ".through", module);
  llvm::IRBuilder<> builder(llvm::BasicBlock::Create(context, "", through));
  llvm::SmallVector<llvm::Value *> values{through->getArg(0)};
  for (unsigned i = 0, e = signature.args.size(); i < e; ++i) {
    llvm::Value *slot = builder.CreateConstGEP1_64(pointer, through->getArg(1), i);
    llvm::Value *argument = builder.CreateLoad(pointer, slot);
    llvm::Type *wanted = inner[i + 1];
    if (wanted->isIntegerTy(1))
      argument = builder.CreateTrunc(builder.CreateLoad(builder.getInt8Ty(), argument), wanted);
    else if (!wanted->isPointerTy())
      argument = builder.CreateLoad(wanted, argument);
    values.push_back(argument);
  }
  if (withBytes)
    values.push_back(through->getArg(2));
  llvm::CallInst *call = builder.CreateCall(kernel, values);
  call->setAttributes(kernel->getAttributes());
  builder.CreateRet(call);
}

} // namespace

llvm::Expected<LoadedObject::Kernel> LoadedObject::find(const Signature &signature) {
  auto known = found.find(signature.name);
  if (known != found.end())
    return known->second;
  auto context = std::make_unique<llvm::LLVMContext>();
  auto module = std::make_unique<llvm::Module>("through", *context);
  module->setDataLayout(jit->getDataLayout());
  module->setTargetTriple(jit->getTargetTriple());
  std::string name = signature.name.str(), workspaceName = name + "_workspace";
  addThrough(*module, name, signature, /*withBytes=*/false);
  addThrough(*module, workspaceName, signature, /*withBytes=*/true);
  if (llvm::Error error = jit->addIRModule(llvm::orc::ThreadSafeModule(std::move(module), std::move(context))))
    return std::move(error);
  auto call = jit->lookup(name + ".through");
  if (!call)
    return call.takeError();
  auto workspace = jit->lookup(workspaceName + ".through");
  if (!workspace)
    return workspace.takeError();
  Kernel kernel{call->toPtr<decltype(Kernel::call)>(), workspace->toPtr<decltype(Kernel::workspace)>()};
  found[signature.name] = kernel;
  return kernel;
}
