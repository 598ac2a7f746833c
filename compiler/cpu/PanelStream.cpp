//===- PanelStream.cpp - products that read operands in place ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "compiler/cpu/PanelStream.h"

using namespace mlir;
using namespace attn;

using Values = FunctionScope::Values;

namespace {
struct SlotStream {
  Expressions &x;
  Value value;
  const DepthRange &depth;
  StringAttr lane;
  Value firstColumn;
  llvm::function_ref<Value(size_t, Value)> scalar;
  bool &mayBeAbsent;
  FunctionScope &f = x.scope();
  int64_t lanes = x.getLanes();

  /// The points of the depth axes from `level` on, of which the first one is number `point`.
  Values emit(size_t level, Value point, ValueRange sums) {
    StringAttr axis = depth.axes[level];
    Value from = level == 0 ? depth.from : f.i64(0), to = level == 0 ? depth.to : f.extent(axis);
    if (level + 1 == depth.axes.size())
      return run(axis, from, to, point, sums);
    return f.loop(from, to, f.i64(1), sums, [&](Value k, ValueRange carried) {
      Values next;
      inScope(x, [&] {
        x.bind(axis, k);
        next = emit(level + 1, f.add(point, f.mul(f.sub(k, from), depth.step(f, level))), carried);
      });
      return next;
    });
  }

  /// Whole blocks, as many columns as points, then single points.
  Values run(StringAttr axis, Value from, Value to, Value point, ValueRange sums) {
    Value whole = f.add(from, f.mul(f.div(f.sub(to, from), f.i64(lanes)), f.i64(lanes)));
    auto number = [&](Value k) { return f.add(point, f.sub(k, from)); };
    Values blocks = f.loop(from, whole, f.i64(lanes), sums, [&](Value k, ValueRange carried) {
      Values vectors, next(carried);
      inScope(x, [&] { vectors = block(axis, k); });
      for (auto [j, vector] : llvm::enumerate(vectors))
        next = multiply(vector, f.add(number(k), f.i64(j)), next);
      return next;
    });
    return f.loop(whole, to, f.i64(1), blocks, [&](Value k, ValueRange carried) {
      Values next;
      inScope(x, [&] {
        x.bind(axis, k);
        x.bindLanes(lane, {firstColumn}, {Value()});
        next = multiply(orZero(x, x.evaluate(value), mayBeAbsent), number(k), carried);
      });
      return next;
    });
  }

  Values block(StringAttr axis, Value k) {
    x.bindLanes(axis, {k}, {Value()});
    Values vectors;
    for (int64_t j = 0; j < lanes; ++j) {
      x.enter(nullptr);
      x.bind(lane, f.add(firstColumn, f.i64(j)));
      vectors.push_back(orZero(x, x.evaluate(value), mayBeAbsent));
      x.leave();
    }
    transposeVectors(f, vectors);
    return vectors;
  }

  Values multiply(Value vector, Value point, ValueRange sums) {
    Values next;
    for (auto [row, sum] : llvm::enumerate(sums)) {
      Value left = f.splat(scalar(row, point), lanes);
      next.push_back(math::FmaOp::create(f.builder(), f.loc(), left, vector, sum));
    }
    return next;
  }
};
} // namespace

Values attn::streamSlot(Expressions &x, Value value, const DepthRange &depth, StringAttr lane, Value firstColumn,
                        ValueRange sums, llvm::function_ref<Value(size_t, Value)> scalar, bool &mayBeAbsent) {
  FunctionScope &f = x.scope();
  return SlotStream{x, value, depth, lane, firstColumn, scalar, mayBeAbsent}.emit(0, f.i64(0), sums);
}
