//===- Run.cpp - attnc run ------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/attnc/Arguments.h"
#include "tools/attnc/Execute.h"
#include "tools/attnc/Options.h"
#include "tools/attnc/Session.h"

using namespace attnc;

static llvm::cl::opt<bool> simulate("simulate",
                                    llvm::cl::desc("Run kernels for a CUDA device in the PTX simulator (docs/cuda.md)"),
                                    llvm::cl::sub(runCommand()));

static llvm::cl::opt<std::string> countsPath("counts",
                                             llvm::cl::desc("Simulate, and write what each kernel did as JSON"),
                                             llvm::cl::value_desc("file"), llvm::cl::sub(runCommand()));

static llvm::Error writeCounts(llvm::json::Array counts) {
  std::error_code code;
  llvm::raw_fd_ostream out(countsPath, code);
  if (code)
    return llvm::createStringError(code, "cannot write '" + countsPath + "': " + code.message());
  out << llvm::formatv("{0:2}\n", llvm::json::Value(std::move(counts)));
  return llvm::Error::success();
}

static llvm::Error run(attn::Driver &driver, mlir::ModuleOp module) {
  auto program = onlyProgram(module);
  if (!program)
    return program.takeError();
  auto inputs = gatherInputs(*program);
  if (!inputs)
    return inputs.takeError();
  auto object = loadObject(driver, module);
  if (!object)
    return object.takeError();
  using Opened = llvm::Expected<std::unique_ptr<Device>>;
  llvm::json::Array counts;
  bool isSimulated = simulate || !countsPath.empty();
  Opened device = isSimulated ? Opened(makeSimulator(&counts)) : openDevice(driver, /*mayBeSimulated=*/false);
  if (!device)
    return device.takeError();
  auto call = Call::prepare(**object, *program, *inputs, threads, Layout::Compact, device->get());
  if (!call)
    return call.takeError();
  if (llvm::Error error = (*call)->run())
    return error;
  auto results = (*call)->results();
  if (!results)
    return results.takeError();
  if (!countsPath.empty())
    if (llvm::Error error = writeCounts(std::move(counts)))
      return error;
  return writeResults(*results);
}

int attnc::runRun() {
  auto session = loadSpec();
  if (!session)
    return failure;
  if (llvm::Error error = run(*session->driver, *session->module)) {
    printError(std::move(error));
    return failure;
  }
  return success;
}
