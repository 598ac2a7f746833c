//===- FlashMix.cpp - softmax and mix ---------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// In a careful walk values that are not finite are taken out of their tile (they count as 0; of a tile that is keys too a
// copy is made, in the next stage), and the stage behind gets a tile of codes in their places: 1 for infinity, 128 for minus infinity, 129 for NaN. The product of codes with 1 for each
// pair that is present says how many of either kind a row meets: at most 64 keys lie in a tile, and bf16 has 8
// bits, so that sums are exact and the two counts stay apart.
//===----------------------------------------------------------------------===//
#include "compiler/cuda/FlashKernel.h"
#include <limits>

using namespace mlir;
using namespace attn;

static constexpr double infinity = std::numeric_limits<double>::infinity();
static constexpr int64_t minusCode = 128;

//===----------------------------------------------------------------------===//
// Softmax
//===----------------------------------------------------------------------===//

/// Scores become weights 2^(scale * score - maximum); maxima, sums and outputs follow (Milakov and Gimelshein, 2018).
void FlashKernel::softmax(Values &scores, State &state) {
  OpBuilder &b = f.builder();
  Location loc = f.loc();
  Type f32 = b.getF32Type();
  Value zero = f.constant(f32, 0.0), none = f.constant(f32, -infinity), scale = f.constant(f32, form.scale);
  if (!isSoftmax()) {
    for (Value &score : scores)
      score = arith::SelectOp::create(b, loc, isAbsent(score), zero, score);
    return;
  }
  for (unsigned row = 0; row < rows.size(); ++row) {
    Value greatest;
    for (unsigned element = 0; element < scores.size(); ++element)
      if (rowOf(element) == row)
        greatest = greatest ? t.max(greatest, scores[element]) : scores[element];
    greatest = t.reduce(greatest, 1 | 2, [&](Value x, Value y) { return t.max(x, y); });
    Value old = state.maxima[row], now = t.max(old, arith::MulFOp::create(b, loc, greatest, scale));
    // Still no key: shift by 0, so that -inf - -inf never happens.
    Value isNone = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, now, none);
    Value shift = arith::SelectOp::create(b, loc, isNone, zero, now);
    Value factor = t.exp2(arith::SubFOp::create(b, loc, old, shift));
    Value minusShift = arith::NegFOp::create(b, loc, shift);
    Value sum = arith::MulFOp::create(b, loc, state.sums[row], factor);
    for (unsigned element = 0; element < scores.size(); ++element) {
      if (rowOf(element) != row)
        continue;
      scores[element] = t.exp2(math::FmaOp::create(b, loc, scores[element], scale, minusShift));
      sum = arith::AddFOp::create(b, loc, sum, scores[element]);
    }
    state.maxima[row] = now;
    state.sums[row] = sum;
    for (auto [value, output] : llvm::enumerate(state.outputs)) {
      unsigned perRowTile = tiling.own(operands.values[value]) / 8 * 4;
      for (auto [i, element] : llvm::enumerate(output))
        if (i / perRowTile * 2 + i % 4 / 2 == row)
          element = arith::MulFOp::create(b, loc, element, factor);
    }
  }
}

//===----------------------------------------------------------------------===//
// Mix
//===----------------------------------------------------------------------===//

/// What a weight that keeps its bits is times, so that its smallest part is not below what bf16 holds. Where outputs
/// overflow for that they are not finite, and the careful walk goes without.
static constexpr double raised = 1 << 24;

/// Weights times the factors of their keys. A factor of a key that is absent has no part in them: where it is not finite,
/// outputs are not, and the careful walk knows who is present.
FlashKernel::Values FlashKernel::factored(const FlashOperand &operand, const Tile &tile, ArrayRef<Value> weights,
                                          ArrayRef<Value> presence) {
  if (operand.weightParts == 1)
    return Values(weights);
  OpBuilder &b = f.builder();
  Value zero = f.constant(b.getF32Type(), 0.0), scale = f.constant(b.getF32Type(), presence.empty() ? raised : 1.0);
  auto times = [&](Value x, Value y) -> Value { return b.createOrFold<arith::MulFOp>(f.loc(), x, y); };
  Expressions &x = rows.front().x;
  llvm::DenseMap<int64_t, Value> factors; // By column.
  Values result;
  for (auto [element, weight] : llvm::enumerate(weights)) {
    int64_t column = columnOf(element);
    if (!operand.keyFactor) {
      factors[column] = scale;
    } else if (!factors.count(column)) {
      x.enter(tile.loop);
      axes.bindKey(x, keyAt(tile, column, /*isRead=*/true));
      Datum factor = x.evaluate(operand.keyFactor);
      x.leave();
      factors[column] = times(factor.value, scale);
      if (factor.present)
        factors[column] = arith::SelectOp::create(b, f.loc(), factor.present, factors[column], zero);
    }
    Value product = times(weight, factors[column]);
    if (!presence.empty())
      product = arith::SelectOp::create(b, f.loc(), isPresent(presence, element), product, zero);
    result.push_back(product);
  }
  return result;
}

/// Outputs of an ordinary walk as they are meant.
void FlashKernel::lowerRaised(State &state) {
  Value inverse = f.constant(f.builder().getF32Type(), 1 / raised);
  for (auto [operand, output] : llvm::zip(operands.values, state.outputs))
    for (Value &element : output)
      if (operand.weightParts > 1)
        element = arith::MulFOp::create(f.builder(), f.loc(), element, inverse);
}

/// Weights of 16 rows as left fragments, one for every 16 keys: sums of one product are in the places that the next one
/// wants. Each part is what the ones before it lack.
SmallVector<FlashKernel::Values> FlashKernel::leftFragments(const FlashOperand &operand, unsigned rowTile,
                                                            ArrayRef<Value> weights) {
  OpBuilder &b = f.builder();
  unsigned count = tiling.keyTile / 8 * 4;
  Values rest(weights.slice(rowTile * count, count));
  SmallVector<Values> parts;
  for (int64_t part = 0; part < operand.weightParts; ++part) {
    parts.emplace_back();
    for (unsigned i = 0; i < count; i += 2) {
      Value word = t.pack(operand.element, rest[i], rest[i + 1]);
      parts.back().push_back(word);
      if (part + 1 == operand.weightParts)
        continue;
      auto [low, high] = t.unpack(operand.element, word);
      rest[i] = arith::SubFOp::create(b, f.loc(), rest[i], low);
      rest[i + 1] = arith::SubFOp::create(b, f.loc(), rest[i + 1], high);
    }
  }
  return parts;
}

void FlashKernel::mix(unsigned value, Value tile, ArrayRef<Value> weights, Values &sums) {
  const FlashOperand &operand = operands.values[value];
  int64_t columns = tiling.own(operand) / 8;
  SmallVector<SmallVector<Values>> left;
  for (int64_t row = 0; row < tiling.rowTiles; ++row)
    left.push_back(leftFragments(operand, row, weights));
  FragmentReader &reader = *valueReaders[value];
  reader.moveTo(tile);
  for (int64_t step = 0; step < tiling.keyTile / 16; ++step)
    for (int64_t column = 0; column < columns; column += 2) {
      Values right = reader.load(step * 16, tiling.place(column * 8));
      for (int64_t part = operand.weightParts - 1; part >= 0; --part) // The smallest first.
        for (int64_t row = 0; row < tiling.rowTiles; ++row)
          for (int64_t half = 0; half < 2; ++half)
            t.multiply(operand.element, MutableArrayRef(sums).slice((row * columns + column + half) * 4, 4),
                       ArrayRef(left[row][part]).slice(4 * step, 4), ArrayRef(right).slice(2 * half, 2));
    }
}

//===----------------------------------------------------------------------===//
// Values that are not finite
//===----------------------------------------------------------------------===//

/// Whether any of the thread's outputs is not finite; null when there are none.
Value FlashKernel::anySpoiled(const State &state) {
  OpBuilder &b = f.builder();
  Value zero = f.constant(b.getF32Type(), 0.0), probe;
  for (const Values &output : state.outputs)
    for (Value element : output)
      probe = math::FmaOp::create(b, f.loc(), element, zero, probe ? probe : zero);
  return probe ? arith::CmpFOp::create(b, f.loc(), arith::CmpFPredicate::UNO, probe, probe).getResult() : Value();
}

/// Which of the thread's scores are present, a bit each, in words of 32.
FlashKernel::Values FlashKernel::presence(ArrayRef<Value> scores) {
  OpBuilder &b = f.builder();
  Values words;
  for (auto [i, score] : llvm::enumerate(scores)) {
    if (i % 32 == 0)
      words.push_back(t.i32(0));
    Value bit = arith::SelectOp::create(b, f.loc(), isAbsent(score), t.i32(0), t.i32(int32_t(1u << i % 32)));
    words.back() = arith::OrIOp::create(b, f.loc(), words.back(), bit);
  }
  return words;
}

Value FlashKernel::isPresent(ArrayRef<Value> presence, unsigned element) {
  OpBuilder &b = f.builder();
  Value bit = arith::AndIOp::create(b, f.loc(), presence[element / 32], t.i32(int32_t(1u << element % 32)));
  return arith::CmpIOp::create(b, f.loc(), arith::CmpIPredicate::ne, bit, t.i32(0));
}

static int64_t bitsOf(Type element, double number) {
  APFloat value(number);
  bool lost;
  value.convert(cast<FloatType>(element).getFloatSemantics(), APFloat::rmNearestTiesToEven, &lost);
  return value.bitcastToAPInt().getZExtValue();
}

/// Of two elements the finite ones, or the codes of those that are not.
Value FlashKernel::separateWord(Value word, Type element, bool codes) {
  OpBuilder &b = f.builder();
  Location loc = f.loc();
  int64_t ofInfinity = bitsOf(element, infinity);
  auto bitwiseAnd = [&](Value x, int64_t y) -> Value { return arith::AndIOp::create(b, loc, x, t.i32(y)); };
  auto choose = [&](Value condition, Value x, Value y) -> Value { return arith::SelectOp::create(b, loc, condition, x, y); };
  auto compare = [&](arith::CmpIPredicate predicate, Value x, int64_t y) -> Value {
    return arith::CmpIOp::create(b, loc, predicate, x, t.i32(y));
  };
  Value result;
  for (int64_t shift : {0, 16}) {
    Value bits = bitwiseAnd(arith::ShRUIOp::create(b, loc, word, t.i32(shift)), 0xFFFF);
    Value magnitude = bitwiseAnd(bits, 0x7FFF);
    Value isOther = compare(arith::CmpIPredicate::uge, magnitude, ofInfinity), half;
    if (codes) {
      Value ofSign = choose(compare(arith::CmpIPredicate::ne, bits, ofInfinity), t.i32(bitsOf(element, minusCode)),
                            t.i32(bitsOf(element, 1)));
      Value isNaN = compare(arith::CmpIPredicate::ugt, magnitude, ofInfinity);
      half = choose(isOther, choose(isNaN, t.i32(bitsOf(element, minusCode + 1)), ofSign), t.i32(0));
    } else {
      half = choose(isOther, t.i32(0), bits);
    }
    half = arith::ShLIOp::create(b, loc, half, t.i32(shift));
    result = result ? arith::OrIOp::create(b, loc, result, half).getResult() : half;
  }
  return result;
}

/// Separates the value tiles of a stage. It is the first of the ring in a careful walk.
void FlashKernel::separate(const Tile &tile) {
  OpBuilder &b = f.builder();
  for (auto [value, part] : llvm::enumerate(shared.value)) {
    if (operands.values[value].isExact())
      continue;
    int64_t at = shared.valueAt[value];
    Type element = operands.values[value].element, four = f.vectorOf(4, b.getI32Type());
    f.loop(f.i64(0), f.i64(part.rows * part.chunks()), f.i64(tiling.threads()), [&](Value first) {
      Value number = t.add(t.thread(), t.narrow(first));
      f.when(t.less(number, t.i32(part.rows * part.chunks())), [&] {
        Value place = part.at(t, t.add(tile.stage, at), t.div(number, part.chunks()), t.rem(number, part.chunks()));
        Value words = t.loadShared(four, place);
        Values finite, codes;
        for (int64_t i = 0; i < 4; ++i) {
          Value word = vector::ExtractOp::create(b, f.loc(), words, ArrayRef<int64_t>{i});
          finite.push_back(separateWord(word, element, false));
          codes.push_back(separateWord(word, element, true));
        }
        t.storeShared(vector::FromElementsOp::create(b, f.loc(), four, finite), t.add(place, shared.finiteAt[value] - at));
        t.storeShared(vector::FromElementsOp::create(b, f.loc(), four, codes), t.add(place, shared.codesAt[value] - at));
      });
    });
  }
  t.barrier();
}

/// Adds what is not finite to the rows that see it.
void FlashKernel::spoil(unsigned value, const Tile &tile, ArrayRef<Value> presence, Values &sums) {
  OpBuilder &b = f.builder();
  Location loc = f.loc();
  const FlashOperand &operand = operands.values[value];
  Type f32 = b.getF32Type();
  int64_t columns = tiling.own(operand) / 8;
  Value zero = f.constant(f32, 0.0);
  auto addWhere = [&](Value condition, Value &sum, double what) {
    sum = arith::AddFOp::create(b, loc, sum, arith::SelectOp::create(b, loc, condition, f.constant(f32, what), zero));
  };
  auto word = [&](unsigned element) -> Value { // Two neighbours as 0 or 1.
    Value both = t.i32(0);
    for (unsigned i = 0; i < 2; ++i) {
      Value one = arith::SelectOp::create(b, loc, isPresent(presence, element + i), t.i32(bitsOf(operand.element, 1) << 16 * i), t.i32(0));
      both = arith::OrIOp::create(b, loc, both, one);
    }
    return both;
  };
  FragmentReader &reader = *valueReaders[value];
  reader.moveTo(t.add(tile.stage, shared.codesAt[value]));
  for (int64_t row = 0; row < tiling.rowTiles; ++row)
    for (int64_t column = 0; column < columns; column += 2) {
      Values counts(8, zero);
      for (int64_t step = 0; step < tiling.keyTile / 16; ++step) {
        Values left, right = reader.load(step * 16, tiling.place(column * 8));
        for (unsigned i = 0; i < 4; ++i)
          left.push_back(word((row * tiling.keyTile / 8 + step * 2) * 4 + 2 * i));
        for (int64_t half = 0; half < 2; ++half)
          t.multiply(operand.element, MutableArrayRef(counts).slice(4 * half, 4), left, ArrayRef(right).slice(2 * half, 2));
      }
      for (int64_t i = 0; i < 8; ++i) {
        Value &sum = sums[(row * columns + column) * 4 + i];
        Value count = arith::FPToSIOp::create(b, loc, b.getI32Type(), counts[i]);
        addWhere(arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sge, count, t.i32(minusCode)), sum, -infinity);
        addWhere(arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, t.rem(count, minusCode), t.i32(0)), sum, infinity);
      }
    }
}
