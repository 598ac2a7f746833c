//===- Optimize.cpp - LLVM's optimiser and back ends ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "compiler/emit/Optimize.h"

#include "llvm/Analysis/CGSCCPassManager.h"
#include "llvm/Analysis/LoopAnalysisManager.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/OptBisect.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Transforms/Scalar/LoopPassManager.h"
#include "llvm/Transforms/Scalar/LoopStrengthReduce.h"
#include "llvm/Transforms/Utils/Cloning.h"

using namespace attn;

llvm::Error attn::verify(const llvm::Module &module) {
  std::string why;
  llvm::raw_string_ostream os(why);
  if (llvm::verifyModule(module, &os))
    return llvm::createStringError("generated LLVM IR is broken: " + why);
  return llvm::Error::success();
}

/// What LLVM is asked to do. Vectors, register blocks and calls are as the emitters want them, so neither vectorisers nor
/// an inliner are here; what is left is addresses, bounds, and copies of one value. O2's pipeline takes twice as long. Prefill,
/// a layer and decoding ran as fast without it; only the decode form's mix of narrow values on 8 lanes, whose loop O2 unrolls
/// twice, was a tenth slower afterwards. Device code is left as it is in loops: what is hoisted takes a
/// register, of which a thread has few, and ptxas hoists what it has room for.
static std::string optimizations(bool hoists) {
  std::string inRotation = hoists ? ",licm<allowspeculation>" : "";
  std::string atEnd = hoists ? "loop-mssa(licm<allowspeculation>)," : "";
  return "function(simplifycfg,sroa,early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg,"
         "loop-mssa(loop-instsimplify,loop-rotate" + inRotation + "),loop(indvars,loop-deletion),"
         "gvn,instcombine<no-verify-fixpoint>,loop-unroll<O2>," + atEnd +
         "dse,simplifycfg,early-cse<memssa>),globaldce";
}

namespace {
/// Strength reduction where it pays: in the inner loops of products, whose addresses would cost an instruction beside
/// every few multiply-adds. Elsewhere it takes a fifth of all time.
struct ReduceProducts : llvm::PassInfoMixin<ReduceProducts> {
  static bool isProduct(const llvm::Loop &loop) {
    auto multipliesAndAdds = [](const llvm::Instruction &instruction) {
      auto *call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
      return call && call->getType()->isVectorTy() &&
             (call->getIntrinsicID() == llvm::Intrinsic::fma || call->getIntrinsicID() == llvm::Intrinsic::fmuladd);
    };
    return loop.isInnermost() && llvm::any_of(loop.blocks(), [&](const llvm::BasicBlock *block) {
             return llvm::any_of(*block, multipliesAndAdds);
           });
  }

  llvm::PreservedAnalyses run(llvm::Loop &loop, llvm::LoopAnalysisManager &analyses,
                              llvm::LoopStandardAnalysisResults &standard, llvm::LPMUpdater &updater) {
    if (!isProduct(loop))
      return llvm::PreservedAnalyses::all();
    return llvm::LoopStrengthReducePass().run(loop, analyses, standard, updater);
  }
};
} // namespace

llvm::Error attn::optimize(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager callGraph;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(callGraph);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, callGraph, modules);
  llvm::ModulePassManager passes;
  if (llvm::Error error = builder.parsePassPipeline(passes, optimizations(!machine.getTargetTriple().isNVPTX())))
    return error;
  passes.addPass(llvm::createModuleToFunctionPassAdaptor(llvm::createFunctionToLoopPassAdaptor(ReduceProducts())));
  passes.run(module, modules);
  return llvm::Error::success();
}

namespace {
/// Leaves loop strength reduction out of code generation, where it would look at every loop; of device code hoisting, too.
struct CodeGenerationGate : llvm::OptPassGate {
  explicit CodeGenerationGate(bool isDevice) : isDevice(isDevice) {}
  bool isEnabled() const override { return true; }
  bool shouldRunPass(llvm::StringRef name, llvm::StringRef) const override {
    return name != "Loop Strength Reduction" && !(isDevice && name.contains("Loop Invariant Code Motion"));
  }

private:
  bool isDevice;
};
} // namespace

/// Code generation changes the module that it is given, so it gets a copy.
llvm::Error attn::generate(const llvm::Module &module, llvm::TargetMachine &machine, llvm::CodeGenFileType kind,
                           llvm::raw_pwrite_stream &os) {
  std::unique_ptr<llvm::Module> copy = llvm::CloneModule(module);
  static CodeGenerationGate host(/*isDevice=*/false), device(/*isDevice=*/true);
  copy->getContext().setOptPassGate(machine.getTargetTriple().isNVPTX() ? device : host);
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, os, nullptr, kind, /*DisableVerify=*/true))
    return llvm::createStringError("LLVM cannot emit this kind of file for " + machine.getTargetTriple().str());
  passes.run(*copy);
  return llvm::Error::success();
}
