//===- Names.cpp - what a kernel may be called ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "compiler/emit/Names.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/TargetParser/Triple.h"

bool attn::isWordOfC(llvm::StringRef name) {
  static const llvm::StringSet<> words = {
      "alignas",      "alignof",      "and",        "and_eq",     "asm",        "auto",         "bitand",
      "bitor",        "bool",         "break",      "case",       "catch",      "char",         "class",
      "co_await",     "co_return",    "co_yield",   "compl",      "concept",    "const",        "const_cast",
      "consteval",    "constexpr",    "constinit",  "continue",   "decltype",   "default",      "delete",
      "do",           "double",       "dynamic_cast", "else",     "enum",       "explicit",     "export",
      "extern",       "false",        "float",      "for",        "friend",     "goto",         "if",
      "inline",       "int",          "linux",      "long",       "mutable",    "namespace",    "new",
      "noexcept",     "not",          "not_eq",     "nullptr",    "offsetof",   "operator",     "or",
      "or_eq",        "private",      "protected",  "public",     "register",   "reinterpret_cast", "requires",
      "restrict",     "return",       "short",      "signed",     "sizeof",     "static",       "static_assert",
      "static_cast",  "struct",       "switch",     "template",   "this",       "thread_local", "throw",
      "true",         "try",          "typedef",    "typeid",     "typename",   "typeof",       "union",
      "unix",         "unsigned",     "using",      "virtual",    "void",       "volatile",     "wchar_t",
      "while",        "xor",          "xor_eq"};
  return words.contains(name);
}

std::string attn::whyNoSymbol(llvm::StringRef name) {
  if (isWordOfC(name))
    return "this is a word of C or C++; choose another name";
  if (name.starts_with("attn_"))
    return "names that begin with attn_ are the runtime's; choose another name";
  llvm::LibFunc function;
  llvm::TargetLibraryInfoImpl library(llvm::Triple("x86_64-unknown-linux-gnu"));
  if (name == "main" || library.getLibFunc(name, function))
    return "this is a function of the C library, which the program would lose; choose another name";
  return "";
}
