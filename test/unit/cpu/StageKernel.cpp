// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "StageKernel.h"

#include "compiler/cpu/Passes.h"
#include "compiler/emit/Code.h"
#include "compiler/emit/Lower.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"
#include <random>

using namespace attn;

Tensor::Tensor(std::vector<int64_t> extents, int64_t gap, bool isHalf) : shape(std::move(extents)), isHalf(isHalf) {
  strides.resize(shape.size());
  int64_t step = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = step;
    step *= shape[i];
    if (i + 1 == shape.size())
      step += gap;
  }
  bytes.resize((step + 2 * margin) * (isHalf ? 2 : 4));
}

int64_t Tensor::place(const std::vector<int64_t> &index) const {
  int64_t element = offset;
  for (size_t i = 0; i < index.size(); ++i)
    element += index[i] * strides[i];
  return element;
}

float Tensor::at(int64_t element) const {
  float value;
  uint32_t bits = 0;
  if (isHalf)
    std::memcpy(reinterpret_cast<char *>(&bits) + 2, &bytes[element * 2], 2);
  else
    std::memcpy(&bits, &bytes[element * 4], 4);
  std::memcpy(&value, &bits, 4);
  return value;
}

void Tensor::put(int64_t element, float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  if (isHalf)
    std::memcpy(&bytes[element * 2], reinterpret_cast<char *>(&bits) + 2, 2);
  else
    std::memcpy(&bytes[element * 4], &bits, 4);
}

Tensor &Tensor::fill(unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> number(-1, 1);
  for (int64_t i = 0; i < elements(); ++i)
    put(i, number(random));
  return *this;
}

Tensor &Tensor::fillWith(float value) {
  for (int64_t i = 0; i < elements(); ++i)
    put(i, value);
  return *this;
}

void Tensor::reverse(size_t dimension) {
  offset += (shape[dimension] - 1) * strides[dimension];
  strides[dimension] = -strides[dimension];
}

DLTensor Tensor::dl() {
  uint8_t bits = isHalf ? 16 : 32;
  return {bytes.data(),     {kDLCPU, 0},  int32_t(shape.size()),    {uint8_t(isHalf ? kDLBfloat : kDLFloat), bits, 1},
          shape.data(),     strides.data(), uint64_t(offset * bits / 8)};
}

StageKernel::StageKernel(const std::string &text) {
  mlir::DialectRegistry registry;
  registerLowerToLLVM(registry);
  registry.insert<AttnDialect>();
  context.appendDialectRegistry(registry);
  context.loadAllAvailableDialects();
  if (llvm::Error error = build(text))
    ADD_FAILURE() << llvm::toString(std::move(error)) << "\n" << text;
}

llvm::Error StageKernel::build(const std::string &text) {
  module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  if (!module)
    return llvm::createStringError("the kernel does not parse");
  mlir::OwningOpRef<mlir::ModuleOp> lowered = module->clone();
  mlir::PassManager passes(&context);
  passes.addPass(createLowerToCpu());
  if (failed(passes.run(*lowered)) || failed(lowerToLLVM(*lowered)))
    return llvm::createStringError("the kernel could not be lowered");
  llvm::Expected<Code> code = Code::build(Variant{*lowered, hostTarget()});
  if (!code)
    return code.takeError();
  auto bytes = code->object();
  if (!bytes)
    return bytes.takeError();
  auto loaded = LoadedObject::load(std::move(*bytes));
  if (!loaded)
    return loaded.takeError();
  object = std::move(*loaded);
  return object->find(Signature(*module->getOps<KernelOp>().begin())).moveInto(kernel);
}

void StageKernel::call(std::vector<Tensor *> tensors, int32_t threads) {
  ASSERT_TRUE(kernel.call);
  std::vector<DLTensor> dl;
  for (Tensor *tensor : tensors)
    dl.push_back(tensor->dl());
  std::vector<const void *> arguments;
  for (DLTensor &tensor : dl)
    arguments.push_back(&tensor);
  char message[200] = "";
  attn_context call;
  ASSERT_EQ(attn_context_init(&call, sizeof call), ATTN_OK);
  ASSERT_EQ(attn_context_set_threads(&call, threads), ATTN_OK);
  call.message = message;
  call.message_size = sizeof message;
  EXPECT_EQ(kernel.call(&call, arguments.data()), ATTN_OK) << message;
}
