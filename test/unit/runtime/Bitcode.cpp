// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The embedded modules: readable, free of a machine, self-contained but for what a device's runtime gives.

#include "runtime/bind/Embedded.h"

#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/MemoryBuffer.h"

#include <gtest/gtest.h>

static void check(attn::Bitcode bitcode) {
  llvm::LLVMContext context;
  llvm::StringRef bytes(reinterpret_cast<const char *>(bitcode.data),
                        bitcode.size);
  auto module =
      llvm::parseBitcodeFile(llvm::MemoryBufferRef(bytes, "bind"), context);
  ASSERT_TRUE(!!module) << llvm::toString(module.takeError());
  EXPECT_TRUE((*module)->getTargetTriple().empty());
  for (const char *name : {"attn_bind", "attn_reserve", "attn_release",
                           "attn_run", "attn_workers"}) {
    llvm::Function *function = (*module)->getFunction(name);
    EXPECT_TRUE(function && !function->isDeclaration()) << name;
  }
  for (const llvm::Function &function : **module) {
    bool isOfDevice = function.getName().starts_with("halide_device_") ||
                      function.getName().starts_with("attn_device_");
    EXPECT_TRUE(!function.isDeclaration() || function.isIntrinsic() ||
                isOfDevice)
        << function.getName().str();
    EXPECT_FALSE(function.hasFnAttribute("target-cpu") ||
                 function.hasFnAttribute("target-features"));
  }
}

TEST(Bitcode, X86_64) { check(attn::bindBitcodeX86_64()); }
TEST(Bitcode, AArch64) { check(attn::bindBitcodeAArch64()); }
