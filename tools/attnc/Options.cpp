//===- Options.cpp - what attnc's command line says -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The options that several subcommands share.
//===----------------------------------------------------------------------===//
#include "tools/attnc/Options.h"

#include "compiler/Driver.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/WithColor.h"

namespace cl = llvm::cl;
using namespace attnc;

// Made when first asked for: options of other files register with them before main.
cl::SubCommand &attnc::compileCommand() {
  static cl::SubCommand command("compile", "Write an object and a C header (and more with --emit)");
  return command;
}
cl::SubCommand &attnc::packCommand() {
  static cl::SubCommand command("pack", "Lay weights in .npy files out as --packed kernels read them");
  return command;
}
cl::SubCommand &attnc::runCommand() {
  static cl::SubCommand command("run", "Run the compiled kernel on .npy or .npz arrays");
  return command;
}
cl::SubCommand &attnc::interpretCommand() {
  static cl::SubCommand command("interpret", "The same by the reference interpreter, in f64");
  return command;
}
cl::SubCommand &attnc::checkCommand() {
  static cl::SubCommand command("check", "Compare the compiled kernels with the reference interpreter");
  return command;
}
cl::SubCommand &attnc::inspectCommand() {
  static cl::SubCommand command("inspect", "Print the program after any stage of the compiler");
  return command;
}
cl::SubCommand &attnc::benchCommand() {
  static cl::SubCommand command("bench", "Time the compiled kernel against this machine's limits");
  return command;
}
cl::SubCommand &attnc::tuneCommand() {
  static cl::SubCommand command("tune", "Search for faster schedules by measurement");
  return command;
}
cl::SubCommand &attnc::formatCommand() {
  static cl::SubCommand command("format", "Print the spec in its usual form");
  return command;
}

cl::opt<std::string> attnc::specPath(cl::Positional, cl::desc("SPEC.attn"), cl::sub(cl::SubCommand::getAll()));
cl::opt<std::string> attnc::kernelName("kernel", cl::desc("Only this attention of the file"), cl::value_desc("name"),
                                       cl::sub(compileCommand()), cl::sub(packCommand()), cl::sub(runCommand()), cl::sub(interpretCommand()),
                                       cl::sub(checkCommand()), cl::sub(inspectCommand()), cl::sub(benchCommand()), cl::sub(tuneCommand()));
static cl::list<std::string> defines("D", cl::Prefix, cl::desc("Fix an extent while compiling"),
                                     cl::value_desc("AXIS=extent"), cl::sub(compileCommand()), cl::sub(packCommand()), cl::sub(runCommand()),
                                     cl::sub(interpretCommand()), cl::sub(checkCommand()), cl::sub(inspectCommand()),
                                     cl::sub(benchCommand()), cl::sub(tuneCommand()));
static cl::list<std::string> importFolders("I", cl::Prefix, cl::desc("Look for imported files in this folder too"),
                                           cl::value_desc("folder"), cl::sub(compileCommand()), cl::sub(runCommand()),
                                           cl::sub(interpretCommand()), cl::sub(checkCommand()),
                                           cl::sub(inspectCommand()), cl::sub(benchCommand()), cl::sub(tuneCommand()));
static cl::opt<std::string> targetNames("target",
                                        cl::desc("Machines, separated by commas: host, x86-64-v3, x86-64-v4, x86-64-amx, "
                                                 "aarch64, cuda:sm_80, cuda:sm_90, cuda:sm_100, cuda:sm_120, opencl, vulkan, cuda"),
                                        cl::value_desc("names"), cl::init("host"), cl::sub(compileCommand()),
                                        cl::sub(runCommand()), cl::sub(checkCommand()), cl::sub(inspectCommand()),
                                        cl::sub(benchCommand()), cl::sub(tuneCommand()));
static cl::list<std::string> packed("packed", cl::CommaSeparated,
                                    cl::desc("Weights that callers give in the layout of attn_pack (`attnc pack`)"),
                                    cl::value_desc("names"), cl::sub(compileCommand()), cl::sub(packCommand()), cl::sub(runCommand()),
                                    cl::sub(interpretCommand()), cl::sub(checkCommand()), cl::sub(inspectCommand()),
                                    cl::sub(benchCommand()));
cl::opt<std::string> attnc::schedulePath("schedule",
                                         cl::desc("Use the schedules of a file (inspect --schedule prints one)"),
                                         cl::value_desc("file"), cl::sub(compileCommand()), cl::sub(runCommand()),
                                         cl::sub(checkCommand()), cl::sub(benchCommand()));
static cl::opt<std::string> tuningPath("tuning", cl::desc("Use what `attnc tune` wrote to a file, where it still holds"),
                                       cl::value_desc("file"), cl::sub(compileCommand()), cl::sub(runCommand()),
                                       cl::sub(checkCommand()), cl::sub(inspectCommand()), cl::sub(benchCommand()));
static cl::opt<attn::Remarks> remarks(
    "remarks", cl::desc("Tell what became of each program, at its place in the spec"), cl::init(attn::Remarks::None),
    cl::values(clEnumValN(attn::Remarks::None, "none", "Nothing (default)"),
               clEnumValN(attn::Remarks::Missed, "missed", "What is slower than it could be, why, and what to change"),
               clEnumValN(attn::Remarks::All, "all", "What was fused, too")),
    cl::sub(compileCommand()), cl::sub(inspectCommand()));
cl::opt<int> attnc::threads("threads", cl::desc("Threads to run on (default: all)"), cl::init(0), cl::sub(runCommand()),
                            cl::sub(benchCommand()), cl::sub(tuneCommand()));

void attnc::printError(const llvm::Twine &message) {
  llvm::WithColor::error(llvm::errs(), "attnc") << message << '\n';
}

void attnc::printError(llvm::Error error) {
  llvm::handleAllErrors(std::move(error), [](const llvm::ErrorInfoBase &info) { printError(info.message()); });
}

llvm::Expected<std::vector<std::pair<std::string, int64_t>>> attnc::parseExtents(llvm::ArrayRef<std::string> texts) {
  std::vector<std::pair<std::string, int64_t>> extents;
  for (llvm::StringRef text : texts)
    for (llvm::StringRef entry : llvm::split(text, ',')) {
      auto [name, value] = entry.split('=');
      int64_t extent;
      if (name.empty() || value.getAsInteger(10, extent) || extent < 0)
        return llvm::createStringError("'" + entry + "' is not an axis with an extent: write B=2");
      extents.emplace_back(name.str(), extent);
    }
  return extents;
}

/// The library is installed with the program, wherever that is.
static std::string libraryFolder() {
  static int here;
  llvm::SmallString<128> path(llvm::sys::fs::getMainExecutable("attnc", &here));
  llvm::sys::path::remove_filename(path);
  llvm::sys::path::append(path, ATTN_LIBRARY_FROM_PROGRAM);
  llvm::sys::path::remove_dots(path, /*remove_dot_dot=*/true);
  return path.str().str();
}

std::vector<std::string> attnc::givenTargets() {
  std::vector<std::string> names;
  for (llvm::StringRef target : llvm::split(llvm::StringRef(targetNames), ','))
    if (!target.empty())
      names.push_back(target.str());
  return names;
}

llvm::Expected<attn::DriverOptions> attnc::driverOptions() {
  if (specPath.empty())
    return llvm::createStringError("no spec is given: write the path of an .attn file");
  attn::DriverOptions options;
  auto fixed = parseExtents(defines);
  if (!fixed)
    return fixed.takeError();
  options.defines = std::move(*fixed);
  options.kernel = kernelName;
  options.packed = packed;
  options.importFolders = importFolders;
  options.libraryFolder = libraryFolder();
  if (!schedulePath.empty() && !tuningPath.empty())
    return llvm::createStringError("--schedule and --tuning both say how kernels run: give one of them");
  options.schedulePath = schedulePath;
  options.tuningPath = tuningPath;
  options.remarks = remarks;
  options.targets = givenTargets();
  return options;
}
