//===- FlashPacking.cpp - operands of a tile --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Keys and values as rows of f32, or for matrix tiles as rows of bf16; then queries are pairs of them, and values are
// turned into columns.
//===----------------------------------------------------------------------===//
#include "compiler/cpu/FlashStage.h"

using namespace mlir;
using namespace attn;

/// Evaluates a tile of keys or values vector by vector along its width, stores it and calls `each` for every vector.
/// Lanes beyond the width, and absent elements, are 0.
FunctionScope::Values FlashTask::packTile(Value source, StringAttr width, const FlashScratch::Part &part, Value firstKey,
                                          Value length, ValueRange init,
                                          llvm::function_ref<Values(Value element, ValueRange carried)> each) {
  OpBuilder &b = f.builder();
  Type f32 = b.getF32Type();
  Value end = shape.hasTiles ? widthOfPart(part) : part.pitch;
  std::optional<int64_t> known = f.constantExtent(width);
  bool whole = known && FunctionScope::constantOf(end) == *known;
  return f.loop(f.i64(0), length, f.i64(1), init, [&](Value key, ValueRange outer) {
    expressions.enter(key.getParentBlock()->getParentOp());
    bindKey(f.add(firstKey, key));
    Value row = f.address(base, f.add(part.offset, f.mul(key, part.pitch)), f32);
    auto inner = f.loop(f.i64(0), end, f.i64(shape.lanes), outer, [&](Value first, ValueRange carried) {
      expressions.enter(first.getParentBlock()->getParentOp());
      Value mask = whole ? Value() : maskBelow(f, first, f.extent(width), shape.lanes);
      expressions.bindLanes(width, {first}, {mask});
      Datum datum = expressions.evaluateLanes(source);
      Value element = datum.value;
      if (Value present = expressions.both(mask, datum.present))
        element = arith::SelectOp::create(b, f.loc(), expressions.asLanes(present), element, floats(0.0));
      if (shape.hasTiles)
        storeParts(element, row, first, end);
      else
        f.store(element, row, first);
      Values next = each(element, carried);
      expressions.leave();
      return next;
    });
    expressions.leave();
    return inner;
  });
}

void FlashTask::packKeys(Value firstKey, Value length) {
  for (auto [term, key] : llvm::enumerate(flash.getKeys()))
    packTile(key, axes.contracted[term], scratch.key[term], firstKey, length, {},
             [](Value, ValueRange) { return Values(); });
}

/// Packs the values and says whether all are finite: only then may an absent pair be
/// left to a weight of 0.
Value FlashTask::packValues(Value firstKey, Value length) {
  OpBuilder &b = f.builder();
  Value finite;
  for (auto [i, value] : llvm::enumerate(flash.getValues())) {
    Values probe = packTile(value, axes.widths[i], scratch.value[i], firstKey, length, {floats(0.0)},
                            [&](Value element, ValueRange carried) -> Values {
                              return {math::FmaOp::create(b, f.loc(), element, floats(0.0), carried[0])};
                            });
    Value total = vector::ReductionOp::create(b, f.loc(), vector::CombiningKind::ADD, probe[0]);
    Value isNumber = arith::CmpFOp::create(b, f.loc(), arith::CmpFPredicate::ORD, total, total);
    finite = expressions.both(finite, isNumber);
  }
  if (shape.hasTiles)
    turnValues(length);
  return finite;
}

//===----------------------------------------------------------------------===//
// Matrix tiles
//===----------------------------------------------------------------------===//

/// Stores lanes as bf16, each part `pitch` behind the one before.
void FlashTask::storeParts(Value element, Value row, Value place, Value pitch) {
  Type halves = f.vectorOf(shape.lanes, f.builder().getBF16Type());
  for (Value part : partsOf(f, element, shape.parts)) {
    f.store(arith::TruncFOp::create(f.builder(), f.loc(), halves, part), row, place);
    place = f.add(place, pitch);
  }
}

/// The element whose parts were stored so.
Value FlashTask::sumOfParts(Value row, Value place, Value pitch) {
  OpBuilder &b = f.builder();
  Value sum;
  for (int64_t part = 0; part < shape.parts; ++part) {
    Value half = f.load(b.getBF16Type(), row, f.add(place, f.mul(pitch, f.i64(part))));
    Value wide = arith::ExtFOp::create(b, f.loc(), b.getF32Type(), half);
    sum = sum ? arith::AddFOp::create(b, f.loc(), sum, wide).getResult() : wide;
  }
  return sum;
}

/// [contracted][queries] of f32 become [parts][contracted / 2][queries] pairs; beyond the extent they are 0.
void FlashTask::pairQuery(unsigned term, Value panel, Value number) {
  Value extent = f.extent(axes.contracted[term]), queries = f.i64(shape.queries);
  const FlashScratch::Part &part = scratch.query[term];
  Value to = f.address(base, at(part, number), f.builder().getF32Type()), size = f.div(part.pitch, f.i64(shape.parts));
  f.loop(f.i64(0), f.div(size, queries), f.i64(1), [&](Value pair) {
    for (int64_t v = 0; v < shape.vectors; ++v) {
      SmallVector<Values> both;
      for (int64_t i = 0; i < 2; ++i) {
        Value e = f.add(f.mul(pair, f.i64(2)), f.i64(i));
        Value lanes = f.load(vectorType, panel, f.add(f.mul(e, queries), f.i64(v * shape.lanes)));
        lanes = arith::SelectOp::create(f.builder(), f.loc(), f.less(e, extent), lanes, floats(0.0));
        both.push_back(partsOf(f, lanes, shape.parts));
      }
      Value place = f.add(f.mul(pair, queries), f.i64(v * shape.lanes));
      for (auto [first, second] : llvm::zip(both[0], both[1])) {
        f.store(pairsOf(f, first, second), to, f.mul(place, f.i64(2)));
        place = f.add(place, size);
      }
    }
  });
}

/// Rows of values become columns of 32 keys each. Those beyond the last key are 0: what is there meets a weight of 0.
void FlashTask::turnValues(Value length) {
  OpBuilder &b = f.builder();
  auto halves = f.vectorOf(shape.lanes, b.getBF16Type());
  Value depth = f.i64(tileDepth), lanes = f.i64(shape.lanes);
  for (auto [part, columns] : llvm::zip(scratch.value, scratch.columns)) {
    Value width = f.mul(part.pitch, f.i64(2)); // of all parts of a row
    Value rows = f.address(base, part.offset, b.getF32Type()), to = f.address(base, columns.offset, b.getF32Type());
    f.loop(length, f.mul(f.ceilDiv(length, depth), depth), f.i64(1), [&](Value key) {
      f.loop(f.i64(0), width, lanes, [&](Value first) {
        f.store(f.constant(halves, 0.0), rows, f.add(f.mul(key, width), first));
      });
    });
    f.loop(f.i64(0), f.ceilDiv(length, depth), f.i64(1), [&](Value chunk) {
      f.loop(f.i64(0), width, lanes, [&](Value first) {
        Values vectors;
        for (int64_t pair = 0; pair < shape.lanes; ++pair) {
          auto row = [&](int64_t i) {
            Value key = f.add(f.mul(chunk, depth), f.i64(2 * pair + i));
            return f.load(halves, rows, f.add(f.mul(key, width), first));
          };
          vectors.push_back(vector::BitCastOp::create(b, f.loc(), vectorType, interleaved(f, row(0), row(1))));
        }
        transposeVectors(f, vectors);
        for (auto [j, column] : llvm::enumerate(vectors))
          f.store(column, to, f.add(f.mul(chunk, columns.pitch), f.mul(f.add(first, f.i64(j)), lanes)));
      });
    });
  }
}
