//===- Machine.cpp - LLVM's view of a target --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "compiler/emit/Machine.h"

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
    LLVMInitializeX86AsmParser(); // The runtime's xgetbv is written in assembly.
    LLVMInitializeAArch64TargetInfo();
    LLVMInitializeAArch64Target();
    LLVMInitializeAArch64TargetMC();
    LLVMInitializeAArch64AsmPrinter();
    return true;
  }();
  (void)once;
}

llvm::Expected<std::unique_ptr<llvm::TargetMachine>> attn::makeTargetMachine(const Target &wanted) {
  initializeTargets();
  std::string why;
  llvm::Triple triple(wanted.triple);
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, why);
  if (!target)
    return llvm::createStringError("target %s: %s", wanted.name.c_str(), why.c_str());
  // Asked first: code generation for an unknown processor prints a warning of its own.
  std::unique_ptr<llvm::MCSubtargetInfo> known(target->createMCSubtargetInfo(triple, "", ""));
  if (!known || !known->isCPUStringValid(wanted.cpu))
    return llvm::createStringError("target %s: LLVM knows no processor '%s'", wanted.name.c_str(), wanted.cpu.c_str());
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard;
  options.FunctionSections = true;
  options.DataSections = true;
  std::unique_ptr<llvm::TargetMachine> made(target->createTargetMachine(
      triple, wanted.cpu, wanted.features, options, llvm::Reloc::PIC_, std::nullopt, llvm::CodeGenOptLevel::Aggressive));
  if (!made)
    return llvm::createStringError("target %s: LLVM generates no code for it", wanted.name.c_str());
  return made;
}

int attn::requiredLevel(const llvm::TargetMachine &machine) {
  if (!machine.getTargetTriple().isX86())
    return 0;
  const llvm::MCSubtargetInfo &info = *machine.getMCSubtargetInfo();
  if (info.checkFeatures("+avx512f,+avx512bw,+avx512cd,+avx512dq,+avx512vl"))
    return 4;
  // Any vector extension past the baseline asks for the whole level: there is no name for less.
  return info.checkFeatures("+avx") ? 3 : 0;
}
