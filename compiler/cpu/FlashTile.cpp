//===- FlashTile.cpp - one register block against one key tile --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Scores by the micro-kernel or matrix tiles, the score and mask expressions on registers, online
// softmax in base 2, and the mix by the same again.
//===----------------------------------------------------------------------===//
#include "compiler/cpu/FlashStage.h"
#include "compiler/cpu/VectorMath.h"
#include "dialects/attn/FlashWeights.h"

using namespace mlir;
using namespace attn;

static constexpr double infinity = std::numeric_limits<double>::infinity();

//===----------------------------------------------------------------------===//
// Scores
//===----------------------------------------------------------------------===//

/// rows x vectors products of packed keys from `row` on with a block's queries.
FunctionScope::Values FlashTask::rawScores(unsigned term, Value number, Value row) {
  const FlashScratch::Part &key = scratch.key[term];
  Value query = at(scratch.query[term], number);
  Type f32 = f.builder().getF32Type();
  Values keyRows;
  for (int64_t r = 0; r < shape.rows; ++r)
    keyRows.push_back(f.address(base, f.add(key.offset, f.mul(f.add(row, f.i64(r)), key.pitch)), f32));
  Value queries = f.address(base, query, f32);
  Values zeros(shape.rows * shape.vectors, floats(0.0));
  return emitMicroKernel(
      f, shape.rows, shape.vectors, f.i64(0), f.extent(axes.contracted[term]), zeros,
      [&](int64_t r, Value e) { return f.load(f32, keyRows[r], e); },
      [&](int64_t v, Value e) {
        return f.load(vectorType, queries, f.add(f.mul(e, f.i64(shape.queries)), f.i64(v * shape.lanes)));
      });
}

/// Gives the score terms of one key, which the innermost scope binds.
void FlashTask::setTerms(ArrayRef<Values> raw, unsigned r) {
  for (auto [term, argument] : llvm::enumerate(termsOf(flash)))
    for (int64_t v = 0; v < shape.vectors; ++v)
      expressions.set(argument, v, {raw[term][r * shape.vectors + v], {}});
}

/// The finished scores of one key in base 2, -inf where the score region says absent.
FunctionScope::Values FlashTask::scoresAt(Value key, ArrayRef<Values> raw, unsigned r, Operation *loop) {
  OpBuilder &b = f.builder();
  expressions.enter(loop);
  bindKey(key);
  setTerms(raw, r);
  Values scores;
  for (int64_t v = 0; v < shape.vectors; ++v) {
    Value score = raw[0][r * shape.vectors + v], present;
    if (!this->score.isPlain) {
      Datum datum = expressions.evaluateLanes(flash.getScore(), v);
      score = datum.value;
      present = datum.present;
      if (isSoftmax())
        score = arith::MulFOp::create(b, f.loc(), score, floats(log2OfE));
    }
    if (present)
      score = arith::SelectOp::create(b, f.loc(), expressions.asLanes(present), score, absentScore);
    scores.push_back(score);
  }
  expressions.leave();
  return scores;
}

/// The keys of a block, from the first to the last register block that has any of them.
std::pair<Value, Value> FlashTask::blocksOfKeys(const KeyRange &block) {
  Value step = f.i64(shape.hasTiles ? blockRows : shape.rows);
  return {f.mul(f.div(block.low, step), step), f.mul(f.ceilDiv(block.high, step), step)};
}

/// Whether stored scores are what products give: the factor is left to those who read them.
bool FlashTask::keepsProducts() { return shape.hasTiles && score.isPlain && !score.queryFactor && score.factor > 0; }

void FlashTask::storeScores(Value row, ArrayRef<Value> scores) {
  for (auto [i, score] : llvm::enumerate(scores)) {
    Value key = f.add(row, f.i64(int64_t(i) / shape.vectors));
    storeFloats(score, f.add(scratch.weights, f.mul(key, f.i64(shape.queries))), int64_t(i) % shape.vectors * shape.lanes);
  }
}

/// Stores the block's scores and gives the rows' maxima.
FunctionScope::Values FlashTask::emitScores(const KeyRange &block, Value firstKey, Value length, ValueRange maxima) {
  auto [start, end] = blocksOfKeys(block);
  Value lastKey = f.sub(keyCount(), f.i64(1));
  Values limits = limitsOf(block, firstKey, length), factors = shape.hasTiles ? scoreFactors() : Values();
  auto overRows = [&](Value from, Value to, ValueRange init) {
    return f.loop(from, to, f.i64(shape.rows), init, [&](Value row, ValueRange carried) {
      Operation *loop = row.getParentBlock()->getParentOp();
      SmallVector<Values> raw;
      for (unsigned term = 0; term < flash.getQueries().size(); ++term)
        raw.push_back(shape.hasTiles ? tileScores(term, row, factors) : rawScores(term, block.number, row));
      Values scores;
      for (int64_t r = 0; r < shape.rows; ++r) {
        // Rows behind the last key are masked below; captured tensors are not read there.
        Value key = f.min(f.add(f.add(firstKey, row), f.i64(r)), lastKey);
        llvm::append_range(scores, scoresAt(key, raw, r, loop));
      }
      scores = maskScores(block, firstKey, length, row, limits, raw, scores, loop);
      if (!keepsProducts())
        storeScores(row, scores);
      Values next(carried.begin(), carried.end());
      for (size_t i = 0; i < scores.size() && isSoftmax(); ++i)
        next[i % shape.vectors] = emitMax(f, scores[i], next[i % shape.vectors]);
      return next;
    });
  };
  if (!shape.hasTiles)
    return overRows(start, end, maxima);
  Values none(shape.vectors, floats(-infinity));
  Values largest = f.loop(start, end, f.i64(blockRows), keepsProducts() ? ValueRange(none) : maxima,
                          [&](Value first, ValueRange carried) {
                            expressions.enter(first.getParentBlock()->getParentOp());
                            emitTileScores(block.number, first);
                            Values next = overRows(first, f.add(first, f.i64(blockRows)), carried);
                            expressions.leave();
                            return next;
                          });
  for (int64_t v = 0; v < shape.vectors && keepsProducts(); ++v) {
    Value scaled = arith::MulFOp::create(f.builder(), f.loc(), largest[v], factors[v]);
    largest[v] = emitMax(f, scaled, maxima[v]);
  }
  return largest;
}

//===----------------------------------------------------------------------===//
// Softmax and mix
//===----------------------------------------------------------------------===//

Value attn::absentMark(FunctionScope &f, int64_t lanes) {
  OpBuilder &b = f.builder();
  auto bits = DenseElementsAttr::get(f.vectorOf(lanes, b.getI32Type()), APInt(32, 0xFFC0A77Eu));
  Value number = arith::ConstantOp::create(b, f.loc(), bits);
  return arith::BitcastOp::create(b, f.loc(), f.vectorOf(lanes, b.getF32Type()), number);
}

Value FlashTask::isMarked(Value power) {
  OpBuilder &b = f.builder();
  Type bits = f.vectorOf(shape.lanes, b.getI32Type());
  return arith::CmpIOp::create(b, f.loc(), arith::CmpIPredicate::eq, arith::BitcastOp::create(b, f.loc(), bits, power),
                               arith::BitcastOp::create(b, f.loc(), bits, absentMark(f, shape.lanes)));
}

/// The weights 2^(score - shift) of a key, changed as the flash says; `sums`, and then what was kept, grow by what they
/// were before.
FunctionScope::Values FlashTask::powersAt(Value key, Value firstKey, ArrayRef<Value> shift, bool marksAbsent, Values &sums) {
  OpBuilder &b = f.builder();
  bool changes = changesWeights(flash);
  Value row = f.add(scratch.weights, f.mul(key, f.i64(shape.queries)));
  Value absentWeight = marksAbsent ? absentMark(f, shape.lanes) : floats(0.0);
  Values powers, factors = keepsProducts() ? scoreFactors() : Values();
  for (int64_t v = 0; v < shape.vectors; ++v) {
    Value score = loadFloats(row, v * shape.lanes), exponent;
    if (keepsProducts())
      exponent = math::FmaOp::create(b, f.loc(), score, factors[v], arith::NegFOp::create(b, f.loc(), shift[v]));
    else
      exponent = arith::SubFOp::create(b, f.loc(), score, shift[v]);
    // A log-sum-exp is not rounded.
    Value power = emitExp2(f, exponent, /*forBf16=*/shape.hasTiles && shape.parts == 1 && !marksAbsent && !flash.getLogsumexp());
    sums[v] = arith::AddFOp::create(b, f.loc(), sums[v], power);
    if (marksAbsent || changes) {
      Value present = arith::CmpFOp::create(b, f.loc(), arith::CmpFPredicate::UNE, score, floats(-infinity));
      if (changes) {
        Value place = f.add(firstKey, key);
        if (shape.hasTiles) // Behind the last key nothing is read.
          place = f.min(place, f.sub(keyCount(), f.i64(1)));
        ChangedWeight changed = changeWeight(expressions, flash, power, v, [&] { bindKey(place); });
        power = changed.weight;
        present = expressions.both(present, changed.present);
        Value isKept = expressions.both(present, changed.kept), &kept = sums[shape.vectors + v];
        kept = arith::SelectOp::create(b, f.loc(), isKept, floats(1.0), kept);
      }
      power = arith::SelectOp::create(b, f.loc(), present, power, absentWeight);
    }
    powers.push_back(power);
  }
  return powers;
}

/// Scores become weights in place. Matrix tiles read them as pairs of keys, unless absent ones are marked.
void FlashTask::emitPowers(const KeyRange &block, Value firstKey, ArrayRef<Value> shift, ArrayRef<Value> sums,
                           bool marksAbsent) {
  Values init(sums);
  for (int64_t v = 0; v < shape.vectors && changesWeights(flash); ++v)
    init.push_back(loadFloats(at(scratch.kept, block.number), v * shape.lanes));
  bool isPaired = shape.hasTiles && !marksAbsent;
  auto [start, end] = isPaired ? blocksOfKeys(block) : std::pair(block.low, block.high);
  Values ends = f.loop(start, end, f.i64(isPaired ? 2 : 1), init, [&](Value key, ValueRange carried) {
    expressions.enter(key.getParentBlock()->getParentOp());
    Values next(carried.begin(), carried.end());
    Values powers = powersAt(key, firstKey, shift, marksAbsent, next), others;
    if (isPaired)
      others = powersAt(f.add(key, f.i64(1)), firstKey, shift, marksAbsent, next);
    Value row = f.address(base, f.add(scratch.weights, f.mul(key, f.i64(shape.queries))), f.builder().getF32Type());
    for (int64_t v = 0; v < shape.vectors; ++v) {
      // A pair of bf16 takes as much room as an f32: one part lies where the first key was, the other where the second was.
      Values stored = isPaired ? pairsOf(f, powers[v], others[v], shape.parts) : Values{powers[v]};
      for (auto [part, lanes] : llvm::enumerate(stored))
        f.store(lanes, row, f.i64((part * shape.queries + v * shape.lanes) * (isPaired ? 2 : 1)));
    }
    expressions.leave();
    return next;
  });
  for (auto [i, end] : llvm::enumerate(ends)) {
    const FlashScratch::Part &part = int64_t(i) < shape.vectors ? scratch.sum : scratch.kept;
    storeFloats(end, at(part, block.number), i % shape.vectors * shape.lanes);
  }
}

/// Multiplies the block's outputs by 2^(old shift - new shift) where any shift rises.
void FlashTask::rescale(Value number, ArrayRef<Value> rises, ArrayRef<Value> factors) {
  OpBuilder &b = f.builder();
  Value any;
  for (Value lanes : rises)
    any = any ? arith::OrIOp::create(b, f.loc(), any, lanes).getResult() : lanes;
  any = vector::ReductionOp::create(b, f.loc(), vector::CombiningKind::OR, any);
  f.when(any, [&] {
    for (const FlashScratch::Part &part : scratch.output) {
      Value from = at(part, number);
      f.loop(f.i64(0), part.pitch, f.i64(shape.queries), [&](Value element) {
        for (int64_t v = 0; v < shape.vectors; ++v) {
          Value old = loadFloats(f.add(from, element), v * shape.lanes);
          storeFloats(arith::MulFOp::create(b, f.loc(), old, factors[v]), f.add(from, element), v * shape.lanes);
        }
      });
    }
  });
}

/// outputs[width][queries] += values[key][width] * weights[key][queries]
void FlashTask::emitMixes(const KeyRange &block, bool skipsAbsent) {
  if (shape.hasTiles && !skipsAbsent)
    return emitTileMixes(block);
  OpBuilder &b = f.builder();
  Type f32 = b.getF32Type();
  Value weights = f.address(base, scratch.weights, f32);
  for (auto [i, part] : llvm::enumerate(scratch.value)) {
    Value output = at(scratch.output[i], block.number);
    Value extent = f.extent(axes.widths[i]);
    f.loop(f.i64(0), extent, f.i64(shape.rows), [&](Value element) {
      Value to = f.add(output, f.mul(element, f.i64(shape.queries)));
      Values sums;
      for (int64_t r = 0; r < shape.rows; ++r)
        for (int64_t v = 0; v < shape.vectors; ++v)
          sums.push_back(loadFloats(to, r * shape.queries + v * shape.lanes));
      auto weightsAt = [&](int64_t v, Value key) {
        return f.load(vectorType, weights, f.add(f.mul(key, f.i64(shape.queries)), f.i64(v * shape.lanes)));
      };
      auto valueAt = [&](int64_t r, Value key) -> Value {
        Value row = f.address(base, f.add(part.offset, f.mul(key, part.pitch)), f32), place = f.add(element, f.i64(r));
        if (!shape.hasTiles)
          return f.load(f32, row, place);
        return sumOfParts(row, place, widthOfPart(part));
      };
      if (!skipsAbsent) {
        sums = emitMicroKernel(f, shape.rows, shape.vectors, block.low, block.high, sums, valueAt, weightsAt);
      } else {
        sums = f.loop(block.low, block.high, f.i64(1), sums, [&](Value key, ValueRange carried) {
          Values next;
          for (int64_t r = 0; r < shape.rows; ++r)
            for (int64_t v = 0; v < shape.vectors; ++v) {
              Value weight = weightsAt(v, key), sum = carried[r * shape.vectors + v];
              Value more = math::FmaOp::create(b, f.loc(), f.splat(valueAt(r, key), shape.lanes), weight, sum);
              next.push_back(arith::SelectOp::create(b, f.loc(), isMarked(weight), sum, more));
            }
          return next;
        });
      }
      for (int64_t r = 0; r < shape.rows; ++r)
        for (int64_t v = 0; v < shape.vectors; ++v)
          storeFloats(sums[r * shape.vectors + v], to, r * shape.queries + v * shape.lanes);
    });
  }
}

void FlashTask::emitBlock(const KeyRange &block, Value firstKey, Value length, Value finite) {
  OpBuilder &b = f.builder();
  Location loc = f.loc();
  absentScore = isSoftmax() ? floats(-infinity) : absentMark(f, shape.lanes);
  if (!isSoftmax()) {
    if (finite)
      absentScore = arith::SelectOp::create(b, loc, f.splat(finite, shape.lanes), floats(0.0), absentScore);
    emitScores(block, firstKey, length, {});
    return f.when(finite, [&] { emitMixes(block, false); }, [&] { emitMixes(block, true); });
  }
  Value maximumAt = at(scratch.maximum, block.number), sumAt = at(scratch.sum, block.number);
  Values old;
  for (int64_t v = 0; v < shape.vectors; ++v)
    old.push_back(loadFloats(maximumAt, v * shape.lanes));
  Values maxima = emitScores(block, firstKey, length, old);
  Values shift, factors, rises, sums;
  for (int64_t v = 0; v < shape.vectors; ++v) {
    // Weights are 2^(score - shift), and the shift need not be the maximum: it follows where that is more than 2^8 times as
    // much, so most tiles leave the outputs as they are (the conditional rescaling of FlashAttention-4).
    Value limit = arith::AddFOp::create(b, loc, old[v], floats(8.0));
    rises.push_back(arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OGT, maxima[v], limit));
    Value kept = arith::SelectOp::create(b, loc, rises[v], maxima[v], old[v]);
    // Still no key: shift by 0, so that -inf - -inf never happens.
    Value none = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, kept, floats(-infinity));
    shift.push_back(arith::SelectOp::create(b, loc, none, floats(0.0), kept));
    factors.push_back(emitExp2(f, arith::SubFOp::create(b, loc, old[v], shift[v])));
    Value sum = loadFloats(sumAt, v * shape.lanes);
    sums.push_back(arith::MulFOp::create(b, loc, sum, factors[v]));
    storeFloats(kept, maximumAt, v * shape.lanes);
  }
  rescale(block.number, rises, factors);
  auto finish = [&](bool marks) {
    inScope(expressions, [&] { emitPowers(block, firstKey, shift, sums, marks); });
    emitMixes(block, marks);
  };
  if (!finite) // There are no values.
    return finish(false);
  f.when(finite, [&] { finish(false); }, [&] { finish(true); });
}
