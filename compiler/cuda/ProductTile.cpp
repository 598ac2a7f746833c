//===- ProductTile.cpp - a CTA's part of a matrix product -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "compiler/cuda/ProductTile.h"
#include "compiler/cpu/Packing.h"
#include "compiler/cpu/Ragged.h"
#include "compiler/cpu/StageLowering.h"
#include "compiler/cuda/ProductEpilogue.h"

using namespace mlir;
using namespace attn;

//===----------------------------------------------------------------------===//
// Plan
//===----------------------------------------------------------------------===//

static bool isIndexOf(Value index, StringAttr axis) {
  auto own = index.getDefiningOp<IndexOp>();
  return own && own.getAxisAttr() == axis;
}

/// Whether a value is there at every point that exists, without a look at data.
static bool isAlwaysPresent(Value value, const FrameLayout &layout) {
  Operation *op = value.getDefiningOp();
  if (isa<IndexOp, ExtentOp, ConstantOp>(op))
    return true;
  auto read = dyn_cast<ReadOp>(op);
  if (!read)
    return isa<MapOp>(op) &&
           llvm::all_of(op->getOperands(), [&](Value input) { return isAlwaysPresent(input, layout); });
  SmallVector<ExtentAttr> factors = cast<RefType>(read.getRef().getType()).getFactors();
  // The run of a ragged axis is that of the point where what it depends on has its own index.
  auto isAtOwnPlace = [&](StringAttr axis) {
    return !layout.isRagged(axis) || llvm::all_of(layout.dependsOn(axis), [&](StringAttr on) {
      return llvm::all_of(llvm::zip(factors, read.getIndices()), [&](auto pair) {
        auto [factor, index] = pair;
        return factor.getName() != on || isIndexOf(index, on);
      });
    });
  };
  for (auto [index, factor] : llvm::zip(read.getIndices(), factors)) {
    auto own = index.getDefiningOp<IndexOp>();
    if (!own || !covers(layout.getSignature(), factor, own.getAxisAttr()) || !isAtOwnPlace(own.getAxisAttr()))
      return false;
  }
  return true;
}

/// Whether rows are those of one ragged axis that is packed in an argument, which then says how many there are in all.
static bool isOneRaggedAxis(const AxisList &rows, const FrameLayout &layout) {
  auto isRagged = [&](StringAttr axis) { return layout.isRagged(axis); };
  auto found = llvm::find_if(rows, isRagged);
  if (rows.size() != 2 || found == rows.end())
    return false;
  ArrayRef<StringAttr> on = layout.dependsOn(*found);
  return on.size() == 1 && on.front() == rows[found == rows.begin()] && !isRagged(on.front()) &&
         isPacked(layout.getSignature(), *found);
}

/// Rows of runs that are packed fill tiles together: a run may be a single row. Elsewhere rows that the extents of other
/// rows depend on number entries instead.
static void splitRows(ProductPlan &plan, const FrameLayout &layout) {
  plan.entries = plan.product.batch;
  plan.columns = plan.product.outerColumns;
  plan.columns.push_back(plan.product.lane);
  plan.isRagged = isOneRaggedAxis(plan.product.rows, layout);
  if (plan.isRagged) {
    plan.rows = plan.product.rows;
    if (layout.isRagged(plan.rows.front()))
      std::swap(plan.rows.front(), plan.rows.back());
    return;
  }
  for (StringAttr axis : plan.product.rows) {
    bool isOuter = llvm::any_of(plan.product.rows, [&](StringAttr other) {
      return layout.isRagged(other) && llvm::is_contained(layout.dependsOn(other), axis);
    });
    (isOuter ? plan.entries : plan.rows).push_back(axis);
  }
}

Value ProductPlan::rowCount(FunctionScope &f) const { return isRagged ? packedExtent(f, rows.back()) : f.extent(rows); }

std::optional<ProductPlan> ProductPlan::find(StageOp stage, const FrameLayout &layout, std::string &why) {
  std::optional<Contraction> found = Contraction::find(stage, layout, why);
  if (!found)
    return std::nullopt;
  ProductPlan plan;
  plan.product = *found;
  splitRows(plan, layout);
  auto isRagged = [&](StringAttr axis) { return layout.isRagged(axis); };
  std::optional<int64_t> width = constantExtent(layout.getSignature(), found->lane);
  if (llvm::any_of(plan.columns, isRagged))
    why = "its columns are ragged";
  else if (llvm::any_of(found->depth, isRagged))
    why = "what it sums over is ragged";
  else if (!isAlwaysPresent(found->left, layout) || !isAlwaysPresent(found->right, layout))
    why = "some of its elements may be absent";
  else if (!found->rowOps.empty() && !width)
    why = ("what follows it needs whole rows along " + found->lane.getValue() + ", whose extent is not known when compiling").str();
  else if (!found->rowOps.empty() && (*width < 1 || *width > mostWidth))
    why = ("what follows it needs whole rows, which are not from 1 to " + Twine(mostWidth) + " elements long").str();
  else {
    plan.width = found->rowOps.empty() ? 0 : *width;
    return plan;
  }
  return std::nullopt;
}

ProductShared::ProductShared(const ProductPlan &plan, const SumTile &sums, int64_t workBytes) {
  rowTable = llvm::alignTo(std::max(workBytes, sums.bytes()), 128);
  columnTable = rowTable + TilePoints::tableBytes(plan.rows.size(), sums.rows);
  statistics = columnTable + TilePoints::tableBytes(plan.columns.size(), sums.columns);
  size = statistics + ProductEpilogue::statisticBytes(plan, sums);
}

//===----------------------------------------------------------------------===//
// A tile
//===----------------------------------------------------------------------===//

ProductTile::ProductTile(FunctionScope &f, StageOp stage, const ProductPlan &plan, SumTile sums, int64_t threads,
                         int64_t workBytes)
    : t(f), f(f), x(f, /*lanes=*/1), stage(stage), plan(plan), sums(sums), threads(threads),
      shared(plan, sums, workBytes) {}

static Value rowTiles(FunctionScope &f, const ProductPlan &plan, const SumTile &sums) {
  return f.ceilDiv(plan.rowCount(f), f.i64(sums.rows));
}

static Value columnTiles(FunctionScope &f, const ProductPlan &plan, const SumTile &sums) {
  return f.ceilDiv(f.extent(plan.columns), f.i64(sums.usedColumns(plan)));
}

Value ProductTile::count(FunctionScope &f, const ProductPlan &plan, const SumTile &sums) {
  return f.mul(f.extent(plan.entries), f.mul(rowTiles(f, plan, sums), columnTiles(f, plan, sums)));
}

Value ProductTile::sumAt(Value row, Value column) {
  Value offset = t.add(t.mul(row, sums.pitch()), column);
  return t.add(t.add(base, t.mul(offset, sizeof(float))), shared.sums);
}

LogicalResult ProductTile::emit(Value task) {
  // Neighbouring CTAs share rows.
  Values places = splitTask(f, task, {f.extent(plan.entries), rowTiles(f, plan, sums), columnTiles(f, plan, sums)});
  Values counts, rowCounts;
  for (StringAttr axis : plan.entries)
    counts.push_back(f.extent(axis));
  Values indices = splitTask(f, places[0], counts);
  auto bindEntry = [&](Operation *region, bool exists) {
    x.enter(region);
    for (auto [axis, index] : llvm::zip(plan.entries, indices)) {
      x.bind(axis, index);
      if (exists)
        x.markExisting(axis);
    }
  };
  Value firstRow = f.mul(places[1], f.i64(sums.rows)), firstColumn = f.mul(places[2], f.i64(sums.usedColumns(plan)));
  bindEntry(nullptr, false);
  Value exists = x.existence(plan.entries), rowCount = plan.isRagged ? plan.rowCount(f) : f.i64(1);
  if (!plan.isRagged) {
    for (StringAttr axis : plan.rows) {
      rowCounts.push_back(x.extentAt(axis));
      rowCount = f.mul(rowCount, rowCounts.back());
    }
    if (llvm::any_of(plan.rows, [&](StringAttr axis) { return f.getLayout().isRagged(axis); }))
      exists = x.both(exists, f.less(firstRow, rowCount));
  }
  x.leave();
  auto emit = [&](Operation *region) {
    bindEntry(region, true);
    emitTile(rowCounts, rowCount, firstRow, firstColumn);
    x.leave();
  };
  whereExists(f, exists, emit);
  return failure(x.failed());
}

void ProductTile::emitTile(Values rowCounts, Value rowCount, Value firstRow, Value firstColumn) {
  base = t.sharedMemory();
  Values columnCounts;
  for (StringAttr axis : plan.columns)
    columnCounts.push_back(f.extent(axis));
  TilePoints rows(t, plan.rows, rowCounts, rowCount, plan.isRagged, firstRow, sums.rows, t.add(base, shared.rowTable));
  TilePoints columns(t, plan.columns, columnCounts, f.extent(plan.columns), /*isRagged=*/false, firstColumn,
                     sums.usedColumns(plan), t.add(base, shared.columnTable));
  rows.fillTable(x, threads);
  columns.fillTable(x, threads);
  if (rows.hasTable() || columns.hasTable())
    t.barrier();
  multiply(rows, columns);
  t.barrier();
  auto load = [&](Value row, Value column) { return t.loadShared(f.builder().getF32Type(), sumAt(row, column)); };
  ProductEpilogue(t, x, stage, plan, sums, rows, columns, t.add(base, shared.statistics), load).emit(threads);
}
