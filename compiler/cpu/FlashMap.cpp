//===- FlashMap.cpp - what the mask says for whole tiles --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The part of a mask that depends on data, asked once per register block and key tile by the extremes of what it
// compares: 0, no pair is seen; 2, the mask holds for every pair; 1, it must be asked for each. Extremes of the keys
// are found once per key tile, those of the rows once per query tile.
//===----------------------------------------------------------------------===//
#include "compiler/cpu/FlashStage.h"
#include <limits>

using namespace mlir;
using namespace attn;

static constexpr int64_t least = std::numeric_limits<int64_t>::min(), most = std::numeric_limits<int64_t>::max();

namespace {
/// Builds what a tile condition computes.
struct CodeLogic {
  using Number = Value;
  using Truth = Value;
  FunctionScope &f;

  Value truth(bool value) {
    return arith::ConstantOp::create(f.builder(), f.loc(), f.builder().getBoolAttr(value));
  }
  Value number(int64_t value) { return f.i64(value); }
  Value less(Value a, Value b) { return f.less(a, b); }
  Value negate(Value a) { return arith::XOrIOp::create(f.builder(), f.loc(), a, truth(true)); }
  Value both(Value a, Value b) { return arith::AndIOp::create(f.builder(), f.loc(), a, b); }
  Value either(Value a, Value b) { return arith::OrIOp::create(f.builder(), f.loc(), a, b); }
};
} // namespace

/// Lanes of an integer; truth values are 0 and 1 in bytes, of which a register holds many.
static Value lanesOf(FunctionScope &f, bool isTruth, int64_t lanes, int64_t number) {
  OpBuilder &b = f.builder();
  Type element = isTruth ? b.getI8Type() : b.getI64Type();
  auto numbers = DenseElementsAttr::get(f.vectorOf(lanes, element), Attribute(b.getIntegerAttr(element, number)));
  return arith::ConstantOp::create(b, f.loc(), numbers);
}

static bool isTruth(Value leaf) { return valueType(leaf).isCondition(); }

/// Extremes in lanes, of nothing.
TileExtremes<Value> FlashTask::noExtremes(Value leaf, int64_t lanes) {
  bool truth = isTruth(leaf);
  return {lanesOf(f, truth, lanes, truth ? 1 : most), lanesOf(f, truth, lanes, truth ? 0 : least)};
}

/// Extremes in lanes with one element more in each; an element that is absent may be anything, one that does not exist
/// is nothing.
TileExtremes<Value> FlashTask::extremesWith(TileExtremes<Value> lanes, Datum datum, Value exists) {
  OpBuilder &b = f.builder();
  Location loc = f.loc();
  Value value = datum.value;
  int64_t count = cast<VectorType>(value.getType()).getNumElements();
  bool truth = getElementTypeOrSelf(value.getType()).isInteger(1);
  int64_t low = truth ? 0 : least, high = truth ? 1 : most;
  if (truth)
    value = arith::ExtUIOp::create(b, loc, f.vectorOf(count, b.getI8Type()), value);
  auto chosen = [&](Value condition, Value x, int64_t otherwise) -> Value {
    return condition ? arith::SelectOp::create(b, loc, condition, x, lanesOf(f, truth, count, otherwise)).getResult() : x;
  };
  Value smallest = chosen(exists, chosen(datum.present, value, low), high);
  Value largest = chosen(exists, chosen(datum.present, value, high), low);
  if (truth)
    return {arith::AndIOp::create(b, loc, lanes.smallest, smallest), arith::OrIOp::create(b, loc, lanes.largest, largest)};
  return {arith::MinSIOp::create(b, loc, lanes.smallest, smallest), arith::MaxSIOp::create(b, loc, lanes.largest, largest)};
}

/// Both as i64.
TileExtremes<Value> FlashTask::reduced(TileExtremes<Value> lanes) {
  using Kind = vector::CombiningKind;
  OpBuilder &b = f.builder();
  bool truth = getElementTypeOrSelf(lanes.smallest.getType()).isInteger(8);
  auto joined = [&](Kind kind, Value vector) -> Value {
    Value result = vector::ReductionOp::create(b, f.loc(), kind, vector);
    return truth ? arith::ExtUIOp::create(b, f.loc(), b.getI64Type(), result).getResult() : result;
  };
  return {joined(truth ? Kind::AND : Kind::MINSI, lanes.smallest), joined(truth ? Kind::OR : Kind::MAXSI, lanes.largest)};
}

/// Keeps the extremes of what the mask knows of the rows of a block.
void FlashTask::storeLeaves(Value number) {
  for (auto [i, leaf] : llvm::enumerate(tiles.leaves)) {
    if (leaf.side != TileLeaf::Row)
      continue;
    TileExtremes<Value> lanes = noExtremes(leaf.value, shape.lanes);
    for (int64_t v = 0; v < shape.vectors; ++v)
      lanes = extremesWith(lanes, expressions.evaluateLanes(leaf.value, v), expressions.laneMask(v));
    TileExtremes<Value> extremes = reduced(lanes);
    storeIntegers(extremes.smallest, at(scratch.leaves, number), 2 * i);
    storeIntegers(extremes.largest, at(scratch.leaves, number), 2 * i + 1);
  }
}

/// Visits keys [from, end) of the only key axis along lanes: whole vectors, which need no mask, then the rest.
FunctionScope::Values FlashTask::overKeyLanes(Expressions &x, Value from, Value end, ValueRange init,
                                              llvm::function_ref<Values(ValueRange carried)> body) {
  Value lanes = f.i64(x.getLanes());
  Value rest = f.add(from, f.mul(f.div(f.sub(end, from), lanes), lanes));
  auto loop = [&](Value from, Value to, ValueRange init, bool isMasked) {
    return f.loop(from, to, lanes, init, [&](Value first, ValueRange carried) {
      x.enter(first.getParentBlock()->getParentOp());
      x.bindLanes(axes.keys.front(), {first}, {isMasked ? maskBelow(f, first, end, x.getLanes()) : Value()});
      x.markExisting(axes.keys.front());
      Values next = body(carried);
      x.leave();
      return next;
    });
  };
  return loop(rest, end, loop(from, rest, init, false), true);
}

/// The extremes of what the mask knows of the keys of a tile: two for each leaf of theirs.
FunctionScope::Values FlashTask::keyExtremes(Value firstKey, Value length) {
  SmallVector<Value> leaves;
  for (const TileLeaf &leaf : tiles.leaves)
    if (leaf.side == TileLeaf::Key)
      leaves.push_back(leaf.value);
  if (leaves.empty())
    return {};
  Values init;
  for (Value leaf : leaves) {
    TileExtremes<Value> none = noExtremes(leaf, shape.lanes);
    init.append({none.smallest, none.largest});
  }
  Value end = f.add(firstKey, length);
  auto add = [&](ValueRange carried) {
    Values next;
    for (auto [i, leaf] : llvm::enumerate(leaves)) {
      TileExtremes<Value> lanes = extremesWith({carried[2 * i], carried[2 * i + 1]}, expressions.evaluateLanes(leaf),
                                               axes.keys.size() == 1 ? expressions.laneMask() : Value());
      next.append({lanes.smallest, lanes.largest});
    }
    return next;
  };
  Values found;
  if (axes.keys.size() == 1)
    found = overKeyLanes(expressions, firstKey, end, init, add);
  else
    found = f.loop(firstKey, end, f.i64(1), init, [&](Value key, ValueRange carried) {
      expressions.enter(key.getParentBlock()->getParentOp());
      bindKey(key);
      Values next = add(carried);
      expressions.leave();
      return next;
    });
  Values ends;
  for (size_t i = 0; i < leaves.size(); ++i) {
    TileExtremes<Value> extremes = reduced({found[2 * i], found[2 * i + 1]});
    ends.append({extremes.smallest, extremes.largest});
  }
  return ends;
}

/// Asks for the row that the point lies in, from a key on: rows of a table lie so far apart that no machine foresees them.
void FlashTask::askAhead(Expressions &x, ReadOp read, Value key) {
  x.enter(nullptr);
  x.bind(axes.keys.front(), key);
  x.markExisting(axes.keys.front());
  Value address = x.locate(read).value;
  x.leave();
  OpBuilder &b = f.builder();
  Value pointer = LLVM::IntToPtrOp::create(b, f.loc(), LLVM::LLVMPointerType::get(b.getContext()), address);
  LLVM::Prefetch::create(b, f.loc(), pointer, /*rw=*/0, /*hint=*/2, /*cache=*/1);
}

/// The extremes of what is stored per pair, over the queries of a block and the keys of a tile that it sees, read along
/// the keys: of truth values, which are bytes, as many at once as fill a register.
TileExtremes<Value> FlashTask::pairExtremes(Value leaf, Value block, Value firstKey, const KeyRange &keys,
                                            Operation *loop) {
  Value queries = f.i64(1), firstQuery;
  if (axes.lane) {
    expressions.enter(loop);
    firstQuery = firstQueryOf(block);
    queries = f.min(f.i64(shape.queries), f.sub(expressions.extentAt(axes.lane), firstQuery));
    expressions.leave();
  }
  Expressions x(f, isTruth(leaf) ? 4 * shape.lanes : shape.lanes);
  TileExtremes<Value> none = noExtremes(leaf, x.getLanes());
  Value from = f.add(firstKey, keys.low), end = f.add(firstKey, keys.high);
  Values found = f.loop(f.i64(0), queries, f.i64(1), {none.smallest, none.largest}, [&](Value query, ValueRange outer) {
    x.enter(query.getParentBlock()->getParentOp());
    for (StringAttr axis : axes.batch) {
      x.bind(axis, expressions.indexAlong(axis));
      x.markExisting(axis);
    }
    bindRow(x, block);
    if (axes.lane) {
      x.bind(axes.lane, f.add(firstQuery, query));
      x.markExisting(axes.lane);
    }
    askAhead(x, leaf.getDefiningOp<ReadOp>(), f.add(firstKey, f.i64(2 * shape.keyTile)));
    Values next = overKeyLanes(x, from, end, outer, [&](ValueRange carried) -> Values {
      TileExtremes<Value> lanes = extremesWith({carried[0], carried[1]}, x.evaluateLanes(leaf), x.laneMask());
      return {lanes.smallest, lanes.largest};
    });
    x.leave();
    return next;
  });
  return reduced({found[0], found[1]});
}

/// Answers for a key tile and every block of the query tile; gives whether any block sees anything.
Value FlashTask::answerTile(Value firstBlock, Value count, Value firstKey, Value length) {
  CodeLogic logic{f};
  Values ofKeys = keyExtremes(firstKey, length);
  Values any = f.loop(f.i64(0), count, f.i64(1), {logic.truth(false)}, [&](Value number, ValueRange carried) -> Values {
    Operation *loop = number.getParentBlock()->getParentOp();
    KeyRange keys = keysSeenBy(number, firstKey, length);
    auto ask = [&]() -> Values {
      SmallVector<TileExtremes<Value>> extremes;
      size_t ofKey = 0;
      for (auto [i, leaf] : llvm::enumerate(tiles.leaves)) {
        if (leaf.side == TileLeaf::Pair) {
          extremes.push_back(pairExtremes(leaf.value, f.add(firstBlock, number), firstKey, keys, loop));
        } else if (leaf.side == TileLeaf::Key) {
          extremes.push_back({ofKeys[ofKey], ofKeys[ofKey + 1]});
          ofKey += 2;
        } else {
          Value at = this->at(scratch.leaves, number);
          extremes.push_back({loadIntegers(at, 2 * i, false), loadIntegers(at, 2 * i + 1, false)});
        }
      }
      auto answer = answerFor(tiles.condition, ArrayRef(extremes), logic);
      OpBuilder &b = f.builder();
      Value some = arith::SelectOp::create(b, f.loc(), answer.must, f.i64(2), f.i64(1));
      return {arith::SelectOp::create(b, f.loc(), answer.may, some, f.i64(0))};
    };
    Values answer = f.choose(f.less(keys.low, keys.high), {f.builder().getI64Type()}, ask, [&] { return Values{f.i64(0)}; });
    storeIntegers(answer[0], at(scratch.answer, number), 0);
    return {logic.either(carried[0], f.less(f.i64(0), answer[0]))};
  });
  return any[0];
}
