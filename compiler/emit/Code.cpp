//===- Code.cpp - kernels as LLVM IR, assembly and objects ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "compiler/emit/Code.h"
#include "compiler/emit/Link.h"
#include "compiler/emit/Optimize.h"

#include "llvm/Support/SmallVectorMemoryBuffer.h"

using namespace attn;

llvm::Expected<Code> Code::build(llvm::ArrayRef<Variant> variants, bool assembles) {
  if (variants.empty())
    return llvm::createStringError("no target to generate code for");
  Code code;
  code.context = std::make_unique<llvm::LLVMContext>();
  llvm::Expected<LinkedModule> linked = linkVariants(variants, assembles, *code.context);
  if (!linked)
    return linked.takeError();
  code.module = std::move(linked->module);
  code.machine = std::move(linked->machine);
  code.device = std::move(linked->device);
  if (llvm::Error error = verify(*code.module))
    return std::move(error);
  if (llvm::Error error = optimize(*code.module, *code.machine))
    return std::move(error);
  if (llvm::Error error = linkRuntime(*code.module, variants.front().target))
    return std::move(error);
  placeFunctions(*code.module);
  return code;
}

llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> Code::object() const {
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream os(bytes);
  if (llvm::Error error = generate(*module, *machine, llvm::CodeGenFileType::ObjectFile, os))
    return std::move(error);
  return std::make_unique<llvm::SmallVectorMemoryBuffer>(std::move(bytes), "kernels.o");
}

llvm::Expected<std::string> Code::assembly() const {
  llvm::SmallString<0> text;
  llvm::raw_svector_ostream os(text);
  if (llvm::Error error = generate(*module, *machine, llvm::CodeGenFileType::AssemblyFile, os))
    return std::move(error);
  return text.str().str();
}

std::string Code::llvmText() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  module->print(os, nullptr);
  return text;
}
