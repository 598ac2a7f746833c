//===- FlashDecodeMix.cpp - from weights and values to results --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Mixes with lanes along the width; the merge of chunks by log-sum-exp; what follows the stage's results.
//===----------------------------------------------------------------------===//
#include "compiler/cpu/FlashDecode.h"
#include "compiler/cpu/VectorMath.h"
#include "dialects/attn/FlashWeights.h"

using namespace mlir;
using namespace attn;

static constexpr double naturalLogOf2 = 0.6931471805599453;
static constexpr double infinity = std::numeric_limits<double>::infinity();

//===----------------------------------------------------------------------===//
// Mixes
//===----------------------------------------------------------------------===//

/// Which lanes of weights hold the mark of an absent pair.
Value DecodeTask::isMarked(Value weight) {
  OpBuilder &b = f.builder();
  Type bits = f.vectorOf(shape.lanes, b.getI32Type());
  return arith::CmpIOp::create(b, f.loc(), arith::CmpIPredicate::eq, arith::BitcastOp::create(b, f.loc(), bits, weight),
                               arith::BitcastOp::create(b, f.loc(), bits, absentMark(f, shape.lanes)));
}

/// sums[query][vector] += weights[query][key] * values[key][first + vector] over the keys of the tile.
FunctionScope::Values DecodeTask::mixOver(const DecodeBlock &block, unsigned value, const Tile &tile, Value firstQuery,
                                          Value first, ValueRange sums, bool isPlain, bool isWhole) {
  OpBuilder &b = f.builder();
  unsigned operand = query.size() + value;
  Value extent = f.extent(axes.widths[value]);
  Values firsts, masks;
  for (int64_t v = 0; v < block.vectors; ++v) {
    firsts.push_back(f.add(first, f.i64(v * shape.lanes)));
    masks.push_back(isWhole ? Value() : maskBelow(f, firsts[v], extent, shape.lanes));
  }
  Values weightRows;
  for (int64_t q = 0; q < block.queries; ++q)
    weightRows.push_back(at(scaled[value], f.add(firstQuery, f.i64(q))));
  return f.loop(tile.low, tile.high, f.i64(1), sums, [&](Value key, ValueRange carried) {
    Values elements, next;
    scoped([&] {
      Value index = f.add(tile.start, key);
      bindKey(index);
      if (isPlain) {
        setKept(operand, keptOf(operand, tile, key));
      } else if (Value scale = operands[operand].scale) {
        Value own = loadFloat(scratch, f.add(scalesOf(operand), key));
        expressions.set(scale, 0, {arith::SelectOp::create(b, f.loc(), exact, number(1.0), own), {}});
      }
      expressions.bindLanes(axes.widths[value], firsts, masks);
      for (int64_t v = 0; v < block.vectors; ++v)
        elements.push_back(elementLanes(operand, v));
    });
    for (int64_t q = 0; q < block.queries; ++q) {
      Value weight = f.splat(loadFloat(scratch, f.add(weightRows[q], key)), shape.lanes);
      Value marked = isPlain ? Value() : isMarked(weight);
      for (int64_t v = 0; v < block.vectors; ++v) {
        Value sum = carried[q * block.vectors + v];
        Value more = math::FmaOp::create(b, f.loc(), weight, elements[v], sum);
        next.push_back(marked ? arith::SelectOp::create(b, f.loc(), marked, sum, more).getResult() : more);
      }
    }
    return next;
  });
}

void DecodeTask::emitMix(const DecodeBlock &block, unsigned value, const Tile &tile, Value firstQuery, Value first,
                         Value isPlain) {
  const FlashScratch::Part &mix = partial.mix[value];
  Values sums, places;
  for (int64_t q = 0; q < block.queries; ++q)
    for (int64_t v = 0; v < block.vectors; ++v) {
      places.push_back(f.add(at(mix, f.add(firstQuery, f.i64(q))), f.add(first, f.i64(v * shape.lanes))));
      sums.push_back(loadLanes(base, places.back()));
    }
  Value extent = f.extent(axes.widths[value]);
  int64_t strip = block.vectors * shape.lanes;
  std::optional<int64_t> known = f.constantExtent(axes.widths[value]);
  SmallVector<Type> types(sums.size(), vectorType);
  sums = choose(isPlain, types, [&](bool plain) -> Values {
    if (known && *known % strip == 0)
      return mixOver(block, value, tile, firstQuery, first, sums, plain, /*isWhole=*/true);
    if (!plain)
      return mixOver(block, value, tile, firstQuery, first, sums, plain, /*isWhole=*/false);
    Value fits = arith::CmpIOp::create(f.builder(), f.loc(), arith::CmpIPredicate::sle, f.add(first, f.i64(strip)), extent);
    return choose(fits, types, [&](bool whole) { return mixOver(block, value, tile, firstQuery, first, sums, plain, whole); });
  });
  for (auto [sum, place] : llvm::zip(sums, places))
    f.store(sum, base, place);
}

/// Stores the weights of a value, times its scale or as they are, marked where the scale is absent. Gives whether all of them
/// are as exact as they were: a product below the normal numbers is not.
Value DecodeTask::storeWeights(unsigned value, const Tile &tile, bool isScaled) {
  OpBuilder &b = f.builder();
  Value scales = scalesOf(query.size() + value);
  Value lanes = f.i64(shape.lanes), start = f.mul(f.div(tile.low, lanes), lanes);
  Type numbers = f.vectorOf(shape.lanes, b.getI32Type());
  Value none = arith::ConstantOp::create(b, f.loc(), b.getZeroAttr(numbers));
  auto compare = [&](arith::CmpFPredicate how, Value x, double y) -> Value {
    return arith::CmpFOp::create(b, f.loc(), how, x, floats(y));
  };
  Value lost = f.loop(start, tile.high, lanes, {none}, [&](Value key, ValueRange outer) {
    Value scale = loadLanes(scratch, f.add(scales, key)), isAbsent = isMarked(scale);
    Value hasScale = compare(arith::CmpFPredicate::ONE, scale, 0.0);
    return f.loop(f.i64(0), queries, f.i64(1), outer, [&](Value query, ValueRange carried) -> Values {
      Value weight = loadLanes(scratch, f.add(at(raw[0], query), key));
      Value product = isScaled ? arith::MulFOp::create(b, f.loc(), weight, scale).getResult() : weight;
      Value isSmall = compare(arith::CmpFPredicate::OLT, math::AbsFOp::create(b, f.loc(), product), 0x1p-126);
      isSmall = expressions.both(isSmall, expressions.both(hasScale, compare(arith::CmpFPredicate::ONE, weight, 0.0)));
      Value keepsMark = expressions.either(isAbsent, isMarked(weight));
      product = arith::SelectOp::create(b, f.loc(), keepsMark, absentMark(f, shape.lanes), product);
      f.store(product, scratch, f.add(at(scaled[value], query), key));
      return {arith::OrIOp::create(b, f.loc(), carried[0], arith::ExtUIOp::create(b, f.loc(), numbers, isSmall))};
    });
  })[0];
  Value any = vector::ReductionOp::create(b, f.loc(), vector::CombiningKind::OR, lost);
  return arith::CmpIOp::create(b, f.loc(), arith::CmpIPredicate::eq, any,
                               arith::ConstantOp::create(b, f.loc(), b.getI32IntegerAttr(0)));
}

void DecodeTask::emitMixes(const Tile &tile, Value anyAbsent) {
  Value isPresent = expressions.both(expressions.negate(anyAbsent), simple);
  for (unsigned value = 0; value < partial.mix.size(); ++value) {
    exact = {};
    if (operands[query.size() + value].scale) { // One multiplication for each weight, not for each element.
      exact = storeWeights(value, tile, /*isScaled=*/true);
      when(expressions.negate(exact), [&] { storeWeights(value, tile, /*isScaled=*/false); });
    }
    overBlocks(expressions.both(isPresent, exact), [&](const DecodeBlock &block, Value firstQuery, Value isPlain) {
      loop(f.i64(0), f.extent(axes.widths[value]), block.vectors * shape.lanes, [&](Value first) {
        if (value == 0)
          prefetchKeys(block, tile, firstQuery, first);
        emitMix(block, value, tile, firstQuery, first, isPlain);
      });
    });
  }
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

/// Normalises the rows of the partial at `base` and stores what follows.
void DecodeTask::finish() {
  OpBuilder &b = f.builder();
  Location loc = f.loc();
  overQueries([&](Value query) {
    Value logSumExp, inverse;
    if (isSoftmax()) {
      Value maximum = loadFloat(base, f.add(partial.maximum, query)), sum = loadFloat(base, f.add(partial.sum, query));
      Value rescale = number(1.0);
      if (flash.getSink()) { // A key without a value, counted once.
        Value sink = arith::MulFOp::create(b, loc, expressions.evaluate(flash.getSink()).value, number(log2OfE));
        Value larger = emitMax(f, sink, maximum);
        Value isNone = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, larger, number(-infinity));
        Value shift = arith::SelectOp::create(b, loc, isNone, number(0.0), larger);
        rescale = emitExp2(f, arith::SubFOp::create(b, loc, maximum, shift));
        Value more = emitExp2(f, arith::SubFOp::create(b, loc, sink, shift));
        sum = math::FmaOp::create(b, loc, sum, rescale, more);
        maximum = larger;
      }
      // A row without keys: output 0, log-sum-exp -inf.
      Value isEmpty = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, sum, number(0.0));
      Value quotient = arith::DivFOp::create(b, loc, rescale, sum);
      Value isNothing = isEmpty;
      if (weightOf(flash)) {
        Value kept = loadFloat(base, f.add(partial.kept, query));
        Value isDropped = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, kept, number(0.0));
        isNothing = expressions.either(isEmpty, isDropped);
      }
      inverse = arith::SelectOp::create(b, loc, isNothing, number(0.0), quotient);
      if (flash.getLogsumexp()) {
        Value natural = math::FmaOp::create(b, loc, maximum, number(naturalLogOf2), emitLog(f, sum));
        logSumExp = arith::SelectOp::create(b, loc, isEmpty, number(-infinity), natural);
        expressions.set(flash.getOutputs().back(), 0, {logSumExp, {}});
      }
    }
    Values results;
    for (const FlashScratch::Part &mix : partial.mix) {
      Value row = at(mix, query);
      results.push_back(f.address(base, row, b.getF32Type()));
      if (!inverse)
        continue;
      f.loop(row, f.add(row, mix.pitch), f.i64(shape.lanes), [&](Value at) {
        Value sum = loadLanes(base, at);
        Value normal = arith::MulFOp::create(b, loc, sum, f.splat(inverse, shape.lanes));
        if (flash.getSink()) { // A sink of NaN does not reach a row without keys.
          Value none = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, sum, floats(0.0));
          normal = arith::SelectOp::create(b, loc, none, sum, normal);
        }
        f.store(normal, base, at);
      });
    }
    for (WriteOp write : stage.getBody().getOps<WriteOp>()) {
      if (widthOf(write, axes))
        writeAlongWidth(expressions, flash, axes, write, results);
      else
        expressions.write(write);
    }
  });
}

/// Adds the mixes of a query in the partial at `from`, times a factor.
void DecodeTask::addMixes(Value query, Value from, Value factor) {
  Value factors = f.splat(factor, shape.lanes);
  for (const FlashScratch::Part &mix : partial.mix) {
    Value row = at(mix, query);
    f.loop(row, f.add(row, mix.pitch), f.i64(shape.lanes), [&](Value at) {
      f.store(math::FmaOp::create(f.builder(), f.loc(), loadLanes(from, at), factors, loadLanes(base, at)), base, at);
    });
  }
}

LogicalResult DecodeTask::emitMerge(Value task, llvm::function_ref<Value(Expressions &)> takes) {
  OpBuilder &b = f.builder();
  Location loc = f.loc();
  Values indices, counts;
  for (StringAttr axis : axes.batch)
    counts.push_back(f.extent(axis));
  indices = splitTask(f, task, counts);
  return overEntry(indices, takes, [&] {
    Value chunks = ownChunks();
    when(f.less(f.i64(1), chunks), [&] {
      base = f.address(scratch, ownPartial, b.getF32Type());
      startMixes(queries);
      loop(f.i64(0), queries, 1, [&](Value query) {
        Value maximumAt = f.add(partial.maximum, query), sumAt = f.add(partial.sum, query), shift;
        if (isSoftmax()) {
          Value maximum = f.loop(f.i64(0), chunks, f.i64(1), {number(-infinity)}, [&](Value chunk, ValueRange carried) -> Values {
            return {emitMax(f, loadFloat(partialOf(task, chunk), maximumAt), carried[0])};
          })[0];
          Value isNone = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, maximum, number(-infinity));
          shift = arith::SelectOp::create(b, loc, isNone, number(0.0), maximum);
          f.store(maximum, base, maximumAt);
        }
        if (weightOf(flash)) {
          Value keptAt = f.add(partial.kept, query);
          Value kept = f.loop(f.i64(0), chunks, f.i64(1), {number(0.0)}, [&](Value chunk, ValueRange carried) -> Values {
            return {emitMax(f, loadFloat(partialOf(task, chunk), keptAt), carried[0])};
          })[0];
          f.store(kept, base, keptAt);
        }
        Value total = f.loop(f.i64(0), chunks, f.i64(1), {number(0.0)}, [&](Value chunk, ValueRange carried) -> Values {
          Value from = partialOf(task, chunk);
          if (!isSoftmax()) {
            addMixes(query, from, number(1.0));
            return {carried[0]};
          }
          Value own = loadFloat(from, sumAt);
          Value hasKeys = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNE, own, number(0.0));
          auto add = [&]() -> Values {
            Value factor = emitExp2(f, arith::SubFOp::create(b, loc, loadFloat(from, maximumAt), shift));
            addMixes(query, from, factor);
            return {math::FmaOp::create(b, loc, own, factor, carried[0])};
          };
          return f.choose(hasKeys, own.getType(), add, [&] { return Values(carried); });
        })[0];
        if (isSoftmax())
          f.store(total, base, sumAt);
      });
      finish();
    });
  });
}
