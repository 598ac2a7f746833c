//===- Frame.cpp - where a kernel's facts lie at run time -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "compiler/cpu/Frame.h"

using namespace mlir;
using namespace attn;

bool FrameLayout::isByValue(const Signature &signature, unsigned argument) {
  return signature.argType(argument).isScalar() && signature.args[argument].getMode() == Mode::In;
}

FrameLayout::FrameLayout(KernelOp kernel) : kernel(kernel), signature(kernel) {
  unsigned slot = signature.axes.size();
  for (unsigned i = 0; i < signature.args.size(); ++i) {
    argSlots.push_back(slot);
    slot += 1 + signature.argType(i).getFactors().size();
  }
  for (unsigned i = 0; i < signature.args.size(); ++i) {
    dimSlots.push_back(slot);
    slot += signature.argType(i).getDims().size();
  }
  firstBuffer = slot;
  kernel.walk([&](BufferOp buffer) { buffers.push_back(buffer); });
}

unsigned FrameLayout::axis(StringAttr axis) const {
  for (auto [i, candidate] : llvm::enumerate(signature.axes))
    if (candidate.getName() == axis)
      return i;
  llvm_unreachable("the verifier has seen every axis declared");
}

RaggedOp FrameLayout::ragged(StringAttr axis) const {
  for (RaggedOp op : KernelOp(kernel).getBody().getOps<RaggedOp>())
    if (op.getAxisAttr() == axis)
      return op;
  return {};
}

unsigned FrameLayout::buffer(BufferOp buffer) const {
  return firstBuffer + (llvm::find(buffers, buffer) - buffers.begin());
}
