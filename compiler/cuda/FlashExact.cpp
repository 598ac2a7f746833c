//===- FlashExact.cpp - scores and mix in f32 -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products that tensor cores would round, as fused multiply-adds over tiles of f32 in shared memory: each score is one
// chain along the width (of a warp's part of it), each output one along the keys. Scores lie as fragments do, so that
// masks and softmax are the same. A load brings four elements; the eight rows of keys, or of queries, that a warp reads at
// a time are in different banks.
//===----------------------------------------------------------------------===//
#include "compiler/cuda/FlashKernel.h"
#include "compiler/cuda/WarpOps.h"

using namespace mlir;
using namespace attn;

/// Elements that one load brings.
static constexpr int64_t perLoad = chunkBytes / int64_t(sizeof(float));

/// sums += factor * elements, one by one.
static void accumulate(FunctionScope &f, Value factor, Value element, Value &sum) {
  sum = math::FmaOp::create(f.builder(), f.loc(), factor, element, sum);
}

static FunctionScope::Values elementsOf(FunctionScope &f, Value vector) {
  FunctionScope::Values elements;
  for (int64_t i = 0; i < perLoad; ++i)
    elements.push_back(vector::ExtractOp::create(f.builder(), f.loc(), vector, ArrayRef<int64_t>{i}));
  return elements;
}

/// The products of a term. The loop goes over 16 elements of the warp's at a time.
FlashKernel::Values FlashKernel::exactScores(unsigned term, const Tile &tile) {
  const FlashOperand &operand = operands.keys[term];
  const SharedTile &queryTile = shared.query[term], &keyTile = shared.key[term];
  Type f32 = f.builder().getF32Type(), four = f.vectorOf(perLoad, f32);
  int64_t blocks = tiling.keyTile / 8;
  Value part = t.mul(t.rem(t.warp(), tiling.parts), 16 * sizeof(float));
  Value row = t.add(firstWarpRow(t.thread()), t.div(t.lane(), 4));
  Value queries = t.add(t.add(t.add(base, shared.queryAt[term]), t.mul(row, queryTile.pitch())), part);
  Value keys = t.add(t.add(t.add(tile.stage, shared.keyAt[term]), t.mul(lastColumn, keyTile.pitch())), part);
  Values zero(tiling.threadScores(), f.constant(f32, 0.0));
  return f.loop(f.i64(0), f.i64(tiling.own(operand) / 16), f.i64(1), zero, [&](Value step, ValueRange carried) {
    Values sums(carried);
    Value along = t.mul(t.narrow(step), 16 * tiling.parts * sizeof(float));
    Value query = t.add(queries, along), key = t.add(keys, along);
    for (int64_t chunk = 0; chunk < 16 / perLoad; ++chunk) {
      SmallVector<Values> left;
      for (int64_t i = 0; i < tiling.threadRows(); ++i)
        left.push_back(elementsOf(f, t.loadShared(four, t.add(query, i * 8 * queryTile.pitch() + chunk * chunkBytes))));
      for (int64_t block = 0; block < blocks; ++block)
        for (int64_t i = 0; i < 2; ++i) {
          int64_t at = (block * 8 + i) * keyTile.pitch() + chunk * chunkBytes;
          Values right = elementsOf(f, t.loadShared(four, t.add(key, at)));
          for (int64_t e = 0; e < perLoad; ++e)
            for (auto [number, own] : llvm::enumerate(left))
              accumulate(f, own[e], right[e], sums[(number / 2 * blocks + block) * 4 + number % 2 * 2 + i]);
        }
    }
    return sums;
  });
}

/// In a careful walk weights of absent pairs bear a mark, since 0 times what is not finite is NaN.
FlashKernel::Values FlashKernel::marked(ArrayRef<Value> weights, ArrayRef<Value> presence) {
  Values result(weights);
  if (presence.empty())
    return result;
  OpBuilder &b = f.builder();
  Value mark = arith::BitcastOp::create(b, f.loc(), b.getF32Type(), t.i32(absentBits));
  for (auto [element, weight] : llvm::enumerate(result))
    weight = arith::SelectOp::create(b, f.loc(), isPresent(presence, element), weight, mark);
  return result;
}

/// A key's weights come from the lane, of the four that share rows, which has its column.
void FlashKernel::mixExactly(unsigned value, Value tile, ArrayRef<Value> weights, bool isCareful, Values &sums) {
  OpBuilder &b = f.builder();
  const FlashOperand &operand = operands.values[value];
  const SharedTile &valueTile = shared.value[value];
  Type four = f.vectorOf(perLoad, b.getF32Type());
  int64_t blocks = tiling.keyTile / 8, columns = tiling.own(operand) / 8;
  Value place = t.add(tile, t.mul(outputLane(operand), sizeof(float)));
  Value lane = t.lane(), firstLane = arith::SubIOp::create(b, f.loc(), lane, t.rem(lane, 4));
  for (int64_t key = 0; key < tiling.keyTile; ++key) {
    Value owner = t.add(firstLane, key % 8 / 2);
    Values factors, absent;
    for (int64_t row = 0; row < tiling.threadRows(); ++row) {
      unsigned element = (row / 2 * blocks + key / 8) * 4 + row % 2 * 2 + key % 2;
      factors.push_back(fromLane(f, weights[element], owner));
      if (isCareful) {
        Value bits = arith::BitcastOp::create(b, f.loc(), b.getI32Type(), factors.back());
        absent.push_back(arith::CmpIOp::create(b, f.loc(), arith::CmpIPredicate::eq, bits, t.i32(absentBits)));
      }
    }
    for (int64_t column = 0; column < columns; column += 2) {
      int64_t at = key * valueTile.pitch() + tiling.outputPlace(operand, column * 8) * int64_t(sizeof(float));
      Values elements = elementsOf(f, t.loadShared(four, t.add(place, at)));
      for (int64_t row = 0; row < tiling.threadRows(); ++row)
        for (int64_t e = 0; e < perLoad; ++e) {
          Value &sum = sums[(row / 2 * columns + column + e / 2) * 4 + row % 2 * 2 + e % 2], before = sum;
          accumulate(f, factors[row], elements[e], sum);
          if (isCareful)
            sum = arith::SelectOp::create(b, f.loc(), absent[row], before, sum);
        }
    }
  }
}

/// What lane and part add to the place of an output in the width (i32).
Value FlashKernel::outputLane(const FlashOperand &value) {
  return value.isExact() ? t.add(lastElement, lastColumn) : lastElement; // Columns of a lane lie twice as far apart.
}
