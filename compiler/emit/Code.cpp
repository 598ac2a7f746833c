//===- Code.cpp - kernels as LLVM IR, assembly and objects ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "compiler/emit/Code.h"
#include "compiler/emit/Link.h"

#include "llvm/Analysis/CGSCCPassManager.h"
#include "llvm/Analysis/LoopAnalysisManager.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/SmallVectorMemoryBuffer.h"
#include "llvm/Transforms/Utils/Cloning.h"

using namespace attn;

static llvm::Error verify(const llvm::Module &module) {
  std::string why;
  llvm::raw_string_ostream os(why);
  if (llvm::verifyModule(module, &os))
    return llvm::createStringError("generated LLVM IR is broken: " + why);
  return llvm::Error::success();
}

static void optimize(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager callGraph;
  llvm::ModuleAnalysisManager modules;
  llvm::PipelineTuningOptions tuning;
  // Vectors and register blocks are explicit: what LLVM could find, and O3 unroll, gained nothing and costs time.
  tuning.SLPVectorization = false;
  tuning.LoopVectorization = false;
  llvm::PassBuilder builder(&machine, tuning);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(callGraph);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, callGraph, modules);
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O2).run(module, modules);
}

llvm::Expected<Code> Code::build(llvm::ArrayRef<Variant> variants) {
  if (variants.empty())
    return llvm::createStringError("no target to generate code for");
  Code code;
  code.context = std::make_unique<llvm::LLVMContext>();
  llvm::Expected<LinkedModule> linked = linkVariants(variants, *code.context);
  if (!linked)
    return linked.takeError();
  code.module = std::move(linked->module);
  code.machine = std::move(linked->machine);
  if (llvm::Error error = verify(*code.module))
    return std::move(error);
  optimize(*code.module, *code.machine);
  if (llvm::Error error = linkRuntime(*code.module))
    return std::move(error);
  return code;
}

/// Code generation changes the module that it is given, so it gets a copy.
static llvm::Error generate(const llvm::Module &module, llvm::TargetMachine &machine, llvm::CodeGenFileType kind,
                            llvm::raw_pwrite_stream &os) {
  std::unique_ptr<llvm::Module> copy = llvm::CloneModule(module);
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, os, nullptr, kind, /*DisableVerify=*/true))
    return llvm::createStringError("LLVM cannot emit this kind of file for " + machine.getTargetTriple().str());
  passes.run(*copy);
  return llvm::Error::success();
}

llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> Code::object() const {
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream os(bytes);
  if (llvm::Error error = generate(*module, *machine, llvm::CodeGenFileType::ObjectFile, os))
    return std::move(error);
  return std::make_unique<llvm::SmallVectorMemoryBuffer>(std::move(bytes), "kernels.o");
}

llvm::Expected<std::string> Code::assembly() const {
  llvm::SmallString<0> text;
  llvm::raw_svector_ostream os(text);
  if (llvm::Error error = generate(*module, *machine, llvm::CodeGenFileType::AssemblyFile, os))
    return std::move(error);
  return text.str().str();
}

std::string Code::llvmText() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  module->print(os, nullptr);
  return text;
}
