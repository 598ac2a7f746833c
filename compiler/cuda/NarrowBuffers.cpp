//===- NarrowBuffers.cpp - buffers in 16 bits -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "compiler/cuda/NarrowBuffers.h"
#include "compiler/cuda/FlashTiling.h"

using namespace mlir;
using namespace attn;

/// What the operand is multiplied with; null where it is something else than a side of a product.
static Value otherSide(OpOperand &use) {
  if (auto contract = dyn_cast<ContractOp>(use.getOwner()))
    return use.get() == contract.getLhs() ? contract.getRhs() : contract.getLhs();
  auto flash = dyn_cast<FlashOp>(use.getOwner());
  if (!flash)
    return {};
  for (auto [query, key] : llvm::zip(flash.getQueries(), flash.getKeys()))
    if (use.get() == query || use.get() == key)
      return llvm::is_contained(flash.getValues(), use.get()) ? Value() : use.get() == query ? key : query;
  return {};
}

/// The elements that all readers round to; null without any.
static Type roundedTo(BufferOp buffer, bool isPrecise) {
  Type element;
  for (Operation *user : buffer->getUsers()) {
    auto read = dyn_cast<ReadOp>(user);
    if (!read)
      continue;
    for (OpOperand &use : read->getUses()) {
      Value other = otherSide(use);
      if (!other)
        return {};
      FailureOr<Type> common = commonElement(other, use.get(), isPrecise);
      if (failed(common) || (element && element != *common))
        return {};
      element = *common;
    }
  }
  return element;
}

void attn::narrowBuffers(KernelOp kernel) {
  for (BufferOp buffer : kernel.getBody().getOps<BufferOp>()) {
    auto type = cast<RefType>(buffer.getType());
    if (!type.getElementType().isF32())
      continue;
    if (Type element = roundedTo(buffer, Signature(kernel).precise))
      buffer.getResult().setType(RefType::get(kernel.getContext(), type.getDims(), element));
  }
}
