//===- LinkDevice.cpp - Halide's runtime for a device ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/emit/LinkDevice.h"

#include "compiler/emit/LinkHalide.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/PassInstrumentation.h"
#include "llvm/IR/PassManager.h"
#include "llvm/Linker/Linker.h"
#include "llvm/Transforms/IPO/GlobalDCE.h"
#include "llvm/Transforms/IPO/Internalize.h"
#include "llvm/Transforms/Utils/ModuleUtils.h"

using namespace attn;

/// The runtime's name of a device's functions.
static llvm::StringRef interfaceName(DeviceInterface device) {
  switch (device) {
  case DeviceInterface::None:
    return "";
  case DeviceInterface::OpenCL:
    return "halide_opencl_device_interface";
  case DeviceInterface::Cuda:
    return "halide_cuda_device_interface";
  case DeviceInterface::Vulkan:
    return "halide_vulkan_device_interface";
  }
  llvm_unreachable("every device has an interface");
}

/// Defined by runtime/bind in their place.
static constexpr llvm::StringLiteral ours[] = {"halide_malloc", "halide_free", "halide_error"};
/// What runtime/bind/Device.c calls.
static constexpr llvm::StringLiteral called[] = {"halide_device_malloc", "halide_device_free"};

/// Turns the list of functions that run before main into one that attn_device_start calls; of those that run after it
/// nothing is left: the process gives the device back.
static void takeConstructors(llvm::Module &runtime) {
  llvm::LLVMContext &context = runtime.getContext();
  auto *all = llvm::Function::Create(llvm::FunctionType::get(llvm::Type::getVoidTy(context), false),
                                     llvm::Function::ExternalLinkage, "attn_device_construct", runtime);
  llvm::IRBuilder<> builder(llvm::BasicBlock::Create(context, "", all));
  if (llvm::GlobalVariable *list = runtime.getGlobalVariable("llvm.global_ctors")) {
    for (llvm::Value *entry : llvm::cast<llvm::ConstantArray>(list->getInitializer())->operands())
      builder.CreateCall(llvm::cast<llvm::Function>(llvm::cast<llvm::ConstantStruct>(entry)->getOperand(1)));
    list->eraseFromParent();
  }
  builder.CreateRetVoid();
  if (llvm::GlobalVariable *list = runtime.getGlobalVariable("llvm.global_dtors"))
    list->eraseFromParent();
}

static void addInterface(llvm::Module &runtime, llvm::StringRef name) {
  llvm::Function *function = runtime.getFunction(name);
  auto *ours = llvm::Function::Create(function->getFunctionType(), llvm::Function::ExternalLinkage,
                                      "attn_device_interface", runtime);
  llvm::IRBuilder<> builder(llvm::BasicBlock::Create(runtime.getContext(), "", ours));
  builder.CreateRet(builder.CreateCall(function));
}

/// Leaves what `roots` need.
static void shrink(llvm::Module &runtime, const llvm::StringSet<> &roots) {
  for (llvm::StringRef name : ours)
    if (llvm::Function *function = runtime.getFunction(name)) {
      function->deleteBody();
      function->setComdat(nullptr);
    }
  for (llvm::GlobalValue &value : runtime.global_values())
    if (roots.contains(value.getName()))
      value.setLinkage(llvm::GlobalValue::ExternalLinkage);
  llvm::internalizeModule(runtime, [&](const llvm::GlobalValue &value) { return roots.contains(value.getName()); });
  llvm::ModuleAnalysisManager analyses;
  llvm::FunctionAnalysisManager functions;
  analyses.registerPass([] { return llvm::PassInstrumentationAnalysis(); });
  analyses.registerPass([&] { return llvm::FunctionAnalysisManagerModuleProxy(functions); });
  llvm::GlobalDCEPass().run(runtime, analyses);
}

llvm::Error attn::linkDeviceRuntime(llvm::Module &into, const Target &target) {
  HalideCode code = compileRuntime(halideMachineOf(target));
  if (!code.error.empty())
    return llvm::createStringError(code.error);
  auto runtime = llvm::parseBitcodeFile(llvm::MemoryBufferRef(code.bytes, "device"), into.getContext());
  if (!runtime)
    return runtime.takeError();
  adopt(**runtime, into);
  takeConstructors(**runtime);
  addInterface(**runtime, interfaceName(target.device));
  llvm::StringSet<> roots;
  for (const llvm::Function &function : into)
    if (function.isDeclaration())
      roots.insert(function.getName());
  for (llvm::StringRef name : called)
    roots.insert(name);
  roots.insert("attn_device_construct");
  roots.insert("attn_device_interface");
  shrink(**runtime, roots);
  if (llvm::Linker(into).linkInModule(std::move(*runtime)))
    return llvm::createStringError("Halide's runtime could not be linked in");
  return llvm::Error::success();
}
