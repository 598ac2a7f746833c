//===- Frontend.cpp - from the text of a spec to programs -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/frontend/Frontend.h"
#include "compiler/frontend/Emit.h"
#include "compiler/frontend/Imports.h"
#include "compiler/frontend/Numpy.h"
#include "compiler/frontend/Sema.h"

using namespace attn;
using namespace attn::language;

using Programs = std::vector<std::unique_ptr<Program>>;

static void refuseSecondUse(const ast::File &file, Diagnostics &diagnostics) {
  llvm::StringMap<llvm::SMRange> symbols;
  for (const ast::Item &item : file.items) {
    if (!item.attention)
      continue;
    const ast::Word &name = item.attention->name;
    auto [first, isNew] = symbols.try_emplace(name.text, name.range());
    if (!isNew)
      diagnostics.error(name.range(), "two attentions are called `" + name.text + "`", {{first->second, "first here"}});
  }
}

/// Each fixed extent speaks of an axis of some attention.
static void checkFixedExtents(const Programs &programs, const FixedExtents &fixed, Diagnostics &diagnostics) {
  for (const auto &[name, value] : fixed) {
    NearestWord nearest(name);
    bool found = false;
    for (const std::unique_ptr<Program> &program : programs)
      for (const Axis &axis : program->axes) {
        found |= axis.name == name;
        nearest.offer(axis.name);
      }
    if (!found)
      diagnostics.errorInFile("-D " + name + "=" + llvm::Twine(value) + ": no axis has this name" + nearest.question());
  }
}

static Programs checkSpec(const SpecFiles &spec, const FixedExtents &fixed, Diagnostics &diagnostics) {
  Programs programs;
  DefTable defs = collectDefs(spec.pointers(), diagnostics);
  const ast::File &file = spec.main();
  refuseSecondUse(file, diagnostics);
  for (const ast::Item &item : file.items)
    if (item.attention)
      if (std::unique_ptr<Program> program = checkAttention(*item.attention, defs, fixed, diagnostics))
        programs.push_back(std::move(program));
  if (!diagnostics.hasErrors())
    checkFixedExtents(programs, fixed, diagnostics);
  return programs;
}

/// The programs that are wanted; none after errors.
static Programs readSpec(const FrontendOptions &options, Diagnostics &diagnostics) {
  SpecFiles spec = parseWithImports(options.importFolders, diagnostics);
  if (diagnostics.hasErrors())
    return {};
  Programs programs = checkSpec(spec, options.fixedExtents, diagnostics);
  if (diagnostics.hasErrors())
    return {};
  bool isEmpty = programs.empty();
  if (!options.kernel.empty())
    llvm::erase_if(programs, [&](const auto &program) { return program->name != options.kernel; });
  if (programs.empty())
    diagnostics.errorInFile(isEmpty ? llvm::Twine("the file holds no attention")
                                    : "the file holds no attention called `" + llvm::Twine(options.kernel) + "`");
  return programs;
}

mlir::OwningOpRef<mlir::ModuleOp> attn::parseSpec(llvm::SourceMgr &sources, mlir::MLIRContext *context,
                                                  const FrontendOptions &options) {
  Diagnostics diagnostics(sources);
  Programs programs = readSpec(options, diagnostics);
  if (diagnostics.hasErrors())
    return nullptr;
  context->loadDialect<AttnDialect>();
  llvm::StringRef path = sources.getMemoryBuffer(sources.getMainFileID())->getBufferIdentifier();
  auto place = mlir::FileLineColLoc::get(context, path, 1, 1);
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::ModuleOp::create(place);
  mlir::OpBuilder builder = mlir::OpBuilder::atBlockEnd(module->getBody());
  for (const std::unique_ptr<Program> &program : programs)
    emitProgram(*program, sources, builder);
  return module;
}

std::optional<std::string> attn::printSpecAsNumpy(llvm::SourceMgr &sources, const FrontendOptions &options) {
  Diagnostics diagnostics(sources);
  Programs programs = readSpec(options, diagnostics);
  if (diagnostics.hasErrors())
    return std::nullopt;
  std::vector<const Program *> pointers;
  for (const std::unique_ptr<Program> &program : programs)
    pointers.push_back(program.get());
  return printNumpy(pointers);
}
