//===- Pipelines.cpp - the stages between a spec and LLVM -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "compiler/Pipelines.h"
#include "compiler/cpu/Passes.h"
#include "compiler/emit/Lower.h"
#include "compiler/optimize/Passes.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace attn;

namespace {

struct Stage {
  llvm::StringRef name;
  void (*add)(OpPassManager &);
};

const Stage stages[] = {
    {"parse", [](OpPassManager &) {}},
    {"simplify",
     [](OpPassManager &passes) {
       passes.addNestedPass<ProgramOp>(createSimplify());
       passes.addPass(createCanonicalizerPass());
       passes.addPass(createCSEPass());
     }},
    {"fuse",
     [](OpPassManager &passes) {
       passes.addNestedPass<ProgramOp>(createFuse());
       passes.addPass(createCanonicalizerPass());
       passes.addPass(createCSEPass());
     }},
    {"classify-mask", [](OpPassManager &passes) { passes.addNestedPass<ProgramOp>(createClassifyMask()); }},
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

void attn::buildPipeline(OpPassManager &passes, llvm::StringRef untilStage) {
  for (const Stage &stage : stages) {
    stage.add(passes);
    if (stage.name == untilStage)
      return;
  }
}

void attn::registerAttnPasses() {
  registerOptimizePasses();
  registerAttnCpuPasses();
  registerLowerToLLVMPasses();
}
