// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/Loader.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace attn;

namespace {

constexpr const char *program = R"(
attn.program @mixed(in "x" %x : !attn.ref<[2], f32>, in "f" %f : !attn.ref<[], f32>, in "i" %i : !attn.ref<[], i8>,
                    in "h" %h : !attn.ref<[], bf16>, in "b" %b : !attn.ref<[], i1>, in "l" %l : !attn.ref<[], i64>,
                    out "y" %y : !attn.ref<[2], f32>) axes [] facts [] {
}
)";

TEST(Loader, ScalarsArriveAsCPassesThem) {
  mlir::MLIRContext mlirContext;
  mlirContext.loadDialect<AttnDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(program, &mlirContext);
  ASSERT_TRUE(module);
  Signature signature(&*module->getBody()->begin());

  auto object = llvm::MemoryBuffer::getFile(KERNEL_OBJECT);
  ASSERT_TRUE(bool(object));
  auto loaded = LoadedObject::load(std::move(*object));
  ASSERT_TRUE(bool(loaded)) << llvm::toString(loaded.takeError());
  auto kernel = (*loaded)->find(signature);
  ASSERT_TRUE(bool(kernel)) << llvm::toString(kernel.takeError());

  float in[2] = {1, 2}, out[2] = {};
  int64_t shape[1] = {2};
  DLTensor x{in, {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, shape, nullptr, 0}, y = x;
  y.data = out;
  float f = 0.25f;
  int8_t i = -3;
  uint16_t h = 40000;
  uint8_t b = 1;
  int64_t l = 7;
  const void *arguments[] = {&x, &f, &i, &h, &b, &l, &y};
  attn_context context{};
  context.threads = 3;
  EXPECT_EQ(kernel->call(&context, arguments), ATTN_OK);
  EXPECT_EQ(out[0], 1 + 0.25f - 3 + 40000 + 0.5f + 7);
  EXPECT_EQ(out[1], 2 + 0.25f - 3 + 40000 + 0.5f + 7);
  size_t bytes = 0;
  EXPECT_EQ(kernel->workspace(&context, arguments, &bytes), ATTN_OK);
  EXPECT_EQ(bytes, 128u);
}

TEST(Loader, MissingKernelIsAnError) {
  mlir::MLIRContext mlirContext;
  mlirContext.loadDialect<AttnDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(
      R"(attn.program @absent(out "y" %y : !attn.ref<[], f32>) axes [] facts [] {})", &mlirContext);
  ASSERT_TRUE(module);
  auto object = llvm::MemoryBuffer::getFile(KERNEL_OBJECT);
  ASSERT_TRUE(bool(object));
  auto loaded = LoadedObject::load(std::move(*object));
  ASSERT_TRUE(bool(loaded)) << llvm::toString(loaded.takeError());
  auto kernel = (*loaded)->find(Signature(&*module->getBody()->begin()));
  EXPECT_FALSE(bool(kernel));
  llvm::consumeError(kernel.takeError());
}

} // namespace
