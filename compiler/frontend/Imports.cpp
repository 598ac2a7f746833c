//===- Imports.cpp - a spec and the files that it imports -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/frontend/Imports.h"
#include "compiler/frontend/Parser.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include <map>

using namespace attn::language;
using llvm::StringRef;
using llvm::sys::fs::UniqueID;

std::vector<const ast::File *> SpecFiles::pointers() const {
  std::vector<const ast::File *> pointers;
  for (const std::unique_ptr<ast::File> &file : files)
    pointers.push_back(file.get());
  return pointers;
}

namespace {
class Importer {
public:
  Importer(llvm::ArrayRef<std::string> folders, Diagnostics &diagnostics)
      : folders(folders), diagnostics(diagnostics), sources(diagnostics.getSources()) {}

  SpecFiles run() {
    parse(sources.getMainFileID(), idOf(pathOf(sources.getMainFileID())));
    return std::move(spec);
  }

private:
  enum class State { Open, Done };

  StringRef pathOf(unsigned buffer) const { return sources.getMemoryBuffer(buffer)->getBufferIdentifier(); }

  /// What tells one file from another, by whatever path; nothing for standard input.
  static std::optional<UniqueID> idOf(StringRef path) {
    UniqueID id;
    return llvm::sys::fs::getUniqueID(path, id) ? std::nullopt : std::optional<UniqueID>(id);
  }

  void parse(unsigned buffer, std::optional<UniqueID> id) {
    if (id)
      states[*id] = State::Open;
    auto file = std::make_unique<ast::File>(parseFile(sources.getMemoryBuffer(buffer)->getBuffer(), diagnostics));
    for (const ast::Item &item : file->items) {
      if (item.import)
        import(*item.import, pathOf(buffer));
      else if (item.attention && buffer != sources.getMainFileID())
        diagnostics.error(item.attention->name.range(),
                          "only defs can be imported, and this is an attention; move the defs of this file to one of "
                          "their own");
    }
    if (id)
      states[*id] = State::Done;
    spec.files.push_back(std::move(file));
  }

  void import(const ast::Import &import, StringRef importer) {
    StringRef name = import.file.text;
    auto refuse = [&](const llvm::Twine &message) { diagnostics.error(import.range, message); };
    if (!name.ends_with(".attn"))
      return refuse("an import names a file that ends in `.attn`");
    if (llvm::sys::path::is_absolute(name))
      return refuse("an absolute path ties the spec to one machine; import `" + llvm::sys::path::filename(name) +
                    "`, and name its folder with `-I`");
    std::optional<std::string> path = find(name, importer);
    if (!path)
      return refuse("`" + name + "` is neither beside this file, nor in a folder given with `-I`, nor in the library");
    std::optional<UniqueID> id = idOf(*path);
    auto known = id ? states.find(*id) : states.end();
    if (known != states.end() && known->second == State::Open)
      return refuse("`" + name + "` imports itself, by way of this import");
    if (known != states.end())
      return;
    auto text = llvm::MemoryBuffer::getFile(*path, /*IsText=*/true);
    if (!text)
      return refuse("`" + name + "` cannot be read: " + text.getError().message());
    parse(sources.AddNewSourceBuffer(std::move(*text), import.range.Start), id);
  }

  std::optional<std::string> find(StringRef name, StringRef importer) const {
    std::vector<std::string> places = {llvm::sys::path::parent_path(importer).str()};
    places.insert(places.end(), folders.begin(), folders.end());
    for (StringRef folder : places) {
      llvm::SmallString<128> path(folder);
      llvm::sys::path::append(path, name);
      if (llvm::sys::fs::exists(path) && !llvm::sys::fs::is_directory(path))
        return path.str().str();
    }
    return std::nullopt;
  }

  llvm::ArrayRef<std::string> folders;
  Diagnostics &diagnostics;
  llvm::SourceMgr &sources;
  std::map<UniqueID, State> states;
  SpecFiles spec;
};
} // namespace

SpecFiles attn::language::parseWithImports(llvm::ArrayRef<std::string> folders, Diagnostics &diagnostics) {
  return Importer(folders, diagnostics).run();
}
