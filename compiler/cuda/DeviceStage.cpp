//===- DeviceStage.cpp - from a stage to its kernels ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "compiler/cuda/DeviceStage.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace attn;

static constexpr llvm::StringLiteral sharedName = "attn_shared";
static constexpr unsigned sharedSpace = 3;

Value attn::sharedMemory(FunctionScope &f) {
  OpBuilder &b = f.builder();
  auto module = f.getFunction()->getParentOfType<ModuleOp>();
  if (!module.lookupSymbol(sharedName)) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(module.getBody());
    LLVM::GlobalOp::create(b, module.getLoc(), LLVM::LLVMArrayType::get(b.getI8Type(), 0), /*isConstant=*/false,
                           LLVM::Linkage::External, sharedName, Attribute(), /*alignment=*/128, sharedSpace);
  }
  Type pointer = LLVM::LLVMPointerType::get(b.getContext(), sharedSpace);
  return LLVM::AddressOfOp::create(b, f.loc(), pointer, sharedName);
}

Value attn::threadIndex(FunctionScope &f) {
  return NVVM::ThreadIdXOp::create(f.builder(), f.loc(), f.builder().getI32Type());
}

void attn::blockBarrier(FunctionScope &f) { NVVM::BarrierOp::create(f.builder(), f.loc()); }
