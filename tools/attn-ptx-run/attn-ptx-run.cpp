// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Runs a kernel of PTX text on the simulator. Exit status: 0 when it ran without a fault, 1 when it has faults, 2 when
// it could not be run.
#include "tools/attn-ptx-run/Arguments.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

using namespace attn::ptx;
namespace cl = llvm::cl;

static cl::OptionCategory category("Simulator");
static cl::opt<std::string> file(cl::Positional, cl::desc("FILE.ptx"), cl::Required, cl::cat(category));
static cl::opt<std::string> entry("entry", cl::desc("the kernel; not needed where there is one"), cl::cat(category));
static cl::opt<std::string> grid("grid", cl::desc("CTAs: X, X,Y or X,Y,Z"), cl::init("1"), cl::cat(category));
static cl::opt<std::string> block("block", cl::desc("threads of a CTA, likewise"), cl::init("1"), cl::cat(category));
static cl::opt<uint64_t> shared("shared", cl::desc("bytes of dynamic shared memory"), cl::cat(category));
static cl::list<std::string>
    arguments("arg",
              cl::desc("in order: i32:5, f32:1.5, in:FILE.npy, out:f32[2,3]=FILE.npy (not initialised), "
                       "zero:f32[2,3]=FILE.npy, inout:FILE.npy=FILE.npy"),
              cl::cat(category));
static cl::opt<std::string> json("json", cl::desc("write faults and counts to this file; - is the standard output"),
                                 cl::cat(category));
static cl::opt<uint64_t> seed("schedule-seed", cl::desc("another order of warps and CTAs"), cl::cat(category));
static cl::opt<unsigned> faults("faults", cl::desc("describe at most so many"), cl::init(20), cl::cat(category));
static cl::opt<uint64_t> limit("limit", cl::desc("give up after so many instructions of warps"),
                               cl::init(4'000'000'000), cl::cat(category));

namespace {
llvm::Error parseExtents(llvm::StringRef option, llvm::StringRef text, std::array<unsigned, 3> &extents) {
  llvm::SmallVector<llvm::StringRef> parts;
  text.split(parts, ',');
  if (parts.size() > 3)
    return llvm::createStringError("--" + option + " has at most three extents");
  for (unsigned i = 0; i < parts.size(); ++i)
    if (parts[i].getAsInteger(10, extents[i]) || extents[i] == 0)
      return llvm::createStringError("--" + option + ": '" + parts[i] + "' is not a number above 0");
  return llvm::Error::success();
}

std::string onlyKernel(const Module &module) {
  for (const Function &function : module.functions)
    if (function.isEntry)
      return function.name;
  return "";
}

llvm::Error writeJson(const Report &report) {
  std::error_code code;
  llvm::raw_fd_ostream out(json, code);
  if (code)
    return llvm::createStringError(code, "cannot write '" + json + "': " + code.message());
  out << llvm::formatv("{0:2}\n", report.toJson());
  return llvm::Error::success();
}

llvm::Expected<bool> run() {
  auto text = llvm::MemoryBuffer::getFile(file);
  if (!text)
    return llvm::createStringError("cannot read it: " + text.getError().message());
  llvm::Expected<Module> module = Module::parse((*text)->getBuffer());
  if (!module)
    return module.takeError();
  llvm::Expected<Program> program = Program::decode(*module, entry.empty() ? onlyKernel(*module) : entry);
  if (!program)
    return program.takeError();
  Launch how;
  how.dynamicShared = shared;
  how.seed = seed;
  how.faultLimit = faults;
  how.instructionLimit = limit;
  if (llvm::Error error = parseExtents("grid", grid, how.grid))
    return std::move(error);
  if (llvm::Error error = parseExtents("block", block, how.block))
    return std::move(error);
  Device device;
  std::vector<Output> outputs;
  for (unsigned i = 0; i < arguments.size(); ++i)
    if (llvm::Error error = setArgument(*program, device, how, i, arguments[i], outputs))
      return std::move(error);
  if (arguments.size() != program->parameters.size())
    return llvm::createStringError("the kernel takes " + llvm::Twine(program->parameters.size()) + " arguments, " +
                                   llvm::Twine(arguments.size()) + " were given");
  llvm::Expected<Report> report = launch(*program, device, how);
  if (!report)
    return report.takeError();
  for (const Output &output : outputs)
    if (llvm::Error error = writeOutput(device, output))
      return std::move(error);
  report->print(llvm::errs());
  if (!json.empty())
    if (llvm::Error error = writeJson(*report))
      return std::move(error);
  return report->clean();
}
} // namespace

int main(int argc, char **argv) {
  cl::HideUnrelatedOptions(category);
  cl::ParseCommandLineOptions(argc, argv, "Runs a kernel of PTX text without a GPU, and reports what it does wrong.\n");
  llvm::Expected<bool> clean = run();
  if (!clean) {
    llvm::errs() << file << ": error: " << llvm::toString(clean.takeError()) << "\n";
    return 2;
  }
  return *clean ? 0 : 1;
}
