//===- Machine.cpp - what LLVM must know of a processor ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "compiler/emit/Machine.h"

#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/SubtargetFeature.h"

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

Machine attn::hostMachine() {
  Machine machine;
  machine.name = "host";
  machine.triple = llvm::sys::getProcessTriple();
  machine.cpu = llvm::sys::getHostCPUName().str();
  llvm::StringMap<bool> found = llvm::sys::getHostCPUFeatures();
  std::map<llvm::StringRef, bool> features; // In one order, whatever the hash is.
  for (auto &feature : found)
    features[feature.getKey()] = feature.getValue();
  llvm::SubtargetFeatures list;
  for (auto [feature, has] : features)
    list.AddFeature(feature, has);
  machine.features = list.getString();
  auto has = [&](llvm::StringRef feature) { return features.count(feature) && features[feature]; };
  machine.vectorBits = has("avx512f") && has("avx512vl") ? 512 : has("avx2") ? 256 : 0;
  return machine;
}

llvm::Expected<std::unique_ptr<llvm::TargetMachine>> attn::makeTargetMachine(const Machine &machine) {
  initializeTargets();
  std::string why;
  llvm::Triple triple(machine.triple);
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, why);
  if (!target)
    return llvm::createStringError("target %s: %s", machine.name.c_str(), why.c_str());
  // Asked first: code generation for an unknown processor prints a warning of its own.
  std::unique_ptr<llvm::MCSubtargetInfo> known(target->createMCSubtargetInfo(triple, "", ""));
  if (!known || !known->isCPUStringValid(machine.cpu))
    return llvm::createStringError("target %s: LLVM knows no processor '%s'", machine.name.c_str(), machine.cpu.c_str());
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard;
  options.FunctionSections = true;
  options.DataSections = true;
  std::unique_ptr<llvm::TargetMachine> made(target->createTargetMachine(
      triple, machine.cpu, machine.features, options, llvm::Reloc::PIC_, std::nullopt, llvm::CodeGenOptLevel::Aggressive));
  if (!made)
    return llvm::createStringError("target %s: LLVM generates no code for it", machine.name.c_str());
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
