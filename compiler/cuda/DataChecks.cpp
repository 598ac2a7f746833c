//===- DataChecks.cpp - conditions on data in a device's memory -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "compiler/cuda/DataChecks.h"

#include "compiler/cpu/Ragged.h"
#include "compiler/cpu/Requirements.h"
#include "compiler/cuda/CudaEntry.h"

using namespace mlir;
using namespace attn;

std::vector<std::string> attn::dataConditions(const FrameLayout &layout) {
  std::string name = layout.getSignature().name.str();
  std::vector<std::string> conditions;
  for (const std::string &condition : raggedConditions(layout))
    conditions.push_back(name + ": requires " + condition);
  for (RequireOp op : layout.getKernel().getBody().getOps<RequireOp>())
    conditions.push_back(name + ": requires " + op.getMessage().str());
  return conditions;
}

/// The number, from 1, of the first condition that does not hold, or 0 (i32). Requirements count on sound lengths.
static FailureOr<Value> firstFailing(FunctionScope &f) {
  OpBuilder &b = f.builder();
  const FrameLayout &layout = f.getLayout();
  auto number = [&](int32_t value) -> Value {
    return arith::ConstantOp::create(b, f.loc(), b.getI32IntegerAttr(value));
  };
  FailureOr<Value> lengths = emitRaggedChecks(f, /*fillsFrame=*/false);
  SmallVector<RequireOp> requirements(KernelOp(layout.getKernel()).getBody().getOps<RequireOp>());
  if (failed(lengths) || requirements.empty())
    return lengths;
  bool isGood = true;
  Value sound = arith::CmpIOp::create(b, f.loc(), arith::CmpIPredicate::eq, *lengths, number(0));
  Value failing = f.choose(
      sound, {b.getI32Type()},
      [&]() -> FunctionScope::Values {
        FailureOr<Value> failing = emitRequirements(f, requirements);
        isGood = succeeded(failing);
        if (!isGood)
          return {number(0)};
        Value isZero = arith::CmpIOp::create(b, f.loc(), arith::CmpIPredicate::eq, *failing, number(0));
        Value counted = arith::AddIOp::create(b, f.loc(), *failing, number(raggedConditions(layout).size()));
        return {arith::SelectOp::create(b, f.loc(), isZero, number(0), counted).getResult()};
      },
      [&]() -> FunctionScope::Values { return {*lengths}; })[0];
  if (!isGood)
    return failure();
  return failing;
}

static Value faultWord(FunctionScope &f) {
  Type pointer = LLVM::LLVMPointerType::get(f.builder().getContext());
  return LLVM::IntToPtrOp::create(f.builder(), f.loc(), pointer, f.frameSlot(faultWordSlot(f.getLayout())));
}

LogicalResult attn::emitDataChecks(FunctionScope &f) {
  OpBuilder &b = f.builder();
  FailureOr<Value> failing = firstFailing(f);
  if (failed(failing))
    return failure();
  Value texts = f.frameSlot(faultTextsSlot(f.getLayout())), text = f.i64(0);
  int64_t offset = 0;
  for (auto [i, condition] : llvm::enumerate(dataConditions(f.getLayout()))) {
    Value number = arith::ConstantOp::create(b, f.loc(), b.getI32IntegerAttr(i + 1));
    Value isThis = arith::CmpIOp::create(b, f.loc(), arith::CmpIPredicate::eq, *failing, number);
    text = arith::SelectOp::create(b, f.loc(), isThis, f.add(texts, f.i64(offset)), text);
    offset += condition.size() + 1;
  }
  f.store(text, faultWord(f), f.i64(0));
  Value caller = f.frameSlot(callerFaultSlot(f.getLayout()));
  Value isWanted = arith::CmpIOp::create(b, f.loc(), arith::CmpIPredicate::ne, caller, f.i64(0));
  f.when(isWanted, [&] {
    Type pointer = LLVM::LLVMPointerType::get(b.getContext());
    f.store(text, LLVM::IntToPtrOp::create(b, f.loc(), pointer, caller), f.i64(0));
  });
  return success();
}

Value attn::isFaultless(FunctionScope &f) {
  Value word = f.load(f.builder().getI64Type(), faultWord(f), f.i64(0));
  return arith::CmpIOp::create(f.builder(), f.loc(), arith::CmpIPredicate::eq, word, f.i64(0));
}
