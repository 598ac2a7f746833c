// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// For tests that compile and link. emit-kernel TARGETS DIRECTORY: writes the kernel of EmittedKernel.h in every form.
// emit-kernel header FILE.mlir: prints the header of the programs of a file.
#include "EmittedKernel.h"

#include "compiler/emit/Description.h"
#include "compiler/emit/Files.h"
#include "compiler/emit/Header.h"

#include "mlir/Parser/Parser.h"

using namespace attn;

static llvm::Expected<std::string> headerOf(llvm::StringRef path) {
  mlir::MLIRContext context;
  context.loadDialect<AttnDialect>();
  auto module = mlir::parseSourceFile<mlir::ModuleOp>(path, &context);
  if (!module)
    return llvm::createStringError("no module");
  return makeHeader(*module, "a*/b.attn");
}

int main(int argc, char **argv) {
  llvm::ExitOnError check("emit-kernel: ");
  if (argc != 3)
    check(llvm::createStringError("usage: emit-kernel (TARGETS DIRECTORY | header FILE.mlir)"));
  if (llvm::StringRef(argv[1]) == "header") {
    llvm::outs() << check(headerOf(argv[2]));
    return 0;
  }
  std::string stem = std::string(argv[2]) + "/scale";
  llvm::SmallVector<llvm::StringRef> names;
  llvm::StringRef(argv[1]).split(names, ',');
  std::vector<Target> targets;
  for (llvm::StringRef name : names)
    targets.push_back(check(findTarget(name)));
  EmittedKernel kernel;
  Code code = check(kernel.compile(targets));
  auto object = check(code.object());
  check(writeFile(stem + ".o", object->getBuffer()));
  check(writeFile(stem + ".s", check(code.assembly())));
  check(writeFile(stem + ".ll", code.llvmText()));
  check(writeFile(stem + ".a", check(makeArchive(object->getMemBufferRef(), "scale.o"))->getBuffer()));
  check(linkSharedLibrary(object->getMemBufferRef(), llvm::Triple(targets.front().triple), stem + ".so"));
  check(writeFile(stem + ".h", check(makeHeader(kernel.getModule(), "scale.attn"))));
  check(writeFile(stem + ".json",
                  makeDescription(kernel.getModule(), DecidedFor{targets.front().name, kernel.getModule()}, "scale.attn")));
  check(writeFile(stem + ".d", makeDependencyRule({stem + ".o"}, {"a b.attn", "c$.yaml"})));
  return 0;
}
