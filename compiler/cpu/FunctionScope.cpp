//===- FunctionScope.cpp - one generated function ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "compiler/cpu/FunctionScope.h"
#include "mlir/IR/Matchers.h"
#include <numeric>

using namespace mlir;
using namespace attn;

FunctionScope::FunctionScope(func::FuncOp function, const FrameLayout &layout)
    : function(function), layout(layout), b(function.getContext()), location(function.getLoc()) {
  b.setInsertionPointToStart(&function.getBody().front());
  // A marker that the code at the top stands before; it folds away.
  topEnd = arith::ConstantOp::create(b, location, b.getI64IntegerAttr(0));
}

Value FunctionScope::atTop(llvm::function_ref<Value()> build) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(topEnd);
  return build();
}

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

std::optional<int64_t> FunctionScope::constantOf(Value value) {
  APInt number;
  if (matchPattern(value, m_ConstantInt(&number)))
    return number.getSExtValue();
  return std::nullopt;
}

static int64_t divisorOf(Value value, unsigned depth) {
  if (std::optional<int64_t> number = FunctionScope::constantOf(value))
    return std::abs(*number);
  if (depth == 0)
    return 1;
  auto of = [&](Value part) { return ::divisorOf(part, depth - 1); };
  auto common = [&](Value x, Value y) { return std::gcd(of(x), of(y)); };
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
    return loop && argument == loop.getInductionVar() ? common(loop.getLowerBound(), loop.getStep()) : 1;
  }
  Operation *op = value.getDefiningOp();
  if (isa<arith::AddIOp, arith::SubIOp, arith::MinSIOp, arith::MaxSIOp>(op))
    return common(op->getOperand(0), op->getOperand(1));
  if (isa<arith::MulIOp>(op))
    return std::max(of(op->getOperand(0)), of(op->getOperand(1)));
  return 1;
}

int64_t FunctionScope::divisorOf(Value value) { return ::divisorOf(value, /*depth=*/8); }

Value FunctionScope::i64(int64_t value) {
  Value &known = integers[value];
  if (!known)
    known = atTop([&] { return arith::ConstantOp::create(b, location, b.getI64IntegerAttr(value)).getResult(); });
  return known;
}

/// Folds when both sides are numbers.
template <typename Op>
static Value fold(FunctionScope &f, Value x, Value y, llvm::function_ref<int64_t(int64_t, int64_t)> onNumbers) {
  auto a = FunctionScope::constantOf(x), c = FunctionScope::constantOf(y);
  if (a && c)
    return f.i64(onNumbers(*a, *c));
  return Op::create(f.builder(), f.loc(), x, y);
}

Value FunctionScope::add(Value x, Value y) {
  if (constantOf(x) == 0)
    return y;
  if (constantOf(y) == 0)
    return x;
  return fold<arith::AddIOp>(*this, x, y, [](int64_t a, int64_t c) { return a + c; });
}
Value FunctionScope::sub(Value x, Value y) {
  if (constantOf(y) == 0)
    return x;
  return fold<arith::SubIOp>(*this, x, y, [](int64_t a, int64_t c) { return a - c; });
}
Value FunctionScope::mul(Value x, Value y) {
  if (constantOf(x) == 1)
    return y;
  if (constantOf(y) == 1)
    return x;
  return fold<arith::MulIOp>(*this, x, y, [](int64_t a, int64_t c) { return a * c; });
}
Value FunctionScope::div(Value x, Value y) {
  if (constantOf(y) == 1)
    return x;
  return fold<arith::DivUIOp>(*this, x, y, [](int64_t a, int64_t c) { return c ? a / c : 0; });
}
Value FunctionScope::rem(Value x, Value y) {
  if (constantOf(y) == 1)
    return i64(0);
  return fold<arith::RemUIOp>(*this, x, y, [](int64_t a, int64_t c) { return c ? a % c : 0; });
}
Value FunctionScope::ceilDiv(Value x, Value y) { return div(add(x, sub(y, i64(1))), y); }
Value FunctionScope::min(Value x, Value y) {
  return fold<arith::MinSIOp>(*this, x, y, [](int64_t a, int64_t c) { return std::min(a, c); });
}
Value FunctionScope::max(Value x, Value y) {
  return fold<arith::MaxSIOp>(*this, x, y, [](int64_t a, int64_t c) { return std::max(a, c); });
}
Value FunctionScope::less(Value x, Value y) {
  return arith::CmpIOp::create(b, location, arith::CmpIPredicate::slt, x, y);
}

//===----------------------------------------------------------------------===//
// The kernel's facts
//===----------------------------------------------------------------------===//

std::optional<int64_t> attn::constantExtent(const Signature &signature, StringAttr axis) {
  AxisAttr found = signature.findAxis(axis);
  if (!found || found.isRagged())
    return std::nullopt;
  llvm::Expected<int64_t> value = found.getExtent().evaluate([&](StringRef name) -> std::optional<int64_t> {
    return constantExtent(signature, StringAttr::get(axis.getContext(), name));
  });
  if (value)
    return *value;
  llvm::consumeError(value.takeError());
  return std::nullopt;
}

ExtentAttr attn::resolvedExtent(const Signature &signature, ExtentAttr extent) {
  return extent.substitute([&](StringAttr name) -> ExtentAttr {
    AxisAttr axis = signature.findAxis(name);
    return axis && !axis.isRagged() ? resolvedExtent(signature, axis.getExtent()) : ExtentAttr();
  });
}

std::optional<int64_t> FunctionScope::constantExtent(StringAttr axis) const {
  return attn::constantExtent(layout.getSignature(), axis);
}

bool attn::covers(const Signature &signature, ExtentAttr factor, StringAttr axis) {
  if (factor.getName() == axis)
    return true;
  ExtentAttr wanted = ExtentAttr::named(axis.getContext(), axis.getValue());
  if (resolvedExtent(signature, factor) == resolvedExtent(signature, wanted))
    return true;
  return llvm::any_of(signature.facts, [&](AxisAttr fact) {
    return (fact.getName() == axis && fact.getExtent() == factor) ||
           (factor.getName() == fact.getName() && fact.getExtent() == wanted);
  });
}

bool FunctionScope::covers(ExtentAttr factor, StringAttr axis) const {
  return attn::covers(layout.getSignature(), factor, axis);
}

Value FunctionScope::frameSlot(unsigned slot) {
  Value &known = slots[slot];
  if (!known)
    known = atTop([&] {
      Type i64 = b.getI64Type();
      Value frame = function.getArgument(0);
      // A number in the place, not a value: shareStages looks for it.
      Value place = LLVM::GEPOp::create(b, location, frame.getType(), i64, frame, ArrayRef<LLVM::GEPArg>{int32_t(slot)});
      auto load = LLVM::LoadOp::create(b, location, i64, place, sizeof(int64_t));
      load.setInvariant(true);
      return load.getResult();
    });
  return known;
}

Value FunctionScope::extent(StringAttr axis) {
  if (std::optional<int64_t> known = constantExtent(axis))
    return i64(*known);
  return frameSlot(layout.axis(axis));
}

Value FunctionScope::evaluate(AffineExpr expr, ArrayRef<StringAttr> names) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return i64(constant.getValue());
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return extent(names[symbol.getPosition()]);
  auto binary = cast<AffineBinaryOpExpr>(expr);
  Value left = evaluate(binary.getLHS(), names), right = evaluate(binary.getRHS(), names);
  switch (binary.getKind()) {
  case AffineExprKind::Add:
    return add(left, right);
  case AffineExprKind::Mul:
    return mul(left, right);
  case AffineExprKind::Mod:
    return rem(left, right);
  default:
    return div(left, right);
  }
}

Value FunctionScope::extent(ArrayRef<StringAttr> axes) {
  Value count = i64(1);
  for (StringAttr axis : axes)
    count = mul(count, extent(axis));
  return count;
}

Value FunctionScope::extent(ExtentAttr extent) {
  Value known = extents.lookup(extent);
  if (!known) {
    known = atTop([&] { return evaluate(extent.getExpr(), extent.getNames()); });
    extents[extent] = known;
  }
  return known;
}

/// Row-major strides over the factors of a buffer.
static SmallVector<Value> compactStrides(FunctionScope &f, ArrayRef<ExtentAttr> factors) {
  SmallVector<Value> strides(factors.size());
  Value stride = f.i64(1);
  for (size_t i = factors.size(); i-- > 0;) {
    strides[i] = stride;
    stride = f.mul(stride, f.extent(factors[i]));
  }
  return strides;
}

/// A buffer is rectangular. So is an argument in which a ragged axis has a dimension of its own; behind another
/// factor it is packed.
void FunctionScope::markRagged(Value ref, Access &access) {
  access.ragged.resize(access.factors.size());
  access.packs.resize(access.factors.size());
  access.padded.resize(access.factors.size());
  auto argument = dyn_cast<BlockArgument>(ref);
  unsigned first = 0;
  for (auto [d, dim] : llvm::enumerate(cast<RefType>(ref.getType()).getDims())) {
    unsigned last = first + dim.getFactors().size() - 1;
    StringAttr axis = dim.getFactors().empty() ? StringAttr() : dim.getFactors().back().getName();
    AxisAttr declared = axis ? layout.getSignature().findAxis(axis) : AxisAttr();
    if (declared && declared.isRagged()) {
      if (argument && last == first)
        access.padded[last] = frameSlot(layout.dimension(argument.getArgNumber(), d));
      else
        access.ragged[last] = axis;
      if (argument && last == first + 1)
        access.packs[first] = axis;
    }
    first += dim.getFactors().size();
  }
}

Access FunctionScope::makeAccess(Value ref) {
  auto type = cast<RefType>(ref.getType());
  Access access;
  access.factors = type.getFactors();
  access.element = type.getElementType();
  markRagged(ref, access);
  Value address;
  if (auto buffer = ref.getDefiningOp<BufferOp>()) {
    address = frameSlot(layout.buffer(buffer));
    access.strides = compactStrides(*this, access.factors);
    access.constant = false;
  } else {
    unsigned argument = cast<BlockArgument>(ref).getArgNumber();
    address = frameSlot(layout.arg(argument));
    for (unsigned i = 0; i < access.factors.size(); ++i)
      access.strides.push_back(frameSlot(layout.stride(argument, i)));
    access.constant = layout.getSignature().args[argument].getMode() == Mode::In;
  }
  access.address = LLVM::IntToPtrOp::create(b, location, LLVM::LLVMPointerType::get(b.getContext()), address);
  return access;
}

const Access &FunctionScope::access(Value ref) {
  auto found = accesses.find(ref.getAsOpaquePointer());
  if (found != accesses.end())
    return found->second;
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(topEnd);
  Access access = makeAccess(ref);
  return accesses[ref.getAsOpaquePointer()] = access;
}

Value FunctionScope::workerScratch() {
  return atTop([&] {
    Value worker = arith::ExtSIOp::create(b, location, b.getI64Type(), function.getArgument(2));
    Value offset = mul(worker, frameSlot(layout.scratchBytes()));
    Type pointer = LLVM::LLVMPointerType::get(b.getContext());
    return LLVM::IntToPtrOp::create(b, location, pointer, add(frameSlot(layout.scratch()), offset)).getResult();
  });
}

Value FunctionScope::sharedScratch() {
  return atTop([&] {
    Type pointer = LLVM::LLVMPointerType::get(b.getContext());
    return LLVM::IntToPtrOp::create(b, location, pointer, frameSlot(layout.shared())).getResult();
  });
}

//===----------------------------------------------------------------------===//
// Memory and vectors
//===----------------------------------------------------------------------===//

Value FunctionScope::address(Value base, Value offset, Type element) {
  return LLVM::GEPOp::create(b, location, LLVM::LLVMPointerType::get(b.getContext()), element, base,
                             ArrayRef<LLVM::GEPArg>{offset});
}

static unsigned alignmentOf(Type element) { return std::max<unsigned>(1, element.getIntOrFloatBitWidth() / 8); }

Value FunctionScope::load(Type type, Value base, Value offset, bool invariant) {
  Type element = getElementTypeOrSelf(type);
  auto load = LLVM::LoadOp::create(b, location, type, address(base, offset, element), alignmentOf(element));
  if (invariant)
    load.setInvariant(true);
  return load;
}

void FunctionScope::store(Value value, Value base, Value offset) {
  Type element = getElementTypeOrSelf(value.getType());
  LLVM::StoreOp::create(b, location, value, address(base, offset, element), alignmentOf(element));
}

Value FunctionScope::splat(Value scalar, int64_t lanes) {
  if (isa<VectorType>(scalar.getType()))
    return scalar;
  return vector::BroadcastOp::create(b, location, vectorOf(lanes, scalar.getType()), scalar);
}

Value FunctionScope::iota(int64_t lanes) {
  return atTop([&] {
    auto numbers = llvm::to_vector(llvm::seq<int64_t>(0, lanes));
    auto type = vectorOf(lanes, b.getI64Type());
    return arith::ConstantOp::create(b, location, DenseElementsAttr::get(type, ArrayRef<int64_t>(numbers))).getResult();
  });
}

Value FunctionScope::constant(Type type, double value) {
  TypedAttr number = b.getFloatAttr(getElementTypeOrSelf(type), value);
  if (auto vector = dyn_cast<VectorType>(type))
    number = DenseElementsAttr::get(vector, Attribute(number));
  return arith::ConstantOp::create(b, location, number);
}

//===----------------------------------------------------------------------===//
// Loops and branches
//===----------------------------------------------------------------------===//

void FunctionScope::loop(Value from, Value to, Value step, llvm::function_ref<void(Value)> body) {
  loop(from, to, step, {}, [&](Value i, ValueRange) {
    body(i);
    return Values();
  });
}

FunctionScope::Values FunctionScope::loop(Value from, Value to, Value step, ValueRange init,
                                          llvm::function_ref<Values(Value, ValueRange)> body) {
  auto loop = scf::ForOp::create(b, location, from, to, step, init);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Values results = body(loop.getInductionVar(), loop.getRegionIterArgs());
  if (!init.empty())
    scf::YieldOp::create(b, location, results);
  return Values(loop.getResults());
}

Value FunctionScope::likely(Value condition) {
  Value holds = LLVM::ConstantOp::create(b, location, b.getBoolAttr(true));
  return LLVM::ExpectOp::create(b, location, condition, holds);
}

Value FunctionScope::isOne(Value stride) {
  return likely(arith::CmpIOp::create(b, location, arith::CmpIPredicate::eq, stride, i64(1)));
}

void FunctionScope::when(Value condition, llvm::function_ref<void()> then, llvm::function_ref<void()> otherwise) {
  auto branch = scf::IfOp::create(b, location, condition, /*withElseRegion=*/bool(otherwise));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  then();
  if (!otherwise)
    return;
  b.setInsertionPointToStart(branch.elseBlock());
  otherwise();
}

FunctionScope::Values FunctionScope::choose(Value condition, TypeRange types, llvm::function_ref<Values()> then,
                                            llvm::function_ref<Values()> otherwise) {
  auto branch = scf::IfOp::create(b, location, types, condition, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&branch.getThenRegion().front());
  scf::YieldOp::create(b, location, then());
  b.setInsertionPointToStart(&branch.getElseRegion().front());
  scf::YieldOp::create(b, location, otherwise());
  return Values(branch.getResults());
}
