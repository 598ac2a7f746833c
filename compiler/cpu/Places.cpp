//===- Places.cpp - loads and stores of named elements ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A place along the lanes is one of three: the same element for all lanes, elements
// at a fixed step (a vector load when the step is 1), or anything (a gather). An
// index that may lie outside is tested, and the element is not touched.
//===----------------------------------------------------------------------===//
#include "compiler/Remarks.h"
#include "compiler/cpu/Expressions.h"

using namespace mlir;
using namespace attn;

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

/// An index of runs goes from the first lane's to that of the last: by as many as there are runs, less one, where the first
/// lane begins one.
void Expressions::addRuns(Place &place, Value index, Value stride, int64_t run) {
  OpBuilder &b = f.builder();
  auto lane = [&](int64_t i) -> Value { return vector::ExtractOp::create(b, f.loc(), index, ArrayRef<int64_t>{i}); };
  Value first = lane(0), steps = f.sub(lane(lanes - 1), first);
  place.run = run;
  place.areRuns = arith::CmpIOp::create(b, f.loc(), arith::CmpIPredicate::eq, steps, f.i64(std::max<int64_t>(lanes / run, 1) - 1));
  Value terms = arith::SubIOp::create(b, f.loc(), index, asLanes(first));
  place.laneTerms = arith::MulIOp::create(b, f.loc(), terms, asLanes(stride));
  place.offset = f.add(place.offset, f.mul(first, stride));
  place.laneStride = stride;
  place.lanes = true;
}

void Expressions::addTerm(Place &place, Value index, Value stride) {
  OpBuilder &b = f.builder();
  Value term[] = {index, stride};
  unify(term);
  Value step = isa<VectorType>(term[0].getType()) ? arith::MulIOp::create(b, f.loc(), term[0], term[1]).getResult()
                                                  : f.mul(term[0], term[1]);
  Value sum[] = {place.offset, step};
  unify(sum);
  place.offset = isa<VectorType>(sum[0].getType()) ? arith::AddIOp::create(b, f.loc(), sum[0], sum[1]).getResult()
                                                   : f.add(sum[0], sum[1]);
  place.lanes |= isa<VectorType>(step.getType());
}

void Expressions::addFactor(Place &place, ValueRange indices, size_t i, bool mayBeLinear, unsigned slot) {
  const Access &access = *place.access;
  Value index = indices[i], stride = access.strides[i];
  StringAttr ragged = access.ragged[i];
  auto own = index.getDefiningOp<IndexOp>();
  bool covered = own && (ragged ? own.getAxisAttr() == ragged && isAtOwnPlace(access, ragged, indices)
                                : f.covers(access.factors[i], own.getAxisAttr()));
  // Behind the end of a packed run lies the next one, or nothing at all.
  if (covered && ragged && i > 0 && access.packs[i - 1] == ragged)
    place.inRange = both(place.inRange, existence({ragged}, slot));
  if (mayBeLinear && covered && linearAlongLanes(index)) {
    Value first = binding(own.getAxisAttr())->laneFirst[slot];
    place.offset = f.add(place.offset, f.mul(first, stride));
    place.laneStride = stride;
    place.lanes = true;
    return;
  }
  Datum at = evaluate(index, slot);
  place.inRange = both(place.inRange, at.present);
  if (covered) {
    place.inRange = both(place.inRange, binding(own.getAxisAttr())->valid.lookup(own.getAxisAttr()));
  } else {
    Value limit = ragged             ? limitAt(access, ragged, indices, slot)
                  : access.padded[i] ? access.padded[i]
                                     : f.extent(access.factors[i]);
    Value sides[] = {at.value, limit};
    unify(sides);
    // Unsigned: a negative index is a large one.
    Value within = arith::CmpIOp::create(f.builder(), f.loc(), arith::CmpIPredicate::ult, sides[0], sides[1]);
    place.inRange = both(place.inRange, within);
  }
  // From lane to lane one further, or one back: the first lane tells where the vector is.
  std::optional<int64_t> step = mayBeLinear && !access.packs[i] ? laneStep(index) : std::nullopt;
  if ((step == 1 || step == -1) && isa<VectorType>(at.value.getType())) {
    place.isBackwards = step == -1;
    Value first = vector::ExtractOp::create(f.builder(), f.loc(), at.value, ArrayRef<int64_t>{0});
    place.offset = f.add(place.offset, f.mul(first, stride));
    place.laneStride = stride;
    place.lanes = true;
    return;
  }
  int64_t run = mayBeLinear && !access.packs[i] && isa<VectorType>(at.value.getType()) ? laneRun(index) : 1;
  if (run > 1)
    return addRuns(place, at.value, stride, run);
  addTerm(place, access.packs[i] ? packedStart(access.packs[i], index, slot) : at.value, stride);
}

Expressions::Place Expressions::place(Value ref, ValueRange indices, unsigned slot) {
  Place result;
  result.access = &f.access(ref);
  result.offset = f.i64(0);
  unsigned alongCount = llvm::count_if(indices, [&](Value i) { return laneStep(i) != 0; });
  for (size_t i = 0; i < indices.size(); ++i)
    addFactor(result, indices, i, alongCount == 1, slot);
  if (result.inRange && isa<VectorType>(result.inRange.getType()))
    result.lanes = true;
  return result;
}

bool Expressions::isUnit(Value stride) const {
  return FunctionScope::constantOf(stride) == 1 || llvm::is_contained(unitStrides, stride);
}

void Expressions::withUnitStrides(ArrayRef<Value> strides, llvm::function_ref<void()> body) {
  Values before = unitStrides;
  llvm::append_range(unitStrides, strides);
  body();
  unitStrides = before;
}

/// Offsets of the lanes of a place that is a gather, or linear with any step.
Value Expressions::laneOffsets(const Place &place) {
  Value offsets = asLanes(place.offset);
  if (place.laneTerms)
    return arith::AddIOp::create(f.builder(), f.loc(), offsets, place.laneTerms);
  if (!place.laneStride)
    return offsets;
  Value steps = arith::MulIOp::create(f.builder(), f.loc(), f.iota(lanes), asLanes(place.laneStride));
  if (place.isBackwards)
    return arith::SubIOp::create(f.builder(), f.loc(), offsets, steps);
  return arith::AddIOp::create(f.builder(), f.loc(), offsets, steps);
}

static Value pointersTo(FunctionScope &f, Value base, Value offsets, Type element) {
  Type pointer = LLVM::LLVMPointerType::get(f.builder().getContext());
  auto type = VectorType::get(cast<VectorType>(offsets.getType()).getShape(), pointer);
  return LLVM::GEPOp::create(f.builder(), f.loc(), type, element, base, ArrayRef<LLVM::GEPArg>{offsets});
}

static IntegerAttr alignmentFor(FunctionScope &f, Type memory) {
  return f.builder().getI32IntegerAttr(std::max<unsigned>(1, memory.getIntOrFloatBitWidth() / 8));
}

static Value everywhere(FunctionScope &f, int64_t lanes) {
  auto type = f.vectorOf(lanes, f.builder().getI1Type());
  return arith::ConstantOp::create(f.builder(), f.loc(), DenseElementsAttr::get(type, true));
}

//===----------------------------------------------------------------------===//
// Loads
//===----------------------------------------------------------------------===//

Value Expressions::loadScalar(const Place &place, Type memory) {
  Value address = f.address(place.access->address, place.offset, memory);
  if (place.inRange) // Outside, read the frame instead: it is always there.
    address = arith::SelectOp::create(f.builder(), f.loc(), place.inRange, address, f.getFunction().getArgument(0));
  return f.load(memory, address, f.i64(0), place.access->constant && !place.inRange);
}

/// The value as nothing outside of this place knows it: what is computed of it stays here. Hoisted, offsets of lanes that are
/// hardly ever needed would take registers from the loops around.
static Value pinned(FunctionScope &f, Value value) {
  OpBuilder &b = f.builder();
  auto dialect = LLVM::AsmDialectAttr::get(b.getContext(), LLVM::AsmDialect::AD_ATT);
  return LLVM::InlineAsmOp::create(b, f.loc(), value.getType(), value, /*asm_string=*/"", /*constraints=*/"=r,0",
                                   /*has_side_effects=*/true, /*is_align_stack=*/false, LLVM::tailcallkind::TailCallKind::None,
                                   dialect, ArrayAttr())
      .getResult(0);
}

/// Vectors of fewer than 16 lanes are gathered one by one: their places need no vectors, nor the registers of a vector 0, 1, 2, ...
static Value scalarPointers(FunctionScope &f, Value base, Value offset, Value stride, int64_t lanes, Type memory) {
  SmallVector<Value> pointers;
  for (int64_t j = 0; j < lanes; ++j)
    pointers.push_back(f.address(base, f.add(offset, f.mul(stride, f.i64(j))), memory));
  auto type = VectorType::get({lanes}, LLVM::LLVMPointerType::get(f.builder().getContext()));
  return vector::FromElementsOp::create(f.builder(), f.loc(), type, pointers);
}

Value Expressions::gather(const Place &place, Type memory, Value mask) {
  OpBuilder &b = f.builder();
  auto type = f.vectorOf(lanes, memory);
  Place here = place;
  if (here.laneStride && !FunctionScope::constantOf(here.laneStride))
    here.laneStride = pinned(f, here.laneStride);
  bool byScalars = lanes < 16 && here.laneStride && !here.laneTerms && !here.isBackwards;
  Value pointers = byScalars ? scalarPointers(f, here.access->address, here.offset, here.laneStride, lanes, memory)
                             : pointersTo(f, place.access->address, laneOffsets(here), memory);
  Value nothing = arith::ConstantOp::create(b, f.loc(), b.getZeroAttr(type));
  return LLVM::masked_gather::create(b, f.loc(), type, pointers, mask ? mask : everywhere(f, lanes),
                                     ValueRange{nothing}, alignmentFor(f, memory));
}

/// The last lane first.
static Value backwards(FunctionScope &f, Value vector) {
  int64_t lanes = cast<VectorType>(vector.getType()).getNumElements();
  auto order = llvm::to_vector(llvm::reverse(llvm::seq<int64_t>(0, lanes)));
  return vector::ShuffleOp::create(f.builder(), f.loc(), vector, vector, order);
}

/// A run has one element: as many are loaded as there are runs, where they lie side by side and the first lane begins one.
/// An element is touched where one of its lanes is.
Value Expressions::loadRuns(const Place &place, Type memory, Value mask) {
  OpBuilder &b = f.builder();
  int64_t runs = std::max<int64_t>(lanes / place.run, 1), width = lanes / runs;
  auto lanesOf = [&](llvm::function_ref<int64_t(int64_t)> lane, int64_t count) {
    return llvm::to_vector(llvm::map_range(llvm::seq<int64_t>(0, count), lane));
  };
  auto repeated = [&](Value vector) -> Value {
    return vector::ShuffleOp::create(b, f.loc(), vector, vector, lanesOf([&](int64_t j) { return j / width; }, lanes));
  };
  auto elements = [&]() -> Value {
    auto type = f.vectorOf(runs, memory);
    if (!mask)
      return repeated(f.load(type, place.access->address, place.offset, place.access->constant));
    Value touched;
    for (int64_t i = 0; i < width; ++i) {
      Value each = vector::ShuffleOp::create(b, f.loc(), mask, mask, lanesOf([&](int64_t j) { return j * width + i; }, runs));
      touched = touched ? arith::OrIOp::create(b, f.loc(), touched, each).getResult() : each;
    }
    Value nothing = arith::ConstantOp::create(b, f.loc(), b.getZeroAttr(type));
    Value address = f.address(place.access->address, place.offset, memory);
    return repeated(LLVM::MaskedLoadOp::create(b, f.loc(), type, address, touched, nothing, alignmentFor(f, memory), UnitAttr()));
  };
  Value isFast = place.areRuns;
  if (runs > 1 && !isUnit(place.laneStride))
    isFast = both(isFast, f.isOne(place.laneStride));
  return f.choose(isFast, {f.vectorOf(lanes, memory)}, [&] { return Values{elements()}; },
                  [&] { return Values{gather(place, memory, mask)}; })[0];
}

Value Expressions::loadLanes(const Place &place, Type memory, unsigned slot) {
  OpBuilder &b = f.builder();
  auto type = f.vectorOf(lanes, memory);
  Value mask = both(laneMask(slot), place.inRange);
  if (mask)
    mask = asLanes(mask);
  if (!place.laneStride)
    return gather(place, memory, mask);
  if (place.run > 1)
    return loadRuns(place, memory, mask);
  auto inOrder = [&](Value vector) { return place.isBackwards ? backwards(f, vector) : vector; };
  auto contiguous = [&]() -> Value {
    Value first = place.isBackwards ? f.sub(place.offset, f.i64(lanes - 1)) : place.offset;
    if (!mask)
      return inOrder(f.load(type, place.access->address, first, place.access->constant));
    Value nothing = arith::ConstantOp::create(b, f.loc(), b.getZeroAttr(type));
    Value address = f.address(place.access->address, first, memory);
    return inOrder(LLVM::MaskedLoadOp::create(b, f.loc(), type, address, inOrder(mask), nothing, alignmentFor(f, memory),
                                              UnitAttr()));
  };
  if (isUnit(place.laneStride))
    return contiguous();
  return f.choose(f.isOne(place.laneStride), {type}, [&] { return Values{contiguous()}; },
                  [&] { return Values{gather(place, memory, mask)}; })[0];
}

/// A scalar argument: its bits are in the frame.
Datum Expressions::readByValue(BlockArgument argument) {
  OpBuilder &b = f.builder();
  Type element = cast<RefType>(argument.getType()).getElementType();
  Type memory = memoryType(element);
  Value bits = f.frameSlot(f.getLayout().arg(argument.getArgNumber()));
  unsigned width = memory.getIntOrFloatBitWidth();
  if (width < 64)
    bits = arith::TruncIOp::create(b, f.loc(), b.getIntegerType(width), bits);
  if (isa<FloatType>(memory))
    bits = arith::BitcastOp::create(b, f.loc(), memory, bits);
  return {widenStored(f, bits, element, widened(element)), {}};
}

/// Says which loads are no vector loads, whatever strides the caller passes.
void Expressions::remarkGather(ReadOp op, const Place &place) {
  auto argument = dyn_cast<BlockArgument>(op.getRef());
  if (!place.lanes || !argument || unremarked.contains(op))
    return;
  StringRef name = f.getLayout().getSignature().args[argument.getArgNumber()].getName().getValue();
  std::string what = "elements of " + name.str() + " are gathered one by one";
  if (!place.laneStride)
    return remarkMissed(op.getLoc(), what, "the place along the vectors is computed");
  auto linear = llvm::find_if(op.getIndices(), [&](Value index) { return laneStep(index) != 0; });
  if (linear == op.getIndices().end() || std::next(linear) == op.getIndices().end())
    return;
  auto own = (*linear).getDefiningOp<IndexOp>();
  if (!own)
    return remarkMissed(op.getLoc(), what, "vectors do not run along its last dimension");
  remarkMissed(op.getLoc(), what, "vectors run along " + own.getAxis() + ", which is not its last dimension",
               "store " + name + " with " + own.getAxis() + " last");
}

Datum Expressions::locate(ReadOp op) {
  OpBuilder &b = f.builder();
  Place where = place(op.getRef(), op.getIndices(), 0);
  int64_t bytes = memoryType(op.getRef().getType().getElementType()).getIntOrFloatBitWidth() / 8;
  Value base = LLVM::PtrToIntOp::create(b, f.loc(), b.getI64Type(), where.access->address);
  if (!where.lanes)
    return {f.add(base, f.mul(where.offset, f.i64(bytes))), where.inRange};
  Value distance = arith::MulIOp::create(b, f.loc(), laneOffsets(where), asLanes(f.i64(bytes)));
  return {arith::AddIOp::create(b, f.loc(), asLanes(base), distance), where.inRange};
}

/// The stored elements of a row that has been located; null where it has not.
Value Expressions::readRow(ReadOp op, unsigned slot) {
  const Scope &home = scopes[homeOf(op.getType().getAxes())];
  Value row = home.located.lookup(op);
  if (!row)
    return {};
  Value first = home.laneFirst[slot];
  OpBuilder &b = f.builder();
  Type memory = memoryType(op.getRef().getType().getElementType());
  auto type = f.vectorOf(lanes, memory);
  Value mask = laneMask(slot);
  if (!mask)
    return f.load(type, row, first);
  Value nothing = arith::ConstantOp::create(b, f.loc(), b.getZeroAttr(type));
  return LLVM::MaskedLoadOp::create(b, f.loc(), type, f.address(row, first, memory), mask, nothing,
                                    alignmentFor(f, memory), UnitAttr());
}

Datum Expressions::computeRead(ReadOp op, unsigned slot) {
  auto type = op.getRef().getType();
  auto argument = dyn_cast<BlockArgument>(op.getRef());
  if (argument && FrameLayout::isByValue(f.getLayout().getSignature(), argument.getArgNumber()))
    return readByValue(argument);
  if (Value stored = readRow(op, slot))
    return {widenStored(f, stored, type.getElementType(), op.getType().getElementType()), {}};
  Place where = place(op.getRef(), op.getIndices(), slot);
  remarkGather(op, where);
  Type memory = memoryType(type.getElementType());
  Value stored = where.lanes ? loadLanes(where, memory, slot) : loadScalar(where, memory);
  return {widenStored(f, stored, type.getElementType(), op.getType().getElementType()), where.inRange};
}

//===----------------------------------------------------------------------===//
// Stores
//===----------------------------------------------------------------------===//

void Expressions::storeScalar(const Place &place, Value value, Value mask) {
  auto store = [&] { f.store(value, place.access->address, place.offset); };
  if (mask)
    f.when(mask, store);
  else
    store();
}

void Expressions::storeLanes(const Place &place, Value value, Value mask) {
  OpBuilder &b = f.builder();
  Type memory = getElementTypeOrSelf(value.getType());
  auto scatter = [&] {
    Value pointers = pointersTo(f, place.access->address, laneOffsets(place), memory);
    LLVM::masked_scatter::create(b, f.loc(), value, pointers, mask ? mask : everywhere(f, lanes),
                                 alignmentFor(f, memory));
  };
  auto contiguous = [&] {
    if (!mask)
      return f.store(value, place.access->address, place.offset);
    Value address = f.address(place.access->address, place.offset, memory);
    LLVM::MaskedStoreOp::create(b, f.loc(), value, address, mask, alignmentFor(f, memory));
  };
  if (!place.laneStride || place.isBackwards || place.run > 1)
    return scatter();
  if (isUnit(place.laneStride))
    return contiguous();
  f.when(f.isOne(place.laneStride), contiguous, scatter);
}

/// Whether absent elements keep what the ref holds.
static bool keepsAbsent(Value ref) {
  auto argument = dyn_cast<BlockArgument>(ref);
  if (!argument)
    return false;
  Signature signature(argument.getOwner()->getParentOp());
  return signature.args[argument.getArgNumber()].getMode() == Mode::InOut;
}

void Expressions::write(WriteOp op, unsigned slot) {
  OpBuilder &b = f.builder();
  Type element = op.getRef().getType().getElementType();
  Place where = place(op.getRef(), op.getIndices(), slot);
  Datum datum = evaluate(op.getValue(), slot);
  Value present = datum.present;
  if (op.getCondition()) {
    Datum condition = evaluate(op.getCondition(), slot);
    present = both(present, both(condition.value, condition.present));
  }
  Value value = datum.value, mask = where.inRange;
  if (where.lanes)
    value = asLanes(value);
  if (keepsAbsent(op.getRef())) {
    mask = both(mask, present);
  } else if (present) {
    Value nothing = arith::ConstantOp::create(b, f.loc(), b.getZeroAttr(value.getType()));
    present = isa<VectorType>(value.getType()) ? asLanes(present) : present;
    value = arith::SelectOp::create(b, f.loc(), present, value, nothing);
  }
  value = narrowToStored(f, value, element);
  if (!where.lanes)
    return storeScalar(where, value, mask);
  mask = both(laneMask(slot), mask);
  storeLanes(where, value, mask ? asLanes(mask) : Value());
}
