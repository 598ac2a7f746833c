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
#include "llvm/Support/CommandLine.h"
#include "llvm/Transforms/Scalar/IndVarSimplify.h"
#include "llvm/Transforms/Scalar/LoopPassManager.h"
#include "llvm/Transforms/Scalar/LoopStrengthReduce.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include "llvm/Transforms/Utils/LoopUtils.h"

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
static std::string optimizations(bool isDevice) {
  std::string hoisting = isDevice ? "" : ",licm<allowspeculation>";
  std::string lateHoisting = isDevice ? "" : "loop-mssa(licm<allowspeculation>),";
  std::string counters = isDevice ? "indvars,loop-deletion" : "product-counters,loop-deletion,keep-rolled";
  return "function(simplifycfg,sroa,early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg,"
         "loop-mssa(loop-instsimplify,loop-rotate" + hoisting + "),loop(" + counters + "),"
         "gvn,instcombine<no-verify-fixpoint>,loop-unroll<O2>," + lateHoisting +
         "dse,simplifycfg,early-cse<memssa>,loop(product-addresses)),globaldce";
}

/// Vectors' a · b + c.
static bool isMultiplyAdd(const llvm::Instruction &instruction) {
  auto *call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
  return call && call->getType()->isVectorTy() &&
         (call->getIntrinsicID() == llvm::Intrinsic::fma || call->getIntrinsicID() == llvm::Intrinsic::fmuladd);
}

static bool anyInstruction(const llvm::Loop &loop, bool (*holds)(const llvm::Instruction &)) {
  return llvm::any_of(loop.blocks(), [&](const llvm::BasicBlock *block) { return llvm::any_of(*block, holds); });
}

namespace {
/// Of loops whose length is unknown, only those are unrolled that multiply and add: what copies or compares waits for
/// memory or for its last result, and each such loop that is unrolled takes one percent of all time.
struct KeepRolled : llvm::PassInfoMixin<KeepRolled> {
  llvm::PreservedAnalyses run(llvm::Loop &loop, llvm::LoopAnalysisManager &, llvm::LoopStandardAnalysisResults &,
                              llvm::LPMUpdater &) {
    if (!anyInstruction(loop, isMultiplyAdd))
      llvm::addStringMetadataToLoop(&loop, "llvm.loop.unroll.runtime.disable");
    return llvm::PreservedAnalyses::all();
  }
};

/// Where addresses and counters matter: in the inner loops of products, each would cost an instruction beside every few
/// multiply-adds. In all loops what makes them few would take a quarter of all time.
template <typename LoopPass>
struct InProducts : llvm::PassInfoMixin<InProducts<LoopPass>> {
  static bool addsProduct(const llvm::Instruction &instruction) {
    return isMultiplyAdd(instruction) && llvm::isa<llvm::PHINode>(instruction.getOperand(2));
  }

  llvm::PreservedAnalyses run(llvm::Loop &loop, llvm::LoopAnalysisManager &analyses,
                              llvm::LoopStandardAnalysisResults &standard, llvm::LPMUpdater &updater) {
    if (!loop.isInnermost() || !anyInstruction(loop, addsProduct))
      return llvm::PreservedAnalyses::all();
    return LoopPass().run(loop, analyses, standard, updater);
  }
};
} // namespace

static bool addOwnPass(llvm::StringRef name, llvm::LoopPassManager &passes,
                       llvm::ArrayRef<llvm::PassBuilder::PipelineElement>) {
  if (name == "keep-rolled")
    passes.addPass(KeepRolled());
  else if (name == "product-counters")
    passes.addPass(InProducts<llvm::IndVarSimplifyPass>());
  else if (name == "product-addresses")
    passes.addPass(InProducts<llvm::LoopStrengthReducePass>());
  else
    return false;
  return true;
}

llvm::Error attn::optimize(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager callGraph;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine);
  builder.registerPipelineParsingCallback(addOwnPass);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(callGraph);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, callGraph, modules);
  llvm::ModulePassManager passes;
  if (llvm::Error error = builder.parsePassPipeline(passes, optimizations(machine.getTargetTriple().isNVPTX())))
    return error;
  passes.run(module, modules);
  return llvm::Error::success();
}

namespace {
/// Leaves hoisting out of code generation for devices.
struct DeviceGate : llvm::OptPassGate {
  bool isEnabled() const override { return true; }
  bool shouldRunPass(llvm::StringRef name, llvm::StringRef) const override {
    return !name.contains("Loop Invariant Code Motion");
  }
};
} // namespace

/// Code generation would look at every loop again, and only an option of the command line tells it not to.
static void leaveOutStrengthReduction() {
  static bool isLeftOut = [] {
    llvm::cl::Option *option = llvm::cl::getRegisteredOptions().lookup("disable-lsr");
    return option && !option->addOccurrence(/*pos=*/0, "disable-lsr", "true");
  }();
  (void)isLeftOut;
}

/// Code generation changes the module that it is given, so it gets a copy.
llvm::Error attn::generate(const llvm::Module &module, llvm::TargetMachine &machine, llvm::CodeGenFileType kind,
                           llvm::raw_pwrite_stream &os) {
  std::unique_ptr<llvm::Module> copy = llvm::CloneModule(module);
  static DeviceGate gate;
  if (machine.getTargetTriple().isNVPTX())
    copy->getContext().setOptPassGate(gate);
  leaveOutStrengthReduction();
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, os, nullptr, kind, /*DisableVerify=*/true))
    return llvm::createStringError("LLVM cannot emit this kind of file for " + machine.getTargetTriple().str());
  passes.run(*copy);
  return llvm::Error::success();
}
