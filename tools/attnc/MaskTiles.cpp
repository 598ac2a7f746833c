//===- MaskTiles.cpp - a mask's tiles, computed ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/attnc/MaskTiles.h"
#include "compiler/optimize/RowValues.h"
#include "dialects/reference/Interpreter.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/StringSet.h"
#include <limits>

using namespace mlir;
using namespace attn;
using namespace attnc;

/// Pairs for which a condition is evaluated one by one, at most.
static constexpr int64_t mostPairs = int64_t(1) << 25;

namespace {

/// What a ragged axis measures; nothing where it isn't ragged.
Value lengthOf(StringAttr axis, const Signature &signature) {
  for (RaggedOp ragged : signature.body->getOps<RaggedOp>())
    if (ragged.getAxisAttr() == axis)
      return ragged.getExtent();
  return {};
}

/// The names of the arguments that a value is computed from, or a length that it speaks of.
void collectArguments(Value value, const Signature &signature, llvm::DenseSet<Value> &seen, llvm::StringSet<> &names) {
  if (!value || !seen.insert(value).second)
    return;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    if (argument.getOwner() == signature.body)
      names.insert(signature.args[argument.getArgNumber()].getName().getValue());
    return;
  }
  if (auto extent = value.getDefiningOp<ExtentOp>())
    return collectArguments(lengthOf(extent.getAxisAttr(), signature), signature, seen, names);
  for (Value operand : value.getDefiningOp()->getOperands())
    collectArguments(operand, signature, seen, names);
}

/// The values of a program at every point, by the interpreter.
llvm::Expected<std::vector<Table>> evaluate(const Signature &signature, const reference::Buffers &inputs,
                                            ArrayRef<Value> values) {
  IRMapping mapping;
  OwningOpRef<Operation *> program(signature.body->getParentOp()->clone(mapping));
  Block &body = program->getRegion(0).front();
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
    if (isa<WriteOp, RequireOp>(op))
      op.erase();
  OpBuilder builder = OpBuilder::atBlockEnd(&body);
  MLIRContext *context = program->getContext();
  Location loc = program->getLoc();
  SmallVector<Attribute> args(program->getAttrOfType<ArrayAttr>("args").getValue());
  auto nameOf = [](size_t i) { return "mask." + std::to_string(i); };
  for (auto [i, value] : llvm::enumerate(values)) {
    ValueType type = valueType(value);
    SmallVector<DimAttr> dims;
    SmallVector<Value> indices;
    for (StringAttr axis : type.getAxes()) {
      dims.push_back(DimAttr::get(context, ExtentAttr::named(context, axis.getValue())));
      indices.push_back(indexOf(builder, loc, axis));
    }
    Value ref = body.addArgument(RefType::get(dims, type.getElementType()), loc);
    args.push_back(ArgAttr::get(context, builder.getStringAttr(nameOf(i)), Mode::Out));
    WriteOp::create(builder, loc, mapping.lookup(value), ref, indices, Value());
  }
  program->setAttr("args", builder.getArrayAttr(args));
  eraseDead(body);
  auto results = reference::interpret(*program, inputs);
  if (!results)
    return results.takeError();
  std::vector<Table> tables;
  for (auto [i, value] : llvm::enumerate(values)) {
    reference::Buffer &buffer = results->at(nameOf(i)).rounded;
    SmallVector<int64_t> shape(buffer.shape.begin(), buffer.shape.end());
    tables.push_back({AxisList(valueType(value).getAxes()), std::move(shape), std::move(buffer)});
  }
  return tables;
}

struct PlainLogic {
  using Number = int64_t;
  using Truth = bool;
  bool truth(bool value) { return value; }
  int64_t number(int64_t value) { return value; }
  bool less(int64_t a, int64_t b) { return a < b; }
  bool negate(bool a) { return !a; }
  bool both(bool a, bool b) { return a && b; }
  bool either(bool a, bool b) { return a || b; }
};

} // namespace

llvm::Expected<MaskTiles> MaskTiles::of(FlashOp flash, const FlashAxes &axes, const Extents &extents,
                                        const reference::Buffers &inputs, const reference::Buffers &given) {
  MaskTiles tiles;
  Signature signature(Signature::around(flash));
  tiles.lane = axes.lane;
  tiles.keyAxes = axes.keys;
  tiles.extents = extents;
  tiles.mask = TileMask::of(flash, axes.rowAxes());
  tiles.hasResidual = bool(flash.getMask());

  // What is wanted, and where its table belongs; nothing where an argument is missing.
  OpBuilder builder(flash);
  RowValues outer(builder, {}, flash.getBody());
  SmallVector<Value> wanted;
  llvm::StringSet<> missing;
  // Whether all is given that a value is computed from; if so, it makes entries differ.
  auto isKnown = [&](Value value) {
    llvm::DenseSet<Value> seen;
    llvm::StringSet<> names;
    collectArguments(value, signature, seen, names);
    bool all = true;
    for (const auto &name : names)
      if (!given.count(name.getKey().str())) {
        missing.insert(name.getKey());
        all = false;
      }
    for (StringAttr axis : valueType(value).getAxes())
      if (axis != axes.lane && !llvm::is_contained(axes.keys, axis) && !llvm::is_contained(tiles.entries, axis) && all)
        tiles.entries.push_back(axis);
    return all;
  };
  auto allLengths = lengthsOf(signature, inputs);
  if (!allLengths)
    return allLengths.takeError();
  for (auto &[axis, known] : *allLengths) {
    auto name = StringAttr::get(flash.getContext(), axis);
    if ((name == axes.lane || llvm::is_contained(axes.keys, name)) && isKnown(lengthOf(name, signature)))
      tiles.lengths[axis] = std::move(known);
  }
  auto want = [&](Value value) -> std::optional<size_t> {
    Value outside = outer.outside(value);
    if (!outside || !isKnown(outside))
      return std::nullopt;
    wanted.push_back(outside);
    return wanted.size() - 1;
  };
  SmallVector<std::pair<std::optional<size_t>, std::optional<size_t>>> bounds;
  for (unsigned r = 0; r < flash.getNumRanges(); ++r) {
    Value lower = flash.getLowerOf(r), upper = flash.getUpperOf(r);
    auto l = lower ? want(lower) : std::nullopt, u = upper ? want(upper) : std::nullopt;
    bounds.push_back({l, u});
    tiles.ranges.push_back({{}, {}, (!lower || l) && (!upper || u)});
  }
  SmallVector<std::optional<size_t>> leaves;
  for (const TileLeaf &leaf : tiles.mask.leaves)
    leaves.push_back(want(leaf.value));
  std::optional<size_t> residual;
  if (tiles.hasResidual && tiles.queries(Entry()) * tiles.keys(Entry()) <= mostPairs)
    residual = want(flash.getMask());

  auto tables = evaluate(signature, inputs, wanted);
  if (!tables)
    return tables.takeError();
  auto table = [&](std::optional<size_t> place) { return place ? std::optional((*tables)[*place]) : std::nullopt; };
  for (auto [range, bound] : llvm::zip(tiles.ranges, bounds)) {
    range.lower = table(bound.first);
    range.upper = table(bound.second);
  }
  for (auto leaf : leaves)
    tiles.leaves.push_back(table(leaf));
  tiles.residual = table(residual);
  for (const auto &name : missing)
    tiles.missing.push_back(name.getKey().str());
  llvm::sort(tiles.missing);
  return tiles;
}

int64_t MaskTiles::extentOf(StringAttr axis, const Entry &entry) const {
  auto found = lengths.find(axis.getValue());
  if (found == lengths.end() || entry.empty())
    return extents.lookup(axis.getValue());
  int64_t place = 0;
  for (StringAttr over : found->second.dependsOn)
    place = place * extents.lookup(over.getValue()) + entry.lookup(over);
  return int64_t(found->second.extents[place]);
}

int64_t MaskTiles::keys(const Entry &entry) const {
  int64_t count = 1;
  for (StringAttr axis : keyAxes)
    count *= extentOf(axis, entry);
  return count;
}

int64_t MaskTiles::at(const Table &table, const Entry &entry, int64_t query, int64_t key) const {
  int64_t place = 0;
  for (auto [axis, extent] : llvm::zip(table.axes, table.shape)) {
    int64_t index = axis == lane ? query : 0;
    if (const auto *found = llvm::find(keyAxes, axis); found != keyAxes.end()) {
      int64_t inner = 1;
      for (StringAttr other : llvm::drop_begin(keyAxes, found - keyAxes.begin() + 1))
        inner *= extentOf(other, entry);
      index = key / inner % extentOf(axis, entry);
    } else if (axis != lane) {
      index = entry.lookup(axis);
    }
    place = place * extent + index;
  }
  return table.numbers.integer(place);
}

std::pair<int64_t, int64_t> MaskTiles::boundsOf(const Range &range, const Entry &entry, int64_t query) const {
  int64_t count = keys(entry);
  auto clamped = [&](int64_t bound) { return std::clamp<int64_t>(bound, 0, count); };
  return {range.lower ? clamped(at(*range.lower, entry, query, 0)) : 0,
          range.upper ? clamped(at(*range.upper, entry, query, 0)) : count};
}

Tile MaskTiles::classify(const Entry &entry, int64_t s0, int64_t s1, int64_t t0, int64_t t1) const {
  bool meets = ranges.empty(), within = ranges.empty();
  int64_t keyCount = keys(entry);
  for (const Range &range : ranges) {
    if (!range.isKnown) {
      meets = true;
      continue;
    }
    int64_t smallestLower = keyCount, largestLower = 0, smallestUpper = keyCount, largestUpper = 0;
    for (int64_t s = s0; s < s1; ++s) {
      auto [lower, upper] = boundsOf(range, entry, s);
      smallestLower = std::min(smallestLower, lower), largestLower = std::max(largestLower, lower);
      smallestUpper = std::min(smallestUpper, upper), largestUpper = std::max(largestUpper, upper);
    }
    meets |= std::max(smallestLower, t0) < std::min(largestUpper, t1);
    within |= largestLower <= t0 && t1 <= smallestUpper;
  }
  if (!meets)
    return Tile::Empty;
  std::vector<TileExtremes<int64_t>> extremes;
  for (auto [leaf, table] : llvm::zip(mask.leaves, leaves)) {
    TileExtremes<int64_t> ends{std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()};
    if (table)
      std::swap(ends.smallest, ends.largest);
    bool overRows = leaf.side != TileLeaf::Key, overKeys = leaf.side != TileLeaf::Row;
    for (int64_t s = s0; table && s < (overRows ? s1 : s0 + 1); ++s)
      for (int64_t t = t0; t < (overKeys ? t1 : t0 + 1); ++t) {
        int64_t number = at(*table, entry, s, t);
        ends = {std::min(ends.smallest, number), std::max(ends.largest, number)};
      }
    extremes.push_back(ends);
  }
  PlainLogic logic;
  bool may = true, must = !hasResidual;
  if (mask.condition.isUseful()) {
    auto answer = answerFor(mask.condition, ArrayRef(extremes), logic);
    may = answer.may, must = answer.must;
  }
  return !may ? Tile::Empty : within && must ? Tile::Full : Tile::Partial;
}

std::optional<int64_t> MaskTiles::visiblePairs(const Entry &entry) const {
  bool isKnown = llvm::all_of(ranges, [](const Range &range) { return range.isKnown; });
  if (!isKnown || (hasResidual && !residual))
    return std::nullopt;
  int64_t pairs = 0;
  int64_t keyCount = keys(entry), queryCount = queries(entry);
  for (int64_t s = 0; s < queryCount; ++s) {
    std::vector<std::pair<int64_t, int64_t>> seen;
    for (const Range &range : ranges)
      seen.push_back(boundsOf(range, entry, s));
    if (ranges.empty())
      seen.push_back({0, keyCount});
    llvm::sort(seen);
    int64_t from = 0;
    for (auto [lower, upper] : seen) {
      for (int64_t t = std::max(lower, from); hasResidual && t < upper; ++t)
        pairs += at(*residual, entry, s, t) != 0;
      if (!hasResidual)
        pairs += std::max<int64_t>(upper - std::max(lower, from), 0);
      from = std::max(from, upper);
    }
  }
  return pairs;
}
