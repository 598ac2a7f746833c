//===- Machine.cpp - LLVM's view of a target --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "compiler/emit/Machine.h"

#include "llvm/IR/Module.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"

using namespace attn;

/// The processors that kernels are made for, whatever else LLVM has.
static void initializeTargets() {
  static bool once = [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeX86AsmParser(); // The runtime's part is assembly.
    LLVMInitializeAArch64TargetInfo();
    LLVMInitializeAArch64Target();
    LLVMInitializeAArch64TargetMC();
    LLVMInitializeAArch64AsmPrinter();
    LLVMInitializeAArch64AsmParser();
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
    return true;
  }();
  (void)once;
}

/// `triple`, `cpu` and `features` are what LLVM is asked for.
static llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
makeMachine(const Target &wanted, const llvm::Triple &triple, llvm::StringRef cpu, llvm::StringRef features) {
  initializeTargets();
  std::string why;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, why);
  if (!target)
    return llvm::createStringError("target %s: %s", wanted.name.c_str(), why.c_str());
  // Asked first: code generation for an unknown processor prints a warning of its own.
  std::unique_ptr<llvm::MCSubtargetInfo> known(target->createMCSubtargetInfo(triple, "", ""));
  if (!known || !known->isCPUStringValid(cpu))
    return llvm::createStringError("target " + wanted.name + ": LLVM knows no processor '" + cpu + "'");
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard;
  std::unique_ptr<llvm::TargetMachine> made(target->createTargetMachine(
      triple, cpu, features, options, llvm::Reloc::PIC_, std::nullopt, llvm::CodeGenOptLevel::Aggressive));
  if (!made)
    return llvm::createStringError("target %s: LLVM generates no code for it", wanted.name.c_str());
  return made;
}

llvm::Expected<std::unique_ptr<llvm::TargetMachine>> attn::makeTargetMachine(const Target &wanted) {
  return makeMachine(wanted, llvm::Triple(wanted.triple), wanted.cpu, wanted.features);
}

/// PTX 7.8 takes addresses of parameters; newer processors have newer versions of their own.
llvm::Expected<std::unique_ptr<llvm::TargetMachine>> attn::makeDeviceMachine(const Target &wanted) {
  return makeMachine(wanted, llvm::Triple("nvptx64-nvidia-cuda"), "sm_" + std::to_string(wanted.cudaArch),
                     wanted.cudaArch < 90 ? "+ptx78" : "");
}

int attn::requiredLevel(const llvm::Module &module, const llvm::TargetMachine &machine) {
  if (!machine.getTargetTriple().isX86())
    return 0;
  if (module.getFunction("llvm.x86.ldtilecfg"))
    return tileLevel;
  const llvm::MCSubtargetInfo &info = *machine.getMCSubtargetInfo();
  if (info.checkFeatures("+avx512f,+avx512bw,+avx512cd,+avx512dq,+avx512vl"))
    return 4;
  // Any vector extension past the baseline asks for the whole level: there is no name for less.
  return info.checkFeatures("+avx") ? 3 : 0;
}
