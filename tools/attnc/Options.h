//===- Options.h - what attnc's command line says ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Subcommands and the options that several of them share; an option of one subcommand only is in that one's file.
// Turns them into plain data for the libraries, which know no command line.
//===----------------------------------------------------------------------===//
#ifndef ATTN_TOOLS_ATTNC_OPTIONS_H
#define ATTN_TOOLS_ATTNC_OPTIONS_H

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace attn {
struct DriverOptions;
}

namespace attnc {

/// What attnc returns to its caller.
enum Exit { success = 0, failure = 1, couldNotRun = 2 };

/// A subcommand's name on the command line and what runs it.
struct Subcommand {
  llvm::cl::SubCommand &command;
  int (*run)();
};

llvm::cl::SubCommand &compileCommand();
llvm::cl::SubCommand &packCommand();
llvm::cl::SubCommand &runCommand();
llvm::cl::SubCommand &interpretCommand();
llvm::cl::SubCommand &checkCommand();
llvm::cl::SubCommand &inspectCommand();
llvm::cl::SubCommand &benchCommand();
llvm::cl::SubCommand &tuneCommand();
llvm::cl::SubCommand &formatCommand();

extern llvm::cl::opt<std::string> specPath;
extern llvm::cl::opt<std::string> kernelName;
extern llvm::cl::opt<std::string> schedulePath;
extern llvm::cl::opt<int> threads;

/// `B=2,S=10` as axes with extents.
llvm::Expected<std::vector<std::pair<std::string, int64_t>>> parseExtents(llvm::ArrayRef<std::string> texts);

/// What --target names.
std::vector<std::string> givenTargets();

/// What -D, -I, --kernel, --packed, --target, --schedule and --tuning say.
llvm::Expected<attn::DriverOptions> driverOptions();

/// Prints `attnc: error: ...`.
void printError(const llvm::Twine &message);
void printError(llvm::Error error);

int runCompile();
int runPack();
int runRun();
int runInterpret();
int runCheck();
int runInspect();
int runBench();
int runTune();
int runFormat();

} // namespace attnc

#endif // ATTN_TOOLS_ATTNC_OPTIONS_H
