//===- Reductions.cpp - sums, rows and rotations at a point -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Plain loops that stand where the result is wanted, lanes side by side. What is
// worth a tile is a stage of its own and never comes here.
//===----------------------------------------------------------------------===//
#include "compiler/cpu/Accumulation.h"
#include "compiler/cpu/Expressions.h"
#include "compiler/cpu/Packing.h"
#include "compiler/cpu/VectorMath.h"

using namespace mlir;
using namespace attn;

Expressions::Values Expressions::loops(ArrayRef<StringAttr> axes, ValueRange init,
                                       llvm::function_ref<Values(ValueRange)> body) {
  if (axes.empty())
    return body(init);
  // What the extent of a ragged axis depends on comes first.
  const StringAttr *next = llvm::find_if(axes, [&](StringAttr axis) {
    return llvm::none_of(f.getLayout().dependsOn(axis), [&](StringAttr on) { return llvm::is_contained(axes, on); });
  });
  StringAttr axis = *next;
  AxisList rest(axes);
  llvm::erase(rest, axis);
  Value end = extentAt(axis);
  bool isPerLane = isa<VectorType>(end.getType()); // Then `existence` says where the points are.
  return f.loop(f.i64(0), isPerLane ? f.extent(axis) : end, f.i64(1), init, [&](Value i, ValueRange carried) {
    enter(i.getParentBlock()->getParentOp());
    bind(axis, i);
    if (!isPerLane)
      markExisting(axis);
    Values results = loops(rest, carried, body);
    leave();
    return results;
  });
}

Value Accumulation::integer(int64_t value) {
  TypedAttr attr = f.builder().getI64IntegerAttr(value);
  if (auto vector = dyn_cast<VectorType>(type))
    attr = DenseElementsAttr::get(vector, Attribute(attr));
  return arith::ConstantOp::create(f.builder(), f.loc(), attr);
}

Value Accumulation::start(Reduction kind) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  switch (kind) {
  case Reduction::Max:
    return isFloat ? f.constant(type, -infinity) : integer(INT64_MIN);
  case Reduction::Min:
    return isFloat ? f.constant(type, infinity) : integer(INT64_MAX);
  default:
    return isFloat ? f.constant(type, 0.0) : integer(0);
  }
}

Value Accumulation::join(Reduction kind, Value sum, Value value) {
  OpBuilder &b = f.builder();
  switch (kind) {
  case Reduction::Max:
    return isFloat ? arith::MaximumFOp::create(b, f.loc(), sum, value).getResult()
                   : arith::MaxSIOp::create(b, f.loc(), sum, value).getResult();
  case Reduction::Min:
    return isFloat ? arith::MinimumFOp::create(b, f.loc(), sum, value).getResult()
                   : arith::MinSIOp::create(b, f.loc(), sum, value).getResult();
  default:
    return isFloat ? arith::AddFOp::create(b, f.loc(), sum, value).getResult()
                   : arith::AddIOp::create(b, f.loc(), sum, value).getResult();
  }
}

Value Accumulation::acrossLanes(Reduction kind, Value vector) {
  OpBuilder &b = f.builder();
  for (int64_t n = cast<VectorType>(vector.getType()).getNumElements(); n > 1; n /= 2) {
    SmallVector<int64_t> low, high;
    for (int64_t i = 0; i < n / 2; ++i) {
      low.push_back(i);
      high.push_back(i + n / 2);
    }
    vector = join(kind, vector::ShuffleOp::create(b, f.loc(), vector, vector, low),
                  vector::ShuffleOp::create(b, f.loc(), vector, vector, high));
  }
  return vector::ExtractOp::create(b, f.loc(), vector, ArrayRef<int64_t>{0});
}

Datum Expressions::computeReduction(Operation *op, ArrayRef<StringAttr> over, unsigned slot) {
  OpBuilder &b = f.builder();
  auto reduce = dyn_cast<ReduceOp>(op);
  Reduction kind = reduce ? reduce.getKind() : Reduction::Sum;
  Type element = valueType(op->getResult(0)).getElementType();
  bool isLanes = alongLanes(valueType(op->getResult(0)).getAxes());
  Accumulation accumulation{f, isLanes ? Type(f.vectorOf(lanes, element)) : element};
  Type type = accumulation.type;
  Values init{accumulation.start(kind)};
  bool mean = kind == Reduction::Mean;
  if (mean)
    init.push_back(f.constant(type, 0.0));
  Values sums = loops(over, init, [&](ValueRange carried) -> Values {
    Datum left = evaluate(op->getOperand(0), slot);
    Value present = both(left.present, existence(over, slot)), next;
    auto shaped = [&](Value value) { return isLanes ? asLanes(value) : value; };
    if (isa<ContractOp>(op)) {
      Datum right = evaluate(op->getOperand(1), slot);
      present = both(present, right.present);
      if (accumulation.isFloat)
        next = math::FmaOp::create(b, f.loc(), shaped(left.value), shaped(right.value), carried[0]);
      else
        next = accumulation.join(kind, carried[0],
                                 arith::MulIOp::create(b, f.loc(), shaped(left.value), shaped(right.value)));
    } else {
      next = accumulation.join(kind, carried[0], shaped(left.value));
    }
    auto ifPresent = [&](Value value, Value otherwise) -> Value {
      return present ? arith::SelectOp::create(b, f.loc(), shaped(present), value, otherwise).getResult() : value;
    };
    Values results{ifPresent(next, carried[0])};
    if (mean)
      results.push_back(ifPresent(arith::AddFOp::create(b, f.loc(), carried[1], f.constant(type, 1.0)), carried[1]));
    return results;
  });
  if (!mean)
    return {sums[0], {}};
  Value count = emitMax(f, sums[1], f.constant(type, 1.0));
  return {arith::DivFOp::create(b, f.loc(), sums[0], count), {}};
}

//===----------------------------------------------------------------------===//
// Rows of scores
//===----------------------------------------------------------------------===//

Value Expressions::counts(Datum score) {
  Value low = number(score.value.getType(), -std::numeric_limits<double>::infinity());
  Value above = arith::CmpFOp::create(f.builder(), f.loc(), arith::CmpFPredicate::UNE, score.value, low);
  return both(above, score.present);
}

/// Loops over one axis a vector at a time; `body` gets where its lanes lie within the extent.
Expressions::Values Expressions::overLanes(StringAttr axis, ValueRange init, llvm::function_ref<Values(Value, ValueRange)> body) {
  Value extent = extentAt(axis);
  return f.loop(f.i64(0), extent, f.i64(lanes), init, [&](Value first, ValueRange carried) {
    enter(first.getParentBlock()->getParentOp());
    Value mask = maskBelow(f, first, extent, lanes);
    bindLanes(axis, {first}, {mask});
    markExisting(axis);
    Values results = body(mask, carried);
    leave();
    return results;
  });
}

/// The same of a row that is a scalar here, along one axis: as lanes, which are joined in the end.
std::pair<Value, Value> Expressions::statisticsInLanes(Value value, StringAttr axis, Value sink) {
  OpBuilder &b = f.builder();
  Accumulation accumulation{f, f.vectorOf(lanes, b.getF32Type())};
  constexpr double infinity = std::numeric_limits<double>::infinity();
  Value nothing = f.constant(accumulation.type, -infinity), none = f.constant(accumulation.type, 0.0);
  Value start = sink ? evaluate(sink).value : f.constant(b.getF32Type(), -infinity);
  auto chosen = [&](Value mask, Datum score, Value yes, Value no) -> Value {
    return arith::SelectOp::create(b, f.loc(), asLanes(both(counts(score), mask)), yes, no);
  };
  Value largest = overLanes(axis, {nothing}, [&](Value mask, ValueRange carried) -> Values {
    Datum score = evaluateLanes(value);
    return {emitMax(f, chosen(mask, score, score.value, nothing), carried[0])};
  })[0];
  Value maximum = vector::ReductionOp::create(b, f.loc(), vector::CombiningKind::MAXNUMF, largest);
  maximum = emitMax(f, maximum, start);
  Value isEmpty = arith::CmpFOp::create(b, f.loc(), arith::CmpFPredicate::OEQ, maximum, f.constant(b.getF32Type(), -infinity));
  Value shift = arith::SelectOp::create(b, f.loc(), isEmpty, f.constant(b.getF32Type(), 0.0), maximum);
  Value shifts = asLanes(shift);
  Value sums = overLanes(axis, {none}, [&](Value mask, ValueRange carried) -> Values {
    Datum score = evaluateLanes(value);
    Value power = emitExp(f, arith::SubFOp::create(b, f.loc(), score.value, shifts));
    return {arith::AddFOp::create(b, f.loc(), carried[0], chosen(mask, score, power, none))};
  })[0];
  Value sum = accumulation.acrossLanes(Reduction::Sum, sums);
  if (sink)
    sum = arith::AddFOp::create(b, f.loc(), sum, emitExp(f, arith::SubFOp::create(b, f.loc(), start, shift)));
  return {shift, sum};
}

std::pair<Value, Value> Expressions::rowStatistics(Value value, ArrayRef<StringAttr> over, Value sink, unsigned slot) {
  OpBuilder &b = f.builder();
  AxisList rest;
  for (StringAttr axis : valueType(value).getAxes())
    if (!llvm::is_contained(over, axis))
      rest.push_back(axis);
  bool isLanes = alongLanes(rest);
  if (lanes > 1 && !isLanes && over.size() == 1 && !isa<VectorType>(extentAt(over.front()).getType()))
    return statisticsInLanes(value, over.front(), sink);
  Type type = isLanes ? Type(f.vectorOf(lanes, b.getF32Type())) : b.getF32Type();
  auto shaped = [&](Value value) { return isLanes ? asLanes(value) : value; };
  Value nothing = f.constant(type, -std::numeric_limits<double>::infinity());
  Value start = sink ? shaped(evaluate(sink, slot).value) : nothing;
  Value maximum = loops(over, {start}, [&](ValueRange carried) -> Values {
    Datum score = evaluate(value, slot);
    Value counted = both(counts(score), existence(over, slot));
    Value here = arith::SelectOp::create(b, f.loc(), shaped(counted), shaped(score.value), nothing);
    return {emitMax(f, here, carried[0])};
  })[0];
  // Without a key the maximum is -inf; subtracting 0 instead keeps NaN away.
  Value empty = arith::CmpFOp::create(b, f.loc(), arith::CmpFPredicate::OEQ, maximum, nothing);
  Value zero = f.constant(type, 0.0);
  Value shift = arith::SelectOp::create(b, f.loc(), empty, zero, maximum);
  Value initial = sink ? emitExp(f, arith::SubFOp::create(b, f.loc(), start, shift)) : zero;
  Value sum = loops(over, {initial}, [&](ValueRange carried) -> Values {
    Datum score = evaluate(value, slot);
    Value power = emitExp(f, arith::SubFOp::create(b, f.loc(), shaped(score.value), shift));
    Value counted = both(counts(score), existence(over, slot));
    power = arith::SelectOp::create(b, f.loc(), shaped(counted), power, zero);
    return {arith::AddFOp::create(b, f.loc(), carried[0], power)};
  })[0];
  return {shift, sum};
}

std::pair<Value, Value> Expressions::row(Operation *op, Value value, ArrayRef<StringAttr> over, Value sink,
                                         unsigned slot) {
  AxisList rest;
  for (StringAttr axis : valueType(value).getAxes())
    if (!llvm::is_contained(over, axis))
      rest.push_back(axis);
  size_t home = homeOf(rest);
  unsigned key = alongLanes(rest) ? slot : 0;
  auto found = scopes[home].rows.find({op, key});
  if (found != scopes[home].rows.end())
    return found->second;
  std::pair<Value, Value> result;
  at(home, [&] { result = rowStatistics(value, over, sink, slot); });
  scopes[home].rows[{op, key}] = result;
  return result;
}

Datum Expressions::computeLogSumExp(LogSumExpOp op, unsigned slot) {
  OpBuilder &b = f.builder();
  auto [shift, sum] = row(op, op.getValue(), axisNames(op.getOver()), op.getSink(), slot);
  Value none = arith::CmpFOp::create(b, f.loc(), arith::CmpFPredicate::OEQ, sum, f.constant(sum.getType(), 0.0));
  Value total = arith::AddFOp::create(b, f.loc(), shift, emitLog(f, sum));
  Value empty = f.constant(sum.getType(), -std::numeric_limits<double>::infinity());
  return {arith::SelectOp::create(b, f.loc(), none, empty, total), {}};
}

Datum Expressions::computeSoftmax(SoftmaxOp op, unsigned slot) {
  OpBuilder &b = f.builder();
  auto [shift, sum] = row(op, op.getValue(), axisNames(op.getOver()), op.getSink(), slot);
  Datum score = evaluate(op.getValue(), slot);
  Value counted = counts(score);
  Value values[] = {score.value, shift, sum, counted};
  unify(values);
  Value power = emitExp(f, arith::SubFOp::create(b, f.loc(), values[0], values[1]));
  Value weight = arith::DivFOp::create(b, f.loc(), power, values[2]);
  Value nothing = f.constant(weight.getType(), 0.0);
  return {arith::SelectOp::create(b, f.loc(), values[3], weight, nothing), score.present};
}
