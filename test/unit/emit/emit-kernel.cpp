// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Writes the kernel of EmittedKernel.h in every form, for tests that compile and link: emit-kernel TARGET DIRECTORY.
#include "EmittedKernel.h"

#include "compiler/emit/Description.h"
#include "compiler/emit/Files.h"
#include "compiler/emit/Header.h"

using namespace attn;

int main(int argc, char **argv) {
  llvm::ExitOnError check("emit-kernel: ");
  if (argc != 3)
    check(llvm::createStringError("usage: emit-kernel TARGET DIRECTORY"));
  std::string stem = std::string(argv[2]) + "/scale";
  Target target = check(findTarget(argv[1]));
  EmittedKernel kernel;
  Code code = check(kernel.compile(target));
  auto object = check(code.object());
  check(writeFile(stem + ".o", object->getBuffer()));
  check(writeFile(stem + ".s", check(code.assembly())));
  check(writeFile(stem + ".ll", code.llvmText()));
  check(writeFile(stem + ".a", check(makeArchive(object->getMemBufferRef(), "scale.o"))->getBuffer()));
  check(linkSharedLibrary(object->getMemBufferRef(), llvm::Triple(target.triple), stem + ".so"));
  check(writeFile(stem + ".h", check(makeHeader(kernel.getModule(), "scale.attn"))));
  check(writeFile(stem + ".json",
                  makeDescription(kernel.getModule(), DecidedFor{target.name, kernel.getModule()}, "scale.attn")));
  check(writeFile(stem + ".d", makeDependencyRule({stem + ".o"}, {"a b.attn", "c$.yaml"})));
  return 0;
}
