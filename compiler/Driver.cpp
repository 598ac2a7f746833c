//===- Driver.cpp - from a spec file to what a user wants of it -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/Driver.h"

#include "compiler/Pipelines.h"
#include "compiler/optimize/Passes.h"
#include "compiler/frontend/Frontend.h"
#include "dialects/attn/Attn.h"
#include "mlir/IR/Verifier.h"
#include "mlir/InitAllDialects.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;
using namespace attn;

struct Driver::Diagnostics {
  Diagnostics(MLIRContext *context, Remarks wanted)
      : handler(sources, context), filter(context, [this, wanted](Diagnostic &diagnostic) {
          if (diagnostic.getSeverity() != DiagnosticSeverity::Remark)
            return failure(); // The handler prints it.
          // Stages run again for each target, and for each that is printed.
          std::string text;
          llvm::raw_string_ostream(text) << diagnostic.getLocation() << diagnostic;
          return success(!isShown(diagnostic, wanted) || !told.insert(text).second);
        }) {}

  llvm::SourceMgr sources;
  SourceMgrDiagnosticHandler handler;
  ScopedDiagnosticHandler filter;
  llvm::StringSet<> told;
};

Driver::Driver(DriverOptions options) : options(std::move(options)) {
  DialectRegistry registry;
  registerAllDialects(registry);
  registry.insert<AttnDialect>();
  // A spec is small: threads would cost more than they save, and mix the order of diagnostics.
  context = std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
  context->printOpOnDiagnostic(false);
  context->loadDialect<AttnDialect>();
}

Driver::~Driver() = default;

/// Makes the file the text that diagnostics speak of.
LogicalResult Driver::open(llvm::StringRef path) {
  diagnostics = std::make_unique<Diagnostics>(context.get(), options.remarks);
  std::string problem;
  std::unique_ptr<llvm::MemoryBuffer> text = openInputFile(path, &problem);
  if (!text)
    return emitError(UnknownLoc::get(context.get()), problem), failure();
  filesRead.push_back(path.str());
  diagnostics->sources.AddNewSourceBuffer(std::move(text), llvm::SMLoc());
  return success();
}

FrontendOptions Driver::frontendOptions() const {
  FrontendOptions frontend;
  frontend.fixedExtents.insert(options.defines.begin(), options.defines.end());
  frontend.kernel = options.kernel;
  frontend.importFolders = options.importFolders;
  if (!options.libraryFolder.empty())
    frontend.importFolders.push_back(options.libraryFolder);
  return frontend;
}

FailureOr<OwningOpRef<ModuleOp>> Driver::load(llvm::StringRef path) {
  if (failed(open(path)))
    return failure();
  llvm::SourceMgr &sources = diagnostics->sources;
  auto module = path.ends_with(".mlir") ? parseSourceFile<ModuleOp>(sources, context.get())
                                        : parseSpec(sources, context.get(), frontendOptions());
  if (!module)
    return failure();
  // What was imported became a buffer.
  for (unsigned buffer = sources.getMainFileID() + 1; buffer <= sources.getNumBuffers(); ++buffer)
    filesRead.push_back(sources.getMemoryBuffer(buffer)->getBufferIdentifier().str());
  if (!options.packed.empty() && failed(packWeights(*module)))
    return failure();
  return module;
}

LogicalResult Driver::packWeights(ModuleOp programs) {
  PackWeightsOptions wanted;
  wanted.weights.assign(options.packed.begin(), options.packed.end());
  PassManager passes(context.get());
  passes.addPass(createPackWeights(wanted));
  return passes.run(programs);
}

FailureOr<std::string> Driver::printNumpy(llvm::StringRef path) {
  if (failed(open(path)))
    return failure();
  std::optional<std::string> text = printSpecAsNumpy(diagnostics->sources, frontendOptions());
  if (!text)
    return failure();
  return std::move(*text);
}

LogicalResult Driver::lower(ModuleOp programs, llvm::StringRef stage) {
  FailureOr<std::string> schedule = scheduleText(programs, options.targets.front());
  if (failed(schedule))
    return failure();
  PassManager passes(context.get());
  buildPipeline(passes, stage, {options.targets.front(), *schedule});
  return passes.run(programs);
}
