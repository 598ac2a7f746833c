//===- Packing.cpp - operands as the micro-kernel reads them ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "compiler/cpu/Packing.h"
#include "compiler/cpu/Contraction.h"
#include "compiler/cpu/StageLowering.h"

using namespace mlir;
using namespace attn;

using Values = FunctionScope::Values;

Value DepthRange::step(FunctionScope &f, size_t i) const {
  return f.extent(ArrayRef<StringAttr>(axes).drop_front(i + 1));
}

Value DepthRange::inner(FunctionScope &f) const { return step(f, 0); }

void attn::inScope(Expressions &x, llvm::function_ref<void()> body) {
  x.enter(x.scope().builder().getInsertionBlock()->getParentOp());
  body();
  x.leave();
}

Value attn::maskBelow(FunctionScope &f, Value first, Value extent, int64_t lanes) {
  Value left = f.splat(f.sub(extent, first), lanes);
  return arith::CmpIOp::create(f.builder(), f.loc(), arith::CmpIPredicate::slt, f.iota(lanes), left);
}

Value PanelColumns::slotsPerRow(Expressions &x) const {
  FunctionScope &f = x.scope();
  return f.ceilDiv(f.extent(lane), f.i64(x.getLanes()));
}

Value PanelColumns::slotCount(Expressions &x) const {
  return x.scope().mul(slotsPerRow(x), x.scope().extent(outer));
}

ColumnSlot PanelColumns::slot(Expressions &x, Value v) const {
  FunctionScope &f = x.scope();
  Value number = f.min(f.add(firstSlot, v), f.sub(slotCount(x), f.i64(1)));
  Values counts;
  for (StringAttr axis : outer)
    counts.push_back(f.extent(axis));
  counts.push_back(slotsPerRow(x));
  Values indices = splitTask(f, number, counts);
  Value first = f.mul(indices.pop_back_val(), f.i64(x.getLanes()));
  return {indices, first};
}

void PanelColumns::bind(Expressions &x, const ColumnSlot &slot) const {
  FunctionScope &f = x.scope();
  for (auto [axis, index] : llvm::zip(outer, slot.outer))
    x.bind(axis, index);
  x.bindLanes(lane, {slot.first}, {clamp ? maskBelow(f, slot.first, f.extent(lane), x.getLanes()) : Value()});
}

/// Loops over all depth axes but those in `inner`; gives the number of the point at index 0 of the latter.
static void overDepth(Expressions &x, const DepthRange &depth, StringAttr inner,
                      llvm::function_ref<void(Value point)> body) {
  FunctionScope &f = x.scope();
  std::function<void(size_t, Value)> level = [&](size_t i, Value point) {
    if (i == depth.axes.size())
      return body(point);
    if (depth.axes[i] == inner)
      return level(i + 1, point);
    Value from = i == 0 ? depth.from : f.i64(0), to = i == 0 ? depth.to : f.extent(depth.axes[i]);
    f.loop(from, to, f.i64(1), [&](Value k) {
      inScope(x, [&] {
        x.bind(depth.axes[i], k);
        level(i + 1, f.add(point, f.mul(f.sub(k, from), depth.step(f, i))));
      });
    });
  };
  level(0, f.i64(0));
}

Value attn::orZero(Expressions &x, Datum datum, bool &mayBeAbsent) {
  FunctionScope &f = x.scope();
  Value value = x.asLanes(datum.value);
  if (!datum.present)
    return value;
  mayBeAbsent = true;
  return arith::SelectOp::create(f.builder(), f.loc(), x.asLanes(datum.present), value,
                                 f.constant(value.getType(), 0.0));
}

Values attn::openStridesAlong(FunctionScope &f, Value value, StringAttr axis) {
  Values strides;
  SmallVector<Value> open{value};
  while (!open.empty()) {
    Operation *op = open.pop_back_val().getDefiningOp();
    auto read = dyn_cast_or_null<ReadOp>(op);
    for (auto [i, index] : llvm::enumerate(read ? read.getIndices() : ValueRange())) {
      auto own = index.getDefiningOp<IndexOp>();
      Value stride = own && own.getAxisAttr() == axis ? f.access(read.getRef()).strides[i] : Value();
      if (stride && FunctionScope::constantOf(stride) != 1 && !llvm::is_contained(strides, stride))
        strides.push_back(stride);
    }
    if (op && !read)
      llvm::append_range(open, llvm::make_filter_range(op->getOperands(), [](Value operand) {
        return isa<ValueType>(operand.getType());
      }));
  }
  return strides;
}

Value attn::areUnit(Expressions &x, ValueRange strides) {
  FunctionScope &f = x.scope();
  Value all;
  for (Value stride : strides)
    all = x.both(all, f.isOne(stride));
  return all;
}

//===----------------------------------------------------------------------===//
// Panels
//===----------------------------------------------------------------------===//

/// log2(lanes) rounds, each of which swaps the off-diagonal blocks of twice the size.
void attn::transposeVectors(FunctionScope &f, MutableArrayRef<Value> vectors) {
  int64_t n = vectors.size();
  for (int64_t s = 1; s < n; s *= 2) {
    SmallVector<int64_t> low, high;
    for (int64_t j = 0; j < n; ++j) {
      low.push_back(j & s ? n + j - s : j);
      high.push_back(j & s ? n + j : j + s);
    }
    for (int64_t i = 0; i < n; ++i) {
      if (i & s)
        continue;
      Value a = vectors[i], b = vectors[i + s];
      vectors[i] = vector::ShuffleOp::create(f.builder(), f.loc(), a, b, low);
      vectors[i + s] = vector::ShuffleOp::create(f.builder(), f.loc(), a, b, high);
    }
  }
}

namespace {
/// Packs one panel.
struct PanelPacker {
  Expressions &x;
  Value value;
  const DepthRange &depth;
  const PanelColumns &columns;
  Value panel;
  FunctionScope &f = x.scope();
  int64_t lanes = x.getLanes();
  bool mayBeAbsent = false;

  void store(Value vector, Value point, Value column) {
    Value offset = f.add(f.mul(point, f.i64(columns.width(x))), column);
    f.store(vector, panel, offset);
  }

  /// Vectors are read along the columns.
  void straight() {
    SmallVector<ColumnSlot> slots;
    for (int64_t v = 0; v < columns.vectors; ++v)
      slots.push_back(columns.slot(x, f.i64(v)));
    overDepth(x, depth, {}, [&](Value point) {
      for (int64_t v = 0; v < columns.vectors; ++v) {
        x.enter(nullptr);
        columns.bind(x, slots[v]);
        store(orZero(x, x.evaluate(value), mayBeAbsent), point, f.i64(v * lanes));
        x.leave();
      }
    });
  }

  /// Vectors are read along `axis`, which has at least as many points as lanes, and turned in registers. The last
  /// vector reaches back so as to end with the range, into the room in front of the panel if need be.
  void turned(StringAttr axis) {
    size_t position = llvm::find(depth.axes, axis) - depth.axes.begin();
    Value from = position == 0 ? depth.from : f.i64(0), to = position == 0 ? depth.to : f.extent(axis);
    Value step = depth.step(f, position);
    f.loop(f.i64(0), f.i64(columns.vectors), f.i64(1), [&](Value v) {
      Value column = f.mul(v, f.i64(lanes));
      ColumnSlot slot = columns.slot(x, v);
      inScope(x, [&] {
        for (auto [axis, index] : llvm::zip(columns.outer, slot.outer))
          x.bind(axis, index);
        overDepth(x, depth, axis, [&](Value point) {
          f.loop(from, to, f.i64(lanes), [&](Value k) {
            Value first = f.min(k, f.sub(to, f.i64(lanes)));
            Value start = f.add(point, f.mul(f.sub(first, from), step));
            inScope(x, [&] { block(axis, first, slot.first, column, start, step); });
          });
        });
      });
    });
  }

  void block(StringAttr axis, Value first, Value firstColumn, Value column, Value point, Value step) {
    x.bindLanes(axis, {first}, {Value()});
    Values vectors;
    for (int64_t j = 0; j < lanes; ++j) {
      Value index = f.add(firstColumn, f.i64(j));
      if (columns.clamp)
        index = f.min(index, f.sub(f.extent(columns.lane), f.i64(1)));
      x.enter(nullptr);
      x.bind(columns.lane, index);
      vectors.push_back(orZero(x, x.evaluate(value), mayBeAbsent));
      x.leave();
    }
    transposeVectors(f, vectors);
    for (int64_t j = 0; j < lanes; ++j)
      store(vectors[j], f.add(point, f.mul(f.i64(j), step)), column);
  }

  void pack() {
    AxisList axes(depth.axes);
    axes.push_back(columns.lane);
    StringAttr axis = innermostAxis(readAlong(value, axes));
    // The room in front of the panel is for single points, not for runs of inner axes.
    bool reachesBack = axis == depth.axes.front() && depth.axes.size() > 1;
    if (!axis || !llvm::is_contained(depth.axes, axis) || reachesBack)
      return straight();
    std::optional<int64_t> known = f.constantExtent(axis);
    if (known && *known < lanes)
      return straight();
    Values steps = openStridesAlong(f, value, axis);
    auto turn = [&] { x.withUnitStrides(steps, [&] { turned(axis); }); };
    Value fits = x.both(known ? Value() : f.less(f.i64(lanes - 1), f.extent(axis)), areUnit(x, steps));
    if (!fits)
      return turn();
    f.when(fits, [&] { inScope(x, turn); }, [&] { inScope(x, [&] { straight(); }); });
  }
};
} // namespace

bool attn::packPanel(Expressions &x, Value value, const DepthRange &depth, const PanelColumns &columns, Value panel) {
  PanelPacker packer{x, value, depth, columns, panel};
  packer.pack();
  return packer.mayBeAbsent;
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

bool attn::packRow(Expressions &x, Value value, const DepthRange &depth, Value row) {
  FunctionScope &f = x.scope();
  int64_t lanes = x.getLanes();
  StringAttr axis = depth.axes.back();
  bool mayBeAbsent = false, isOnly = depth.axes.size() == 1;
  Value from = isOnly ? depth.from : f.i64(0), to = isOnly ? depth.to : f.extent(axis);
  Value whole = f.add(from, f.mul(f.div(f.sub(to, from), f.i64(lanes)), f.i64(lanes)));
  overDepth(x, depth, axis, [&](Value point) {
    auto vector = [&](Value k, Value mask) {
      inScope(x, [&] {
        x.bindLanes(axis, {k}, {mask});
        f.store(orZero(x, x.evaluate(value), mayBeAbsent), row, f.add(point, f.sub(k, from)));
      });
    };
    f.loop(from, whole, f.i64(lanes), [&](Value k) { vector(k, {}); });
    // What is stored behind the last point, the next run of points overwrites.
    f.when(f.less(whole, to), [&] { vector(whole, maskBelow(f, whole, to, lanes)); });
  });
  return mayBeAbsent;
}
