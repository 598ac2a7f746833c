//===- ThreadScope.cpp - what a thread of a CTA can do ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "compiler/cuda/ThreadScope.h"
#include "compiler/cuda/DeviceStage.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace attn;

//===----------------------------------------------------------------------===//
// 32-bit integers
//===----------------------------------------------------------------------===//

Value ThreadScope::i32(int64_t value) {
  return arith::ConstantOp::create(builder(), f.loc(), builder().getI32IntegerAttr(value));
}

/// Folds as it builds.
template <typename Op>
static Value build(FunctionScope &f, Value x, Value y) {
  return f.builder().createOrFold<Op>(f.loc(), x, y);
}

Value ThreadScope::add(Value x, Value y) { return build<arith::AddIOp>(f, x, y); }
Value ThreadScope::mul(Value x, int64_t y) { return build<arith::MulIOp>(f, x, i32(y)); }
Value ThreadScope::div(Value x, int64_t y) { return build<arith::DivUIOp>(f, x, i32(y)); }
Value ThreadScope::rem(Value x, int64_t y) { return build<arith::RemUIOp>(f, x, i32(y)); }
Value ThreadScope::exclusiveOr(Value x, Value y) { return build<arith::XOrIOp>(f, x, y); }
Value ThreadScope::smaller(Value x, Value y) { return build<arith::MinSIOp>(f, x, y); }
Value ThreadScope::greater(Value x, Value y) { return build<arith::MaxSIOp>(f, x, y); }
Value ThreadScope::clamp(Value x, int64_t low, int64_t high) {
  auto number = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(builder(), f.loc(), builder().getIntegerAttr(x.getType(), value));
  };
  return build<arith::MaxSIOp>(f, build<arith::MinSIOp>(f, x, number(high)), number(low));
}
Value ThreadScope::narrow(Value wide) { return builder().createOrFold<arith::TruncIOp>(f.loc(), builder().getI32Type(), wide); }
Value ThreadScope::widen(Value narrow) {
  return builder().createOrFold<arith::ExtUIOp>(f.loc(), builder().getI64Type(), narrow);
}

//===----------------------------------------------------------------------===//
// Threads
//===----------------------------------------------------------------------===//

Value ThreadScope::thread() { return threadIndex(f); }
Value ThreadScope::again(Value value) {
  OpBuilder &b = builder();
  return LLVM::InlineAsmOp::create(b, f.loc(), TypeRange{b.getI32Type()}, ValueRange{value}, "mov.u32 $0, $1;", "=r,r",
                                   /*has_side_effects=*/true, /*is_align_stack=*/false, LLVM::TailCallKind::None,
                                   LLVM::AsmDialectAttr(), ArrayAttr())
      .getResult(0);
}
void ThreadScope::barrier() { blockBarrier(f); }
void ThreadScope::barrierOf(Value group, int64_t threads) {
  NVVM::BarrierOp::create(builder(), f.loc(), TypeRange{}, add(group, 1), i32(threads), {}, Value());
}

Value ThreadScope::anyInBlock(Value condition) {
  Value number = arith::ExtUIOp::create(builder(), f.loc(), builder().getI32Type(), condition);
  auto how = NVVM::BarrierReductionAttr::get(builder().getContext(), NVVM::BarrierReduction::OR);
  Value any = NVVM::BarrierOp::create(builder(), f.loc(), TypeRange{builder().getI32Type()}, Value(), Value(), how, number)
                  .getResult(0);
  return arith::CmpIOp::create(builder(), f.loc(), arith::CmpIPredicate::ne, any, i32(0));
}

Value ThreadScope::exchange(Value value, int64_t bits) {
  OpBuilder &b = builder();
  if (value.getType().isInteger(64)) {
    Value upper = narrow(arith::ShRUIOp::create(b, f.loc(), value, f.i64(32)));
    Value low = widen(exchange(narrow(value), bits)), high = widen(exchange(upper, bits));
    return arith::OrIOp::create(b, f.loc(), low, arith::ShLIOp::create(b, f.loc(), high, f.i64(32)));
  }
  return NVVM::ShflOp::create(b, f.loc(), value.getType(), i32(-1), value, i32(bits), i32(31), NVVM::ShflKind::bfly, UnitAttr());
}

Value ThreadScope::reduce(Value value, int64_t bits, llvm::function_ref<Value(Value, Value)> combine) {
  for (int64_t bit = 1; bit < 32; bit *= 2)
    if (bits & bit)
      value = combine(value, exchange(value, bit));
  return value;
}

//===----------------------------------------------------------------------===//
// Shared memory
//===----------------------------------------------------------------------===//

Value ThreadScope::sharedMemory() {
  return LLVM::PtrToIntOp::create(builder(), f.loc(), builder().getI32Type(), attn::sharedMemory(f));
}

/// A constant that is added at the end becomes the instruction's own offset.
Value ThreadScope::sharedPointer(Value address) {
  OpBuilder &b = builder();
  auto pointer = LLVM::LLVMPointerType::get(b.getContext(), unsigned(NVVM::NVVMMemorySpace::Shared));
  if (auto sum = address.getDefiningOp<arith::AddIOp>())
    if (std::optional<int64_t> offset = FunctionScope::constantOf(sum.getRhs())) {
      Value base = LLVM::IntToPtrOp::create(b, f.loc(), pointer, sum.getLhs());
      return LLVM::GEPOp::create(b, f.loc(), pointer, b.getI8Type(), base, ArrayRef<LLVM::GEPArg>{int32_t(*offset)});
    }
  return LLVM::IntToPtrOp::create(b, f.loc(), pointer, address);
}

static unsigned bytesOf(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  return vector ? vector.getNumElements() * vector.getElementTypeBitWidth() / 8 : type.getIntOrFloatBitWidth() / 8;
}

Value ThreadScope::loadShared(Type type, Value address) {
  return LLVM::LoadOp::create(builder(), f.loc(), type, sharedPointer(address), bytesOf(type));
}

void ThreadScope::storeShared(Value value, Value address) {
  LLVM::StoreOp::create(builder(), f.loc(), value, sharedPointer(address), bytesOf(value.getType()));
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

void ThreadScope::copyAsync(Value to, Value from, Value condition) {
  Value bytes;
  if (condition)
    bytes = arith::SelectOp::create(builder(), f.loc(), condition, i32(16), i32(0));
  copyPart(to, from, bytes);
}

void ThreadScope::copyPart(Value to, Value from, Value bytes) {
  OpBuilder &b = builder();
  auto global = LLVM::LLVMPointerType::get(b.getContext(), unsigned(NVVM::NVVMMemorySpace::Global));
  Value source = LLVM::IntToPtrOp::create(b, f.loc(), global, from);
  NVVM::CpAsyncOp::create(b, f.loc(), sharedPointer(to), source, b.getI32IntegerAttr(16),
                          NVVM::LoadCacheModifierKindAttr::get(b.getContext(), NVVM::LoadCacheModifierKind::CG), bytes);
}

void ThreadScope::commitCopies() { NVVM::CpAsyncCommitGroupOp::create(builder(), f.loc()); }
void ThreadScope::waitForCopies(int64_t groups) { NVVM::CpAsyncWaitGroupOp::create(builder(), f.loc(), groups); }

//===----------------------------------------------------------------------===//
// Matrices
//===----------------------------------------------------------------------===//

static FunctionScope::Values fieldsOf(FunctionScope &f, Value structure) {
  FunctionScope::Values fields;
  for (size_t i = 0; i < cast<LLVM::LLVMStructType>(structure.getType()).getBody().size(); ++i)
    fields.push_back(LLVM::ExtractValueOp::create(f.builder(), f.loc(), structure, ArrayRef<int64_t>{int64_t(i)}));
  return fields;
}

FunctionScope::Values ThreadScope::loadMatrices(Value address, bool transposed) {
  OpBuilder &b = builder();
  MLIRContext *context = b.getContext();
  auto type = LLVM::LLVMStructType::getLiteral(context, SmallVector<Type>(4, b.getI32Type()));
  auto layout = transposed ? NVVM::MMALayout::col : NVVM::MMALayout::row;
  Value loaded = NVVM::LdMatrixOp::create(b, f.loc(), type, sharedPointer(address), b.getI32IntegerAttr(4),
                                          NVVM::MMALayoutAttr::get(context, layout),
                                          NVVM::LdStMatrixShapeAttr::get(context, 8, 8),
                                          NVVM::LdStMatrixEltTypeAttr::get(context, NVVM::LdStMatrixEltType::B16));
  return fieldsOf(f, loaded);
}

void ThreadScope::multiply(Type element, MutableArrayRef<Value> sums, ArrayRef<Value> left, ArrayRef<Value> right) {
  OpBuilder &b = builder();
  bool isHalf = element.isF16();
  auto operand = [&](ArrayRef<Value> words) {
    Values operands;
    for (Value word : words)
      operands.push_back(isHalf ? LLVM::BitcastOp::create(b, f.loc(), f.vectorOf(2, element), word).getResult() : word);
    return operands;
  };
  auto type = LLVM::LLVMStructType::getLiteral(b.getContext(), SmallVector<Type>(4, b.getF32Type()));
  NVVM::MMATypes kind = isHalf ? NVVM::MMATypes::f16 : NVVM::MMATypes::bf16;
  Value product = NVVM::MmaOp::create(b, f.loc(), type, operand(left), operand(right), ValueRange(Values(sums.begin(), sums.end())),
                                      ArrayRef<int64_t>{16, 8, 16}, std::nullopt, std::nullopt,
                                      std::array<NVVM::MMATypes, 2>{kind, kind},
                                      std::array<NVVM::MMALayout, 2>{NVVM::MMALayout::row, NVVM::MMALayout::col});
  llvm::copy(fieldsOf(f, product), sums.begin());
}

Value ThreadScope::pack(Type element, Value low, Value high) {
  OpBuilder &b = builder();
  Value both = vector::FromElementsOp::create(b, f.loc(), f.vectorOf(2, b.getF32Type()), ValueRange{low, high});
  Value narrow = arith::TruncFOp::create(b, f.loc(), f.vectorOf(2, element), both);
  return LLVM::BitcastOp::create(b, f.loc(), b.getI32Type(), narrow);
}

std::pair<Value, Value> ThreadScope::unpack(Type element, Value both) {
  OpBuilder &b = builder();
  Value narrow = LLVM::BitcastOp::create(b, f.loc(), f.vectorOf(2, element), both);
  Value wide = arith::ExtFOp::create(b, f.loc(), f.vectorOf(2, b.getF32Type()), narrow);
  return {vector::ExtractOp::create(b, f.loc(), wide, ArrayRef<int64_t>{0}),
          vector::ExtractOp::create(b, f.loc(), wide, ArrayRef<int64_t>{1})};
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

FunctionScope::Values ThreadScope::repeat(ValueRange init, llvm::function_ref<Value(ValueRange)> holds,
                                          llvm::function_ref<Values(ValueRange)> body) {
  auto loop = scf::WhileOp::create(
      builder(), f.loc(), init.getTypes(), init,
      [&](OpBuilder &, Location, ValueRange) {}, [&](OpBuilder &, Location, ValueRange) {});
  OpBuilder::InsertionGuard guard(builder());
  builder().setInsertionPointToStart(loop.getBeforeBody());
  scf::ConditionOp::create(builder(), f.loc(), holds(loop.getBeforeArguments()), loop.getBeforeArguments());
  builder().setInsertionPointToStart(loop.getAfterBody());
  scf::YieldOp::create(builder(), f.loc(), body(loop.getAfterArguments()));
  return Values(loop.getResults());
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

Value ThreadScope::intrinsic(StringRef name, Type result, ValueRange operands) {
  return LLVM::CallIntrinsicOp::create(builder(), f.loc(), result, builder().getStringAttr(name), operands).getResult(0);
}

Value ThreadScope::exp2(Value x) { return intrinsic("llvm.nvvm.ex2.approx.ftz", builder().getF32Type(), {x}); }
Value ThreadScope::max(Value x, Value y) { return intrinsic("llvm.nvvm.fmax.f", builder().getF32Type(), {x, y}); }
