//===- Files.cpp - libraries and dependency files ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "compiler/emit/Files.h"

#include "llvm/Object/ArchiveWriter.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/TargetParser/Host.h"

using namespace attn;

llvm::Error attn::writeFile(llvm::StringRef path, llvm::StringRef bytes) {
  return llvm::writeToOutput(path, [&](llvm::raw_ostream &os) {
    os << bytes;
    return llvm::Error::success();
  });
}

llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> attn::makeArchive(llvm::MemoryBufferRef object,
                                                                      llvm::StringRef member) {
  llvm::NewArchiveMember only(llvm::MemoryBufferRef(object.getBuffer(), member));
  return llvm::writeArchiveToBuffer(only, llvm::SymtabWritingMode::NormalSymtab, llvm::object::Archive::K_GNU,
                                    /*Deterministic=*/true, /*Thin=*/false);
}

/// A linker for the triple: lld serves every architecture, the system's linker its own.
static llvm::Expected<std::string> findLinker(const llvm::Triple &triple) {
  llvm::SmallVector<llvm::StringRef> names{"ld.lld-22", "ld.lld"};
  if (triple.getArch() == llvm::Triple(llvm::sys::getProcessTriple()).getArch())
    names.push_back("ld");
  for (llvm::StringRef name : names)
    if (llvm::ErrorOr<std::string> found = llvm::sys::findProgramByName(name))
      return *found;
  return llvm::createStringError("a shared library needs a linker, and none is in PATH: install lld (" +
                                 llvm::join(names, ", ") + ")");
}

/// A file that goes when its owner goes.
static llvm::Expected<llvm::SmallString<128>> makeTemporary(llvm::StringRef suffix, llvm::StringRef bytes) {
  llvm::SmallString<128> path;
  if (std::error_code error = llvm::sys::fs::createTemporaryFile("attnc", suffix, path))
    return llvm::createStringError(error, "a temporary file: " + error.message());
  if (llvm::Error error = writeFile(path, bytes)) {
    llvm::sys::fs::remove(path);
    return std::move(error);
  }
  return path;
}

llvm::Error attn::linkSharedLibrary(llvm::MemoryBufferRef object, const llvm::Triple &triple, llvm::StringRef path) {
  llvm::Expected<std::string> linker = findLinker(triple);
  if (!linker)
    return linker.takeError();
  auto input = makeTemporary("o", object.getBuffer());
  if (!input)
    return input.takeError();
  llvm::FileRemover removeInput(*input);
  auto messages = makeTemporary("txt", "");
  if (!messages)
    return messages.takeError();
  llvm::FileRemover removeMessages(*messages);

  // No build id, which is a hash of what varies; what the object hides stays hidden.
  llvm::StringRef soname = llvm::sys::path::filename(path);
  llvm::StringRef arguments[] = {*linker, "-shared", "--build-id=none", "--hash-style=gnu", "-z",  "noexecstack",
                                 "-z",    "relro",   "-soname",         soname,             "-o", path,
                                 *input};
  std::optional<llvm::StringRef> redirects[] = {llvm::StringRef(), llvm::StringRef(*messages),
                                                llvm::StringRef(*messages)};
  std::string why;
  if (llvm::sys::ExecuteAndWait(*linker, arguments, std::nullopt, redirects, 0, 0, &why) == 0)
    return llvm::Error::success();
  if (auto text = llvm::MemoryBuffer::getFile(*messages))
    why += (*text)->getBuffer().trim();
  return llvm::createStringError(*linker + " could not link " + path + ": " + why);
}

/// A path as make reads it.
static std::string escaped(llvm::StringRef path) {
  std::string text;
  for (char c : path) {
    if (c == ' ' || c == '#' || c == '\\')
      text += '\\';
    else if (c == '$')
      text += '$';
    text += c;
  }
  return text;
}

std::string attn::makeDependencyRule(llvm::ArrayRef<std::string> outputs, llvm::ArrayRef<std::string> inputs) {
  std::string rule;
  for (const std::string &output : outputs)
    rule += (rule.empty() ? "" : " ") + escaped(output);
  rule += ":";
  for (const std::string &input : inputs)
    rule += " \\\n  " + escaped(input);
  return rule + "\n";
}
