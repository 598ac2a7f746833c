//===- main.cpp - attnc ---------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds the subcommand and runs it. Each is in a file of its name.
//===----------------------------------------------------------------------===//
#include "tools/attnc/Options.h"

#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/raw_ostream.h"

using namespace attnc;

static llvm::ArrayRef<Subcommand> subcommands() {
  static const Subcommand list[] = {
    {compileCommand(), runCompile},     {packCommand(), runPack},   {runCommand(), runRun},
    {interpretCommand(), runInterpret}, {checkCommand(), runCheck}, {inspectCommand(), runInspect},
    {benchCommand(), runBench},         {tuneCommand(), runTune},   {formatCommand(), runFormat},
  };
  return list;
}

/// The top level's --help would list every option of LLVM's; this says what attnc can do.
static void printUsage(llvm::raw_ostream &out) {
  out << "attnc: an ahead-of-time compiler for attention\n\nUSAGE: attnc SUBCOMMAND SPEC.attn [options]\n\n";
  for (const Subcommand &subcommand : subcommands()) {
    out << "  " << subcommand.command.getName();
    out.indent(12 - subcommand.command.getName().size()) << subcommand.command.getDescription() << '\n';
  }
  out << "\n`attnc SUBCOMMAND --help` lists the options of one.\n";
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  llvm::StringRef first = argc > 1 ? argv[1] : "";
  if (first.empty() || first == "--help" || first == "-h" || first == "help") {
    printUsage(first.empty() ? llvm::errs() : llvm::outs());
    return first.empty() ? couldNotRun : success;
  }
  llvm::cl::ParseCommandLineOptions(argc, argv, "attnc: an ahead-of-time compiler for attention\n");
  for (const Subcommand &subcommand : subcommands())
    if (subcommand.command)
      return subcommand.run();
  printError("'" + first + "' is not a subcommand; `attnc --help` lists them");
  return couldNotRun;
}
