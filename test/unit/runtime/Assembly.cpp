// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The embedded assembly: all parts stand in one module, define what they say, export nothing, and need nothing but what
// they say and a device's runtime gives.

#include "runtime/bind/Embedded.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Object/ModuleSymbolTable.h"
#include "llvm/Support/TargetSelect.h"

#include <gtest/gtest.h>

using Flags = llvm::object::BasicSymbolRef::Flags;

static llvm::StringMap<Flags> symbolsOf(const std::vector<attn::Part> &parts,
                                        const char *triple) {
  llvm::LLVMContext context;
  llvm::Module module("parts", context);
  module.setTargetTriple(llvm::Triple(triple));
  for (const attn::Part &part : parts)
    module.appendModuleInlineAsm(part.assembly);
  llvm::StringMap<Flags> symbols;
  llvm::ModuleSymbolTable::CollectAsmSymbols(
      module, [&](llvm::StringRef name, Flags flags) {
        if (!name.starts_with(".L")) // A label.
          symbols[name] = flags;
      });
  return symbols;
}

static void check(const std::vector<attn::Part> &parts, const char *triple) {
  llvm::StringMap<Flags> symbols = symbolsOf(parts, triple);
  llvm::StringMap<bool> needed;
  for (const attn::Part &part : parts) {
    for (std::string_view name : part.defines) {
      ASSERT_TRUE(symbols.count(name)) << name;
      EXPECT_FALSE(symbols[name] & llvm::object::BasicSymbolRef::SF_Undefined) << name;
    }
    for (std::string_view name : part.needs)
      needed[name] = true;
  }
  for (const char *name : {"attn_bind", "attn_reserve", "attn_release", "attn_run", "attn_workers"})
    EXPECT_TRUE(symbols.count(name)) << name;
  for (const auto &[name, flags] : symbols) {
    bool isOfDevice = name.starts_with("halide_device_") || name.starts_with("attn_device_");
    bool isUndefined = flags & llvm::object::BasicSymbolRef::SF_Undefined;
    EXPECT_TRUE(!isUndefined || (isOfDevice && needed.count(name))) << name.str();
    EXPECT_FALSE(!isUndefined && flags & llvm::object::BasicSymbolRef::SF_Global) << name.str();
    EXPECT_TRUE(name.starts_with("attn_") || name.starts_with("halide_") || name == "construct_once.state") << name.str();
  }
}

TEST(Assembly, X86_64) {
  LLVMInitializeX86TargetInfo();
  LLVMInitializeX86Target();
  LLVMInitializeX86TargetMC();
  LLVMInitializeX86AsmParser();
  check(attn::bindPartsX86_64(), "x86_64-unknown-linux-gnu");
}

TEST(Assembly, AArch64) {
  LLVMInitializeAArch64TargetInfo();
  LLVMInitializeAArch64Target();
  LLVMInitializeAArch64TargetMC();
  LLVMInitializeAArch64AsmParser();
  check(attn::bindPartsAArch64(), "aarch64-unknown-linux-gnu");
}
