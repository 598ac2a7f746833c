//===- DriverEmit.cpp - files from programs -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs all stages for each target, and writes what is asked for.
//===----------------------------------------------------------------------===//
#include "compiler/Driver.h"

#include "compiler/Pipelines.h"
#include "compiler/emit/Code.h"
#include "compiler/emit/Description.h"
#include "compiler/emit/Files.h"
#include "compiler/emit/Header.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace attn;

/// A spec on its way for one target.
struct Driver::Lowered {
  Target target;
  OwningOpRef<ModuleOp> decided, code;
};

/// Where files go, and which have been written.
struct Driver::Files {
  llvm::StringRef directory, stem;
  std::vector<std::string> &written;
  Location loc;
  /// Between stem and suffix: the architecture or target, where that must be said.
  std::string infix;

  std::string path(llvm::StringRef suffix, llvm::StringRef prefix = "") const {
    llvm::SmallString<128> path(directory);
    llvm::sys::path::append(path, prefix + stem + infix + suffix);
    return path.str().str();
  }

  LogicalResult report(llvm::Error error) const {
    if (!error)
      return success();
    return emitError(loc, llvm::toString(std::move(error))), failure();
  }

  LogicalResult write(const std::string &path, llvm::StringRef bytes) {
    written.push_back(path);
    return report(writeFile(path, bytes));
  }
};

FailureOr<std::vector<Driver::Lowered>> Driver::lowerAll(ModuleOp programs) {
  std::vector<Lowered> all;
  for (const std::string &name : options.targets) {
    FailureOr<std::string> schedule = scheduleText(programs, name);
    if (failed(schedule))
      return failure();
    llvm::Expected<Target> target = findTarget(name);
    if (!target)
      return emitError(programs.getLoc(), llvm::toString(target.takeError())), failure();
    Lowered lowered{std::move(*target), programs.clone(), {}};
    PassManager first(context.get()), rest(context.get());
    buildPipeline(first, "decide", {name, *schedule});
    if (failed(first.run(*lowered.decided)))
      return failure();
    lowered.code = lowered.decided->clone();
    // Once at the end is enough: the verifier after each pass would take as long as the passes.
    rest.enableVerifier(false);
    buildPipeline(rest, "llvm", {name, *schedule}, "decide");
    if (failed(rest.run(*lowered.code)) || failed(verify(*lowered.code)))
      return failure();
    all.push_back(std::move(lowered));
  }
  return all;
}

static FailureOr<Code> link(Location loc, llvm::ArrayRef<Variant> variants, bool assembles) {
  llvm::Expected<Code> code = Code::build(variants, assembles);
  if (!code)
    return emitError(loc, llvm::toString(code.takeError())), failure();
  return std::move(*code);
}

/// `.ptx` and `.cubin`, with the device's name where there are several.
LogicalResult Driver::emitDeviceCode(const Code &code, llvm::ArrayRef<Output> outputs, Files &files) {
  for (const DeviceCode &device : code.deviceCode()) {
    std::string name = code.deviceCode().size() > 1 ? ".sm_" + std::to_string(device.arch) : "";
    if (llvm::is_contained(outputs, Output::Ptx) && failed(files.write(files.path(name + ".ptx"), device.ptx)))
      return failure();
    if (!llvm::is_contained(outputs, Output::Cubin))
      continue;
    if (device.cubin.empty())
      return emitError(files.loc, "there is no ptxas here to make machine code for sm_") << device.arch;
    if (failed(files.write(files.path(name + ".cubin"), device.cubin)))
      return failure();
  }
  return success();
}

LogicalResult Driver::emitCode(llvm::ArrayRef<Lowered *> group, llvm::ArrayRef<Output> outputs, Files &files) {
  auto wants = [&](Output output) { return llvm::is_contained(outputs, output); };
  bool wantsObject = wants(Output::Object) || wants(Output::Library) || wants(Output::Shared);
  std::vector<Variant> variants;
  for (Lowered *lowered : group)
    variants.push_back({*lowered->code, lowered->target});
  FailureOr<Code> code = link(files.loc, variants, wants(Output::Cubin) || wantsObject);
  if (failed(code))
    return failure();

  if (wants(Output::LLVM) && failed(files.write(files.path(".ll"), code->llvmText())))
    return failure();
  if (wants(Output::Assembly)) {
    llvm::Expected<std::string> assembly = code->assembly();
    if (!assembly)
      return files.report(assembly.takeError());
    if (failed(files.write(files.path(".s"), *assembly)))
      return failure();
  }
  if (failed(emitDeviceCode(*code, outputs, files)))
    return failure();
  if (!wantsObject)
    return success();
  auto object = code->object();
  if (!object)
    return files.report(object.takeError());
  std::string objectPath = files.path(".o");
  if (wants(Output::Object) && failed(files.write(objectPath, (*object)->getBuffer())))
    return failure();
  if (wants(Output::Library)) {
    auto archive = makeArchive(**object, llvm::sys::path::filename(objectPath));
    if (!archive)
      return files.report(archive.takeError());
    if (failed(files.write(files.path(".a", "lib"), (*archive)->getBuffer())))
      return failure();
  }
  if (!wants(Output::Shared))
    return success();
  std::string shared = files.path(".so", "lib");
  files.written.push_back(shared);
  return files.report(linkSharedLibrary(**object, llvm::Triple(group.front()->target.triple), shared));
}

/// Targets of one group share one object; where there are several, files carry its name.
static llvm::StringRef groupOf(const Target &target) {
  if (target.hasDevice())
    return target.name;
  return llvm::Triple::getArchTypeName(llvm::Triple(target.triple).getArch());
}

LogicalResult Driver::emit(ModuleOp programs, llvm::ArrayRef<Output> outputs, llvm::StringRef directory,
                           llvm::StringRef stem, std::vector<std::string> &written) {
  auto wants = [&](Output output) { return llvm::is_contained(outputs, output); };
  FailureOr<std::vector<Lowered>> all = lowerAll(programs);
  if (failed(all))
    return failure();
  Files files{directory, stem, written, programs.getLoc(), ""};
  std::string source = stem.str() + ".attn";

  llvm::MapVector<llvm::StringRef, llvm::SmallVector<Lowered *>> groups;
  for (Lowered &lowered : *all)
    groups[groupOf(lowered.target)].push_back(&lowered);
  for (auto &[name, group] : groups) {
    if (groups.size() > 1)
      files.infix = "." + name.str();
    if (failed(emitCode(group, outputs, files)))
      return failure();
  }
  if (wants(Output::MLIR))
    for (Lowered &lowered : *all) {
      std::string text;
      llvm::raw_string_ostream stream(text);
      lowered.code->print(stream);
      files.infix = all->size() > 1 ? "." + lowered.target.name : "";
      if (failed(files.write(files.path(".mlir"), text)))
        return failure();
    }

  files.infix = "";
  if (wants(Output::Header)) {
    llvm::Expected<std::string> header = makeHeader(programs, source);
    if (!header)
      return files.report(header.takeError());
    if (failed(files.write(files.path(".h"), *header)))
      return failure();
  }
  if (wants(Output::Json)) {
    std::vector<DecidedFor> decided;
    for (Lowered &lowered : *all)
      decided.push_back({lowered.target.name, *lowered.decided});
    if (failed(files.write(files.path(".json"), makeDescription(programs, decided, source))))
      return failure();
  }
  return success();
}

FailureOr<std::unique_ptr<llvm::MemoryBuffer>> Driver::compileObject(ModuleOp programs) {
  FailureOr<std::vector<Lowered>> all = lowerAll(programs);
  if (failed(all))
    return failure();
  std::vector<Variant> variants;
  for (Lowered &lowered : *all)
    variants.push_back({*lowered.code, lowered.target});
  FailureOr<Code> code = link(programs.getLoc(), variants, /*assembles=*/false);
  if (failed(code))
    return failure();
  auto object = code->object();
  if (!object)
    return emitError(programs.getLoc(), llvm::toString(object.takeError())), failure();
  return std::move(*object);
}
