//===- Rotations.cpp - rope at a point --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// x1 cos - x2 sin and x2 cos + x1 sin, each element with its partner. Whole vectors of the turned axis read partners and
// angles as vectors; anywhere else they are gathered. Both give the same bits.
//===----------------------------------------------------------------------===//
#include "compiler/cpu/Expressions.h"
#include "compiler/cpu/Packing.h"

using namespace mlir;
using namespace attn;

/// Whether an index certainly is a multiple of `n`: what loops over whole vectors count.
static bool isMultipleOf(Value index, int64_t n) {
  if (std::optional<int64_t> known = FunctionScope::constantOf(index))
    return *known % n == 0;
  auto argument = dyn_cast<BlockArgument>(index);
  if (auto loop = argument ? dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp()) : scf::ForOp())
    return index == loop.getInductionVar() && isMultipleOf(loop.getLowerBound(), n) && isMultipleOf(loop.getStep(), n);
  if (auto sum = index.getDefiningOp<arith::AddIOp>())
    return isMultipleOf(sum.getLhs(), n) && isMultipleOf(sum.getRhs(), n);
  auto product = index.getDefiningOp<arith::MulIOp>();
  return product && (isMultipleOf(product.getLhs(), n) || isMultipleOf(product.getRhs(), n));
}

/// Where vectors run along the turned axis and each lies within one half of it (or within its pairs): the first index.
Value Expressions::wholeVectorOf(RopeOp op, unsigned slot) const {
  const Scope *scope = binding(op.getOverAttr());
  std::optional<int64_t> pairs = f.constantExtent(op.getPairAxisAttr());
  if (!scope || scope->indices.count(op.getOverAttr()) || !pairs || lanes < 2)
    return {};
  bool isHalf = op.getPairs() == Pairs::Half;
  Value first = scope->laneFirst[slot];
  bool fits = *pairs > 0 && (isHalf ? *pairs : 2 * *pairs) % lanes == 0 && isMultipleOf(first, lanes);
  return fits ? first : Value();
}

/// The turned elements of a whole vector that starts at `first`.
Datum Expressions::turnVector(RopeOp op, Value first, unsigned slot) {
  OpBuilder &b = f.builder();
  bool isHalf = op.getPairs() == Pairs::Half;
  Value pairs = f.extent(op.getPairAxisAttr()), turned = f.add(pairs, pairs), mask = laneMask(slot), turns;
  if (FunctionScope::constantOf(turned) != f.constantExtent(op.getOverAttr()))
    turns = f.less(first, turned); // Behind these, elements do not turn.
  auto where = [&](Value condition, Value yes, Value no) -> Value {
    return condition ? arith::SelectOp::create(b, f.loc(), condition, yes, no).getResult() : yes;
  };
  auto swapped = [&](Value lanes_) -> Value {
    SmallVector<int64_t> neighbours;
    for (int64_t i = 0; i < lanes; ++i)
      neighbours.push_back(i ^ 1);
    return vector::ShuffleOp::create(b, f.loc(), lanes_, lanes_, neighbours);
  };
  auto inScope = [&](StringAttr axis, Value start, Value inside, llvm::function_ref<void()> body) {
    decltype(Scope::located) rows = scopes[homeOf({op.getOverAttr()})].located;
    enter(nullptr);
    bindLanes(axis, Values(slot + 1, start), Values(slot + 1, inside));
    scopes.back().located = rows; // Rows of elements are the same everywhere on them.
    body();
    leave();
  };
  Datum own = evaluateLanes(op.getValue(), slot), other, cosine, sine;
  Value isLow = f.less(first, pairs), pair = first, inside;
  if (isHalf) {
    pair = where(isLow, first, f.sub(first, pairs));
    Value partner = where(turns, where(isLow, f.add(first, pairs), pair), first);
    inScope(op.getOverAttr(), partner, mask, [&] { other = evaluateLanes(op.getValue(), slot); });
  } else {
    other = {swapped(own.value), own.present ? swapped(own.present) : Value()};
    pair = f.div(first, f.i64(2));
  }
  pair = where(turns, pair, f.i64(0));
  if (!isHalf) // Half as many angles as lanes.
    inside = maskBelow(f, pair, pairs, lanes);
  inScope(op.getPairAxisAttr(), pair, inside, [&] {
    cosine = evaluateLanes(op.getCos(), slot);
    sine = evaluateLanes(op.getSin(), slot);
  });
  Value minus = arith::NegFOp::create(b, f.loc(), sine.value), signedSine;
  if (isHalf) {
    signedSine = where(isLow, minus, sine.value);
  } else {
    SmallVector<int64_t> twice, signs;
    for (int64_t i = 0; i < lanes; ++i) {
      twice.push_back(i / 2);
      signs.push_back(i % 2 ? lanes + i / 2 : i / 2);
    }
    cosine.value = vector::ShuffleOp::create(b, f.loc(), cosine.value, cosine.value, twice);
    signedSine = vector::ShuffleOp::create(b, f.loc(), minus, sine.value, signs);
  }
  Value scaled = arith::MulFOp::create(b, f.loc(), own.value, cosine.value);
  Value result = math::FmaOp::create(b, f.loc(), other.value, signedSine, scaled);
  return {where(turns, result, own.value), both(own.present, other.present)};
}

Datum Expressions::computeRope(RopeOp op, unsigned slot) {
  if (Value first = wholeVectorOf(op, slot))
    return turnVector(op, first, slot);
  OpBuilder &b = f.builder();
  Location loc = f.loc();
  StringAttr over = op.getOverAttr(), pairAxis = op.getPairAxisAttr();
  Value e = indexAlong(over, slot);
  auto number = [&](int64_t value) -> Value { return isa<VectorType>(e.getType()) ? asLanes(f.i64(value)) : f.i64(value); };
  auto shaped = [&](Value value) { return isa<VectorType>(e.getType()) ? asLanes(value) : value; };
  Value pairs = shaped(f.extent(pairAxis));
  Value twice = arith::AddIOp::create(b, loc, pairs, pairs);
  Value turns = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, e, twice);
  Value first, partner, pair;
  if (op.getPairs() == Pairs::Half) {
    first = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, e, pairs);
    Value up = arith::AddIOp::create(b, loc, e, pairs), down = arith::SubIOp::create(b, loc, e, pairs);
    partner = arith::SelectOp::create(b, loc, first, up, down);
    pair = arith::SelectOp::create(b, loc, first, e, down);
  } else {
    Value odd = arith::AndIOp::create(b, loc, e, number(1));
    first = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, odd, number(0));
    partner = arith::XOrIOp::create(b, loc, e, number(1));
    pair = arith::ShRUIOp::create(b, loc, e, number(1));
  }
  // Elements that do not turn pair with themselves and have no angle.
  partner = arith::SelectOp::create(b, loc, turns, partner, e);
  Datum own = evaluate(op.getValue(), slot);
  enter(nullptr);
  bind(over, partner);
  Datum other = evaluate(op.getValue(), slot);
  leave();
  enter(nullptr);
  bind(pairAxis, pair, turns);
  Datum cosine = evaluate(op.getCos(), slot), sine = evaluate(op.getSin(), slot);
  leave();
  Value values[] = {own.value, other.value, cosine.value, sine.value, first, turns};
  unify(values);
  Value signedSine = arith::SelectOp::create(b, loc, values[4], arith::NegFOp::create(b, loc, values[3]), values[3]);
  Value turned = math::FmaOp::create(b, loc, values[1], signedSine,
                                     arith::MulFOp::create(b, loc, values[0], values[2]));
  Value result = arith::SelectOp::create(b, loc, values[5], turned, values[0]);
  return {result, both(own.present, other.present)};
}
