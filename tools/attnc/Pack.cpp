//===- Pack.cpp - attnc pack ----------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "attn/runtime.h"
#include "compiler/emit/Interface.h"
#include "tools/attnc/Arguments.h"
#include "tools/attnc/Options.h"
#include "tools/attnc/Session.h"

using namespace attn;
using namespace attnc;

namespace {

DLTensor tensorOf(reference::Buffer &buffer) {
  return {buffer.bytes.data(), {kDLCPU, 0}, int32_t(buffer.shape.size()), {kDLFloat, 32, 1}, buffer.shape.data(), nullptr, 0};
}

/// The shape that attn_pack makes of another. What does not fit, it refuses itself.
llvm::SmallVector<int64_t, 4> packedShape(llvm::ArrayRef<int64_t> shape, uint64_t contracted) {
  llvm::SmallVector<int64_t, 4> packed{1};
  for (auto [d, extent] : llvm::enumerate(shape)) {
    if (contracted >> d & 1)
      packed.push_back(extent);
    else
      packed.front() *= extent;
  }
  packed.front() /= ATTN_PACK_COLUMNS;
  packed.push_back(ATTN_PACK_COLUMNS);
  return packed;
}

llvm::Expected<reference::Buffer> packed(reference::Buffer &weight, uint64_t contracted) {
  auto result = reference::Buffer::create(weight.dtype, packedShape(weight.shape, contracted));
  if (!result)
    return result.takeError();
  char message[256] = "";
  attn_context context;
  attn_context_init(&context, sizeof(context));
  context.message = message;
  context.message_size = sizeof(message);
  DLTensor from = tensorOf(weight), to = tensorOf(*result);
  if (attn_pack(&context, &from, contracted, &to) != ATTN_OK)
    return llvm::createStringError(message);
  return result;
}

llvm::Error pack(mlir::ModuleOp module) {
  auto program = onlyProgram(module);
  if (!program)
    return program.takeError();
  auto given = givenInputs(*program);
  if (!given)
    return given.takeError();
  Interface interface(program->body->getParentOp());
  reference::Buffers results;
  for (auto &[name, buffer] : *given) {
    const auto *argument = llvm::find_if(interface.arguments, [&](const auto &each) { return each.name == name; });
    if (argument->packedFrom.empty())
      return llvm::createStringError("'" + name + "' is not packed: name it in --packed");
    auto result = packed(buffer, argument->contracted);
    if (!result)
      return llvm::createStringError(name + ": " + llvm::toString(result.takeError()));
    results[name] = std::move(*result);
  }
  if (results.empty())
    return llvm::createStringError("no weight is given: write --packed=w --in w=w.npy");
  return writeResults(results);
}

} // namespace

int attnc::runPack() {
  auto session = loadSpec();
  if (!session)
    return failure;
  if (llvm::Error error = pack(*session->module)) {
    printError(std::move(error));
    return failure;
  }
  return success;
}
