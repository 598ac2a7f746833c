//===- Compile.cpp - attnc compile ----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/emit/Files.h"
#include "tools/attnc/Options.h"
#include "tools/attnc/Session.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

namespace cl = llvm::cl;
using namespace attn;
using namespace attnc;

static cl::opt<std::string> outputFolder("o", cl::desc("Where files are written (default: the current folder)"),
                                         cl::value_desc("folder"), cl::init("."), cl::sub(compileCommand()));
static cl::list<Output> emitted(
    "emit", cl::CommaSeparated, cl::desc("What to write, separated by commas (default: obj,header)"),
    cl::values(clEnumValN(Output::Object, "obj", "object file"), clEnumValN(Output::Header, "header", "C and C++ header"),
               clEnumValN(Output::Library, "lib", "static library"), clEnumValN(Output::Shared, "shared", "shared library"),
               clEnumValN(Output::Assembly, "asm", "assembly"), clEnumValN(Output::LLVM, "llvm", "LLVM IR"),
               clEnumValN(Output::MLIR, "mlir", "MLIR in the LLVM dialect"),
               clEnumValN(Output::Ptx, "ptx", "PTX of the kernels for a CUDA target"),
               clEnumValN(Output::Cubin, "cubin", "their machine code, by ptxas"),
               clEnumValN(Output::Json, "json", "description: arguments, axes, constraints, workspace")),
    cl::sub(compileCommand()));
static cl::opt<std::string> depfile("depfile", cl::desc("Also write which files were read, for make and ninja"),
                                    cl::value_desc("file"), cl::sub(compileCommand()));

int attnc::runCompile() {
  auto session = loadSpec();
  if (!session)
    return failure;
  if (std::error_code problem = llvm::sys::fs::create_directories(outputFolder)) {
    printError(outputFolder + ": " + problem.message());
    return failure;
  }
  std::vector<Output> outputs(emitted.begin(), emitted.end());
  if (outputs.empty())
    outputs = {Output::Object, Output::Header};
  std::vector<std::string> written;
  if (failed(session->driver->emit(*session->module, outputs, outputFolder, llvm::sys::path::stem(specPath), written)))
    return failure;
  if (depfile.empty())
    return success;
  if (llvm::Error error = writeFile(depfile, makeDependencyRule(written, session->driver->dependencies()))) {
    printError(std::move(error));
    return failure;
  }
  return success;
}
