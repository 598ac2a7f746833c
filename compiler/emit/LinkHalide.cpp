//===- LinkHalide.cpp - tasks that Halide generates -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A function that is declared with a plan gets its code here: Halide writes bitcode of its own LLVM, which ours reads.
//===----------------------------------------------------------------------===//
#include "compiler/emit/LinkHalide.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "schedules/KernelPlanText.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/InstrTypes.h"
#include "llvm/Linker/Linker.h"

using namespace attn;

HalideMachine attn::halideMachineOf(const Target &target) {
  HalideMachine machine;
  if (llvm::Triple(target.triple).isAArch64())
    machine.kind = HalideMachine::AArch64;
  else if (target.lanes >= 16)
    machine.kind = HalideMachine::X86_AVX512;
  else if (target.lanes >= 8)
    machine.kind = HalideMachine::X86_AVX2;
  machine.device = target.device;
  return machine;
}

/// Products may be added without being rounded first, as in the vector code; nothing else may change.
static void allowFusedProducts(llvm::Function &function) {
  for (llvm::Instruction &instruction : llvm::instructions(function))
    if (llvm::isa<llvm::BinaryOperator>(instruction) && instruction.getType()->isFPOrFPVectorTy())
      instruction.setHasAllowContract(true);
}

void attn::adopt(llvm::Module &module, const llvm::Module &into) {
  module.setTargetTriple(into.getTargetTriple());
  module.setDataLayout(into.getDataLayout());
  module.setSourceFileName("");
  if (llvm::NamedMDNode *flags = module.getModuleFlagsMetadata())
    module.eraseNamedMetadata(flags);
  for (llvm::Function &function : module)
    for (llvm::StringRef attribute : {"target-cpu", "target-features", "tune-cpu"})
      function.removeFnAttr(attribute);
}

static llvm::Error linkTask(llvm::Module &into, llvm::StringRef text, const HalideMachine &machine) {
  llvm::Expected<StagePlan> plan = parsePlan(text);
  if (!plan)
    return plan.takeError();
  HalideCode code = compileStage(*plan, machine, HalideOutput::Bitcode);
  if (!code.error.empty())
    return llvm::createStringError(code.error);
  auto module = llvm::parseBitcodeFile(llvm::MemoryBufferRef(code.bytes, plan->symbol), into.getContext());
  if (!module)
    return module.takeError();
  adopt(**module, into);
  for (llvm::Function &function : **module)
    allowFusedProducts(function);
  if (llvm::Linker(into).linkInModule(std::move(*module), llvm::Linker::LinkOnlyNeeded))
    return llvm::createStringError("the code of " + plan->symbol + " could not be linked");
  return llvm::Error::success();
}

llvm::Error attn::linkHalideTasks(llvm::Module &into, const Variant &variant) {
  for (auto function : mlir::ModuleOp(variant.module).getOps<mlir::LLVM::LLVMFuncOp>())
    if (auto plan = function->getAttrOfType<mlir::StringAttr>("attn.plan"))
      if (llvm::Error error = linkTask(into, plan.getValue(), halideMachineOf(variant.target)))
        return error;
  return llvm::Error::success();
}
