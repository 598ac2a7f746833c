//===- Pipelines.cpp - the stages between a spec and LLVM -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "compiler/Pipelines.h"
#include "compiler/cpu/Passes.h"
#include "compiler/cuda/Passes.h"
#include "compiler/decide/Passes.h"
#include "compiler/emit/Lower.h"
#include "compiler/halide/Passes.h"
#include "compiler/optimize/Passes.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace attn;

namespace {

bool isCuda(const PipelineOptions &options) { return llvm::StringRef(options.target).starts_with("cuda:"); }

struct Stage {
  llvm::StringRef name;
  void (*add)(OpPassManager &, const PipelineOptions &);
};

const Stage stages[] = {
    {"parse", [](OpPassManager &, const PipelineOptions &) {}},
    {"simplify",
     [](OpPassManager &passes, const PipelineOptions &) {
       passes.addPass(createCanonicalizerPass());
       passes.addPass(createCSEPass());
       passes.addNestedPass<ProgramOp>(createSimplify());
       passes.addPass(createCanonicalizerPass());
       passes.addPass(createCSEPass());
     }},
    {"fuse",
     [](OpPassManager &passes, const PipelineOptions &) {
       passes.addNestedPass<ProgramOp>(createFuse());
       passes.addPass(createCanonicalizerPass());
       passes.addPass(createCSEPass());
     }},
    {"classify-mask",
     [](OpPassManager &passes, const PipelineOptions &) {
       passes.addNestedPass<ProgramOp>(createClassifyMask());
       passes.addPass(createCSEPass());
     }},
    {"decide",
     [](OpPassManager &passes, const PipelineOptions &options) {
       DecideOptions decide;
       decide.target = options.target;
       decide.schedule = options.schedule;
       passes.addPass(createDecide(decide));
       passes.addPass(createChooseRoute({options.target}));
     }},
    // One of the two does something.
    {"lower-to-cpu",
     [](OpPassManager &passes, const PipelineOptions &options) {
       if (!isCuda(options))
         passes.addPass(createLowerToCpu());
     }},
    {"lower-to-cuda",
     [](OpPassManager &passes, const PipelineOptions &options) {
       if (isCuda(options))
         passes.addPass(createLowerToCuda());
     }},
    {"llvm", [](OpPassManager &passes, const PipelineOptions &) { buildLowerToLLVM(passes); }},
};

} // namespace

llvm::ArrayRef<llvm::StringRef> attn::stageNames() {
  static const llvm::SmallVector<llvm::StringRef> names = [] {
    llvm::SmallVector<llvm::StringRef> list;
    for (const Stage &stage : stages)
      list.push_back(stage.name);
    return list;
  }();
  return names;
}

void attn::buildPipeline(OpPassManager &passes, llvm::StringRef untilStage, const PipelineOptions &options,
                         llvm::StringRef afterStage) {
  bool started = afterStage.empty();
  for (const Stage &stage : stages) {
    if (started)
      stage.add(passes, options);
    started |= stage.name == afterStage;
    if (stage.name == untilStage)
      return;
  }
}

void attn::registerAttnPasses() {
  registerOptimizePasses();
  registerDecidePasses();
  registerAttnCpuPasses();
  registerAttnRoutePasses();
  registerAttnCudaPasses();
  registerLowerToLLVMPasses();
}
