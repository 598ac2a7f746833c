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
  Opened device = simulate ? Opened(makeSimulator()) : openDevice(driver, /*mayBeSimulated=*/false);
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
