//===- Product.cpp - a matrix product as Halide Funcs ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "schedules/halide/Product.h"

#include "schedules/halide/Scalars.h"
#include <algorithm>

using namespace attn;
using namespace Halide;

ProductPipeline::ProductPipeline(const StagePlan &plan)
    : StageParts(plan), lanes(int(plan.lanes)), vectors(int(plan.vectors)), rows(int(plan.rows)), tile(int(plan.keyTile)) {
  products = RDom(0, min(tile, depthExtent()), "in_part");
  parts = RDom(0, (depthExtent() + tile - 1) / tile, "part");
  defineRows();
  defineOperands();
  defineSums();
  defineReductions();
  for (const PlanStore &store : plan.stores)
    defineResult(store);
}

std::vector<Argument> ProductPipeline::arguments() const {
  std::vector<Argument> all = inputArguments();
  all.insert(all.end(), {firstRow, rowCount, firstSlot, slotCount, wide});
  return all;
}

void ProductPipeline::setPart(std::pair<int, int> rowsHere, std::pair<int, int> slotsHere, bool isWideHere) {
  firstRow.set(rowsHere.first), rowCount.set(rowsHere.second);
  firstSlot.set(slotsHere.first), slotCount.set(slotsHere.second);
  wide.set(isWideHere);
}

//===----------------------------------------------------------------------===//
// Rows and columns
//===----------------------------------------------------------------------===//

bool ProductPipeline::areSlotsWhole() const {
  int64_t known = inputs.known[plan.columns.back().extent];
  return known > 0 && known % lanes == 0;
}

Expr ProductPipeline::isWide() const {
  int64_t known = inputs.known[plan.columns.back().extent];
  return known < 0 ? Expr(wide) : Internal::make_bool(known >= lanes);
}

Expr ProductPipeline::firstColumn(const Expr &slotOfRow) const {
  return areSlotsWhole() ? slotOfRow * lanes : min(slotOfRow * lanes, laneExtent() - lanes);
}

Expr ProductPipeline::column(const Expr &slot, const Expr &lane) const {
  Expr whole = firstColumn(slot % slotsPerRow()) + lane;
  return areSlotsWhole() ? whole : select(isWide(), whole, max(min(lane, laneExtent() - 1), 0));
}

Expr ProductPipeline::isOwn(const Expr &slot, const Expr &lane) const {
  if (areSlotsWhole())
    return Expr();
  Expr ofRow = slot % slotsPerRow();
  return select(isWide(), firstColumn(ofRow) + lane >= ofRow * lanes, lane < laneExtent());
}

/// Behind the last one, that one.
Expr ProductPipeline::slotAt(const Expr &number) const { return firstSlot + max(min(number, slotCount - 1), 0); }
Expr ProductPipeline::rowAt(const Expr &number) const { return firstRow + max(min(number, rowCount - 1), 0); }

/// Indices along several axes are quotients: once for each row, not for each block that it meets.
void ProductPipeline::defineRows() {
  for (size_t i = 0; plan.queries.size() > 1 && i < plan.queries.size(); ++i) {
    Func index("index_" + plan.queries[i].name);
    Points points(plan, inputs);
    bindParts(points, plan.queries, rowAt(x));
    index(x) = points.bound(plan.queries[i].name);
    rowIndices.push_back(index);
  }
}

void ProductPipeline::bindRow(Points &points, const Expr &row) const {
  if (plan.queries.size() <= 1)
    return bindParts(points, plan.queries, rowAt(row));
  for (size_t i = 0; i < plan.queries.size(); ++i)
    points.bind(plan.queries[i].name, rowIndices[i](row));
}

Expr ProductPipeline::mostSlots() const {
  bool needsRows = !plan.reductions.empty() || std::any_of(plan.nodes.begin(), plan.nodes.end(),
                                                           [](const PlanNode &node) { return node.op == "rope"; });
  if (!needsRows)
    return vectors;
  return select(slotsPerRow() % vectors == 0, 1, vectors) * slotsPerRow();
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

void ProductPipeline::defineOperands() {
  const PlanTerm &term = plan.terms[0];
  Expr within = max(min(likely(t * tile + d), depthExtent() - 1), 0);
  Points ofRow(plan, inputs), ofColumn(plan, inputs);
  for (Points *points : {&ofRow, &ofColumn}) {
    bindParts(*points, plan.depth, within);
    points->bind(term.over, within);
  }
  bindRow(ofRow, x);
  left(d, x, t) = ofRow.orZero(term.query);
  Expr slot = slotAt(s);
  bindParts(ofColumn, outerColumns(), slot / slotsPerRow());
  ofColumn.bind(laneAxis(), column(slot, l));
  Expr element = ofColumn.orZero(term.key), turned = arePointsDense();
  columns(d, l, s, t) = element;
  panel(l, s, d, t) = turned.defined() ? select(turned, columns(d, l, s, t), element) : element;
}

void ProductPipeline::defineSums() {
  products.where(t * tile + products < depthExtent());
  sums(l, s, x, t) = 0.0f;
  sums(l, s, x, t) += panel(l, s, products, t) * left(products, x, t);
  all(l, s, x) = 0.0f;
  all(l, s, x) += sums(l, s, x, parts);
}

//===----------------------------------------------------------------------===//
// What follows
//===----------------------------------------------------------------------===//

Expr ProductPipeline::sumAt(const Expr &row, const Expr &outer, const Expr &index) const {
  Expr slot = index / lanes;
  Expr lane = index - (areSlotsWhole() ? slot * lanes : select(isWide(), firstColumn(slot), 0));
  Expr number = (firstSlot / slotsPerRow() + outer) * slotsPerRow() + slot - firstSlot;
  return all(max(min(lane, lanes - 1), 0), max(min(number, slotCount - 1), 0), row);
}

void ProductPipeline::giveReductions(Points &points, const Expr &row, const Expr &outer) const {
  for (size_t i = 0; i < reduced.size(); ++i)
    points.give("reduced", int64_t(i), reduced[i](outer, row));
}

Points ProductPipeline::pointsAt(const Expr &row, const Expr &outer, const Expr &index, Points::Given sum) const {
  Points points(plan, inputs);
  bindRow(points, row);
  bindParts(points, outerColumns(), firstSlot / slotsPerRow() + outer);
  points.bind(laneAxis(), index);
  points.give("product", 0, std::move(sum));
  giveReductions(points, row, outer);
  return points;
}

void ProductPipeline::defineReductions() {
  for (size_t i = 0; i < plan.reductions.size(); ++i) {
    const PlanReduction &reduction = plan.reductions[i];
    std::string number = std::to_string(i);
    Func joined("reduced" + number);
    RDom elements(0, laneExtent(), "element" + number);
    Points points = pointsAt(x, o, elements, [&](const Points &at) { return sumAt(x, o, at.bound(laneAxis())); });
    Expr value = points.at(reduction.value).value;
    float infinity = std::numeric_limits<float>::infinity();
    bool isMax = reduction.kind == "max", isMin = reduction.kind == "min";
    joined(o, x) = isMax ? -infinity : isMin ? infinity : 0.0f;
    joined(o, x) = isMax || isMin ? scalarOp(isMax ? "maximumf" : "minimumf", PlanKind::F32, {joined(o, x), value})
                                  : joined(o, x) + value;
    if (reduction.kind != "mean") {
      reduced.push_back(joined);
      continue;
    }
    Func mean("mean" + number);
    mean(o, x) = joined(o, x) / Halide::cast<float>(max(laneExtent(), 1));
    joined.compute_root();
    reduced.push_back(mean);
  }
}

void ProductPipeline::defineResult(const PlanStore &store) {
  const PlanTensor &tensor = plan.tensors[store.tensor];
  RDom places({{0, lanes}, {0, rowCount}, {0, slotCount}}, "of_" + tensor.name);
  RVar lane = places[0], row = places[1], number = places[2];
  Expr slot = firstSlot + number, index = column(slot, lane);
  Expr outer = slot / slotsPerRow() - firstSlot / slotsPerRow();
  Points points = pointsAt(row, outer, index, [&](const Points &at) {
    const Expr &wanted = at.bound(laneAxis());
    return wanted.same_as(index) ? all(lane, number, row) : sumAt(row, outer, wanted);
  });
  Expr isWritten, isThere;
  auto also = [](Expr &all, const Expr &more) {
    if (more.defined())
      all = all.defined() ? all && more : more;
  };
  std::vector<Expr> place = points.place(store.place, isWritten);
  also(isWritten, isOwn(slot, lane));
  Point value = points.at(store.value);
  also(isThere, value.present);
  if (store.condition >= 0)
    also(isThere, points.holds(store.condition));
  Expr stored = value.value;
  if (store.keepsAbsent)
    also(isWritten, isThere);
  else if (isThere.defined())
    stored = select(isThere, stored, Halide::cast(stored.type(), 0));
  stored = narrow(stored, tensor.element, false);
  Func output("result_" + tensor.name);
  std::vector<Var> dims;
  for (size_t i = 0; i < place.size(); ++i)
    dims.emplace_back("dim" + std::to_string(i));
  output(dims) = undef(stored.type());
  if (isWritten.defined())
    places.where(isWritten);
  output(place) = stored;
  for (OutputImageParam &buffer : output.output_buffers())
    for (int i = 0; i < int(place.size()); ++i)
      buffer.dim(i).set_stride(Expr());
  outputs.push_back(output);
  results.push_back(places);
}

std::map<std::string, Expr> ProductPipeline::largestParams() const {
  Expr allRows = countOf(plan.queries), allSlots = countOf(outerColumns()) * slotsPerRow();
  return {{firstRow.name(), allRows}, {firstSlot.name(), allSlots},
          {rowCount.name(), min(allRows, int(plan.queryTile))}, {slotCount.name(), min(allSlots, mostSlots())}};
}
