//===- ProductStage.cpp - matrix products, exact ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A block computes a tile of rows by columns: slices of both sides along the depth go through shared memory, and each
// thread holds 4 x 4 sums. Every element is one chain of fused multiply-adds in the order of the depth, whatever the tile.
// What follows the product is computed from the sums.
//===----------------------------------------------------------------------===//
#include "compiler/Remarks.h"
#include "compiler/cpu/Contraction.h"
#include "compiler/cpu/StageLowering.h"
#include "compiler/cuda/DeviceStage.h"

using namespace mlir;
using namespace attn;

/// Rows and columns of a tile, depth of a slice, and threads of a block in each direction.
static constexpr int64_t tile = 64, slice = 16, side = 16, perThread = tile / side;
/// f32 from one k to the next in shared memory: 16 bytes more than a tile, so that stores along k spread over the banks.
static constexpr int64_t pitch = tile + 4;

namespace {
class ProductStage : public DeviceStage {
public:
  using DeviceStage::DeviceStage;

  LogicalResult prepare(const FrameLayout &layout) override;
  unsigned kernelCount() const override { return points ? points->kernelCount() : 1; }
  KernelShape shape(unsigned kernel) const override {
    constexpr int64_t threads = side * side;
    return points ? points->shape(kernel) : KernelShape{threads, threads, 2 * slice * pitch * int64_t(sizeof(float))};
  }
  Value emitTaskCount(FunctionScope &f, unsigned kernel) override;
  LogicalResult emitTask(FunctionScope &f, unsigned kernel, Value task) override;

private:
  Contraction product;
  AxisList columns; ///< outer columns, then the lane axis
  /// Lowers what is no such product.
  std::unique_ptr<DeviceStage> points;
};

/// One side of the product: its own axes along the tile, and the depth.
struct Side {
  Value value;
  const AxisList &own;
  Value first;     ///< of the tile, among the points of its own axes
  Value count;     ///< of those points
  Value address;   ///< !llvm.ptr<3>: [slice][pitch]
  bool depthFirst; ///< neighbouring threads copy along the depth
};

/// The code of one tile.
class ProductTile {
public:
  using Values = FunctionScope::Values;

  ProductTile(FunctionScope &f, StageOp stage, const Contraction &product, const AxisList &columns)
      : f(f), b(f.builder()), x(f, /*lanes=*/1), stage(stage), product(product), columns(columns),
        thread(arith::ExtUIOp::create(b, f.loc(), b.getI64Type(), threadIndex(f))) {}

  LogicalResult emit(Value task);

private:
  void bindPoint(const AxisList &axes, Value number);
  void copy(const Side &side, Value firstDepth, Value depth);
  Value read(const Side &side, Value own, Value k, Value depth);
  Values multiply(const Side &left, const Side &right, ValueRange sums);
  void finish(const Side &left, const Side &right, ValueRange sums);
  Value at(Value base, Value offset);
  Value load(Value base, Value offset) {
    return LLVM::LoadOp::create(b, f.loc(), b.getF32Type(), at(base, offset), sizeof(float));
  }

  FunctionScope &f;
  OpBuilder &b;
  Expressions x;
  StageOp stage;
  const Contraction &product;
  const AxisList &columns;
  Value thread; ///< of the block, i64
};
} // namespace

//===----------------------------------------------------------------------===//
// The stage
//===----------------------------------------------------------------------===//

/// Whether a value is there at every point, without a look at data.
static bool isAlwaysPresent(Value value, const FrameLayout &layout) {
  Operation *op = value.getDefiningOp();
  if (isa<IndexOp, ExtentOp, ConstantOp>(op))
    return true;
  auto read = dyn_cast<ReadOp>(op);
  if (!read)
    return isa<MapOp>(op) &&
           llvm::all_of(op->getOperands(), [&](Value input) { return isAlwaysPresent(input, layout); });
  for (auto [index, factor] : llvm::zip(read.getIndices(), cast<RefType>(read.getRef().getType()).getFactors())) {
    auto own = index.getDefiningOp<IndexOp>();
    if (!own || !covers(layout.getSignature(), factor, own.getAxisAttr()))
      return false;
  }
  return true;
}

/// Null with a reason when the stage is no product that tiles compute.
static std::optional<Contraction> findProduct(StageOp stage, const FrameLayout &layout, std::string &why) {
  std::optional<Contraction> found = Contraction::find(stage, layout, why);
  if (!found)
    return std::nullopt;
  AxisList all(valueType(found->left).getAxes());
  llvm::append_range(all, valueType(found->right).getAxes());
  if (!found->rowOps.empty())
    why = "what follows it needs whole rows";
  else if (llvm::any_of(all, [&](StringAttr axis) { return layout.isRagged(axis); }))
    why = "it has a ragged axis";
  else if (!isAlwaysPresent(found->left, layout) || !isAlwaysPresent(found->right, layout))
    why = "some of its elements may be absent";
  else
    return found;
  return std::nullopt;
}

LogicalResult ProductStage::prepare(const FrameLayout &layout) {
  std::string why;
  std::optional<Contraction> found = findProduct(stage, layout, why);
  if (found) {
    product = *found;
    columns = found->outerColumns;
    columns.push_back(found->lane);
    return success();
  }
  remarkMissed(stage.getLoc(), "this contraction is computed point by point", why);
  points = makePointStage(stage);
  return points->prepare(layout);
}

static Value tilesOf(FunctionScope &f, const AxisList &axes) { return f.ceilDiv(f.extent(axes), f.i64(tile)); }

Value ProductStage::emitTaskCount(FunctionScope &f, unsigned kernel) {
  if (points)
    return points->emitTaskCount(f, kernel);
  return f.mul(f.extent(product.batch), f.mul(tilesOf(f, product.rows), tilesOf(f, columns)));
}

LogicalResult ProductStage::emitTask(FunctionScope &f, unsigned kernel, Value task) {
  return points ? points->emitTask(f, kernel, task) : ProductTile(f, stage, product, columns).emit(task);
}

std::unique_ptr<DeviceStage> attn::makeProductStage(StageOp stage) { return std::make_unique<ProductStage>(stage); }

//===----------------------------------------------------------------------===//
// A tile
//===----------------------------------------------------------------------===//

Value ProductTile::at(Value base, Value offset) {
  return LLVM::GEPOp::create(b, f.loc(), base.getType(), b.getF32Type(), base, ArrayRef<LLVM::GEPArg>{offset});
}

void ProductTile::bindPoint(const AxisList &axes, Value number) {
  Values counts;
  for (StringAttr axis : axes)
    counts.push_back(f.extent(axis));
  for (auto [axis, index] : llvm::zip(axes, splitTask(f, number, counts)))
    x.bind(axis, index);
}

LogicalResult ProductTile::emit(Value task) {
  Value rowTiles = tilesOf(f, product.rows), columnTiles = tilesOf(f, columns);
  // Neighbouring blocks share rows.
  Values places = splitTask(f, task, {f.extent(product.batch), rowTiles, columnTiles});
  x.enter(nullptr);
  bindPoint(product.batch, places[0]);
  auto isDepth = [&](Value value) {
    ReadOp read = readAlong(value, product.depth);
    return read && llvm::is_contained(product.depth, innermostAxis(read));
  };
  Value base = sharedMemory(f);
  Side left{product.left, product.rows, f.mul(places[1], f.i64(tile)), f.extent(product.rows), base,
            isDepth(product.left)};
  Side right{product.right, columns, f.mul(places[2], f.i64(tile)), f.extent(columns),
             at(base, f.i64(slice * pitch)), isDepth(product.right)};
  Value depth = f.extent(product.depth);
  Values zero(perThread * perThread, f.constant(b.getF32Type(), 0.0));
  Values sums = f.loop(f.i64(0), depth, f.i64(slice), zero, [&](Value firstDepth, ValueRange sums) {
    x.enter(firstDepth.getParentBlock()->getParentOp());
    copy(left, firstDepth, depth);
    copy(right, firstDepth, depth);
    x.leave();
    blockBarrier(f);
    Values next = multiply(left, right, sums);
    blockBarrier(f);
    return next;
  });
  finish(left, right, sums);
  x.leave();
  return failure(x.failed());
}

/// The element as f32; 0 behind the end of the depth. Behind the end of its own axes it is any.
Value ProductTile::read(const Side &side, Value own, Value k, Value depth) {
  auto within = [&](Value index, Value count) { return f.min(index, f.sub(count, f.i64(1))); };
  x.enter(nullptr);
  bindPoint(side.own, within(own, side.count));
  bindPoint(product.depth, within(k, depth));
  Value element = x.evaluate(side.value).value;
  x.leave();
  return arith::SelectOp::create(b, f.loc(), f.less(k, depth), element, f.constant(b.getF32Type(), 0.0));
}

void ProductTile::copy(const Side &side, Value firstDepth, Value depth) {
  for (int64_t i = 0; i < tile * slice / (::side * ::side); ++i) {
    Value number = f.add(thread, f.i64(i * ::side * ::side));
    int64_t fast = side.depthFirst ? slice : tile;
    Value inner = f.rem(number, f.i64(fast)), outer = f.div(number, f.i64(fast));
    Value k = side.depthFirst ? inner : outer, own = side.depthFirst ? outer : inner;
    Value element = read(side, f.add(side.first, own), f.add(firstDepth, k), depth);
    LLVM::StoreOp::create(b, f.loc(), element, at(side.address, f.add(f.mul(k, f.i64(pitch)), own)), sizeof(float));
  }
}

/// A thread has neighbouring rows, and columns `side` apart: its neighbours write neighbouring elements.
FunctionScope::Values ProductTile::multiply(const Side &left, const Side &right, ValueRange sums) {
  Value row = f.mul(f.div(thread, f.i64(side)), f.i64(perThread)), column = f.rem(thread, f.i64(side));
  return f.loop(f.i64(0), f.i64(slice), f.i64(1), sums, [&](Value k, ValueRange carried) {
    Value line = f.mul(k, f.i64(pitch));
    Values rows, columns, next;
    for (int64_t i = 0; i < perThread; ++i) {
      rows.push_back(load(left.address, f.add(line, f.add(row, f.i64(i)))));
      columns.push_back(load(right.address, f.add(line, f.add(column, f.i64(i * side)))));
    }
    for (int64_t i = 0; i < perThread * perThread; ++i)
      next.push_back(math::FmaOp::create(b, f.loc(), rows[i / perThread], columns[i % perThread], carried[i]));
    return next;
  });
}

void ProductTile::finish(const Side &left, const Side &right, ValueRange sums) {
  Value row = f.mul(f.div(thread, f.i64(side)), f.i64(perThread)), column = f.rem(thread, f.i64(side));
  for (int64_t i = 0; i < perThread * perThread; ++i) {
    Value m = f.add(left.first, f.add(row, f.i64(i / perThread)));
    Value n = f.add(right.first, f.add(column, f.i64(i % perThread * side)));
    f.when(x.both(f.less(m, left.count), f.less(n, right.count)), [&] {
      x.enter(b.getInsertionBlock()->getParentOp());
      bindPoint(left.own, m);
      bindPoint(right.own, n);
      x.set(ContractOp(product.op).getResult(), 0, {sums[i], {}});
      for (WriteOp write : stage.getBody().getOps<WriteOp>())
        x.write(write);
      x.leave();
    });
  }
}
