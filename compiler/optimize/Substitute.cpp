//===- Substitute.cpp - values at other places ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "compiler/optimize/Substitute.h"
#include "mlir/IR/IRMapping.h"
#include "compiler/optimize/Expressions.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace attn;

namespace {

/// Which index stands for which axis. Ordered, so that what is built does not depend on addresses.
using Places = llvm::MapVector<StringAttr, Value>;

/// The axis whose plain index a value is; null otherwise.
StringAttr plainAxis(Value index) {
  auto op = index.getDefiningOp<IndexOp>();
  return op ? op.getAxisAttr() : StringAttr();
}

Places restrictedTo(const Places &places, ArrayRef<StringAttr> axes) {
  Places kept;
  for (auto [axis, index] : places)
    if (llvm::is_contained(axes, axis))
      kept.insert({axis, index});
  return kept;
}

/// Whether a part at one index, the same for all, is that operation on parts of its operands, and so costs a part of it.
bool canSlice(Operation *op, const Places &places) {
  return isa_and_nonnull<ContractOp, SoftmaxOp, LogSumExpOp, ReduceOp>(op) &&
         llvm::all_of(places, [](const auto &place) { return valueType(place.second).getAxes().empty(); });
}

/// Whether an element of `value` outside of `axis` is absent by itself at these places, because a stored tensor ends there.
bool endsWithAxis(Value value, StringAttr axis, const Places &places) {
  Operation *op = value.getDefiningOp();
  if (isHeavy(op))
    return valueType(value).hasAxis(axis) && !canSlice(op, places);
  if (auto take = dyn_cast_or_null<TakeOp>(op))
    return valueType(take.getValue()).hasAxis(axis) && !llvm::is_contained(axisNames(take.getAxes()), axis);
  if (auto read = dyn_cast_or_null<ReadOp>(op)) {
    for (auto [index, factor] : llvm::zip(read.getIndices(), read.getRef().getType().getFactors()))
      if (plainAxis(index) == axis && factor.getName() == axis)
        return true;
    return false;
  }
  return isa_and_nonnull<MapOp, WhereOp>(op) &&
         llvm::any_of(op->getOperands(), [&](Value operand) { return endsWithAxis(operand, axis, places); });
}

/// Rebuilds one value for one rename or take.
class Substitution {
public:
  /// `root` is the rename or take: the value's readers are it, or what it alone reads.
  Substitution(Operation *root) : builder(root), root(root) { collectPrivate(); }

  Value apply(Value value, const Places &all) {
    Places places = restrictedTo(all, valueType(value).getAxes());
    if (places.empty())
      return value;
    // Inside of a renamed contraction the places are different ones.
    SmallVector<void *> key{value.getAsOpaquePointer()};
    for (auto [axis, index] : places) {
      key.push_back(const_cast<void *>(axis.getAsOpaquePointer()));
      key.push_back(index.getAsOpaquePointer());
    }
    if (auto found = done.find(key); found != done.end())
      return found->second;
    Value result = rebuild(value, places);
    done[key] = result;
    return result;
  }

private:
  /// Heavy operations that nothing but the root reads, through whatever.
  void collectPrivate() {
    SmallVector<Operation *> cone;
    llvm::DenseSet<Operation *> seen;
    std::function<void(Operation *)> visit = [&](Operation *op) {
      if (!op || !seen.insert(op).second)
        return;
      for (Value operand : op->getOperands())
        visit(operand.getDefiningOp());
      cone.push_back(op);
    };
    visit(root->getOperand(0).getDefiningOp());
    privateOps.insert(root);
    for (Operation *op : llvm::reverse(cone))
      if (llvm::all_of(op->getUsers(), [&](Operation *user) { return privateOps.contains(user); }))
        privateOps.insert(op);
  }

  Value rebuild(Value value, const Places &places) {
    Operation *op = value.getDefiningOp();
    if (auto index = dyn_cast_or_null<IndexOp>(op); index && places.contains(index.getAxisAttr()) && places.size() == 1)
      return places.lookup(index.getAxisAttr());
    if (isPointwise(op))
      return clonePointwise(builder, op, applied(op->getOperands(), places));
    if (auto read = dyn_cast_or_null<ReadOp>(op))
      if (Value moved = rebuildRead(read, places))
        return moved;
    if (auto take = dyn_cast_or_null<TakeOp>(op))
      return rebuildTake(take, places);
    if (canSlice(op, places))
      return rebuildSlice(op, places);
    if (isHeavy(op) && privateOps.contains(op))
      if (Value renamed = rebuildHeavy(op, places))
        return renamed;
    return takeFrom(value, places, op ? op->getLoc() : root->getLoc());
  }

  SmallVector<Value> applied(ValueRange values, const Places &places) {
    return llvm::map_to_vector(values, [&](Value v) { return apply(v, places); });
  }

  /// A read of what others write must not move behind a write, so its new indices must exist where it stands.
  Value rebuildRead(ReadOp read, const Places &places) {
    SmallVector<Value> indices = applied(read.getIndices(), places);
    OpBuilder::InsertionGuard guard(builder);
    if (!isMemoryEffectFree(read)) {
      for (Value index : indices)
        if (Operation *def = index.getDefiningOp(); def && !def->isBeforeInBlock(read))
          return {};
      builder.setInsertionPointAfter(read);
    }
    Type element = valueType(read).getElementType();
    return ReadOp::create(builder, read.getLoc(), ValueType::get(unionOfAxes(indices), element), read.getRef(), indices);
  }

  /// `v[A: i]` at other places is `v` at those places with `i` at those places.
  Value rebuildTake(TakeOp take, const Places &places) {
    Places inner;
    for (auto [axis, index] : llvm::zip(axisNames(take.getAxes()), take.getIndices()))
      inner.insert({axis, apply(index, places)});
    for (auto [axis, index] : restrictedTo(places, valueType(take.getValue()).getAxes()))
      inner.insert({axis, index});
    return takeFrom(take.getValue(), inner, take.getLoc());
  }

  Value takeFrom(Value value, const Places &places, Location loc) {
    SmallVector<Attribute> axes;
    SmallVector<Value> indices;
    AxisList result;
    for (StringAttr axis : valueType(value).getAxes())
      if (!places.contains(axis))
        result.push_back(axis);
    for (auto [axis, index] : places) {
      axes.push_back(axis);
      indices.push_back(index);
      llvm::append_range(result, valueType(index).getAxes());
    }
    Type type = ValueType::get(result, valueType(value).getElementType());
    return TakeOp::create(builder, loc, type, value, builder.getArrayAttr(axes), indices);
  }

  /// The same operation on parts of its operands.
  Value rebuildSlice(Operation *op, const Places &places) {
    IRMapping mapping;
    for (Value operand : op->getOperands())
      mapping.map(operand, apply(operand, places));
    Operation *clone = builder.clone(*op, mapping);
    ValueType type = valueType(op->getResult(0));
    AxisList left;
    for (StringAttr axis : type.getAxes())
      if (!places.contains(axis))
        left.push_back(axis);
    clone->getResult(0).setType(ValueType::get(left, type.getElementType()));
    return clone->getResult(0);
  }

  /// Renames the axes of a heavy operation; null when some place is not a plain index.
  Value rebuildHeavy(Operation *op, const Places &places) {
    llvm::MapVector<StringAttr, StringAttr> names;
    for (auto [axis, index] : places)
      if (StringAttr name = plainAxis(index))
        names.insert({axis, name});
      else
        return {};
    Places inner = places;
    AxisList result(valueType(op->getResult(0)).getAxes());
    // A contracted axis that bears the new name of another one takes that one's old name: their extents agree.
    for (StringAttr bound : unionOfAxes(op->getOperands())) {
      if (llvm::is_contained(result, bound))
        continue;
      for (auto [from, to] : llvm::make_early_inc_range(names))
        if (to == bound) {
          names.insert({bound, from});
          inner.insert({bound, indexOf(builder, root->getLoc(), from)});
          break;
        }
    }
    auto renamed = [&](StringAttr axis) { return names.contains(axis) ? names.lookup(axis) : axis; };
    IRMapping mapping;
    for (Value operand : op->getOperands())
      mapping.map(operand, apply(operand, inner));
    Operation *clone = builder.clone(*op, mapping);
    for (NamedAttribute attribute : op->getAttrs()) {
      if (attribute.getName() == "over" || attribute.getName() == "pair_axis")
        clone->setAttr(attribute.getName(), renamedAttribute(attribute.getValue(), renamed));
    }
    for (StringAttr &axis : result)
      axis = renamed(axis);
    clone->getResult(0).setType(ValueType::get(result, valueType(op->getResult(0)).getElementType()));
    return clone->getResult(0);
  }

  Attribute renamedAttribute(Attribute attribute, llvm::function_ref<StringAttr(StringAttr)> renamed) {
    if (auto axis = dyn_cast<StringAttr>(attribute))
      return renamed(axis);
    SmallVector<Attribute> axes;
    for (StringAttr axis : axisNames(cast<ArrayAttr>(attribute)))
      axes.push_back(renamed(axis));
    return builder.getArrayAttr(axes);
  }

  OpBuilder builder;
  Operation *root;
  llvm::DenseSet<Operation *> privateOps;
  std::map<SmallVector<void *>, Value> done;
};

/// `0 <= index < extent`
Value withinAxis(OpBuilder &builder, Location loc, Value index, StringAttr axis) {
  Value inputs[] = {index, extentOf(builder, loc, axis)};
  return mapOf(builder, loc, inputs, [](OpBuilder &b, Location loc, ValueRange scalars) -> Value {
    Value zero = arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(0));
    Value low = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sge, scalars[0], zero);
    Value high = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, scalars[0], scalars[1]);
    return arith::AndIOp::create(b, loc, low, high);
  });
}

void sinkRename(RenameOp rename) {
  // New indices stand first: reads may have to be rebuilt where they are.
  OpBuilder start = OpBuilder::atBlockBegin(rename->getBlock());
  Places places;
  for (auto [from, to] : llvm::zip(axisNames(rename.getFrom()), axisNames(rename.getTo())))
    places.insert({from, indexOf(start, rename.getLoc(), to)});
  Value value = Substitution(rename).apply(rename.getValue(), places);
  // The statement's name belongs to what it computed.
  if (Operation *op = value.getDefiningOp(); isa<NameLoc>(rename.getLoc()) && (isPointwise(op) || isHeavy(op)))
    op->setLoc(rename.getLoc());
  rename.replaceAllUsesWith(value);
}

void sinkTake(TakeOp take) {
  OpBuilder builder(take);
  Places places;
  for (auto [axis, index] : llvm::zip(axisNames(take.getAxes()), take.getIndices()))
    places.insert({axis, index});
  Operation *from = take.getValue().getDefiningOp();
  if (isHeavy(from) && !canSlice(from, places))
    return;
  Value guard;
  for (auto [axis, index] : places) {
    if (!endsWithAxis(take.getValue(), axis, places))
      guard = andOf(builder, take.getLoc(), guard, withinAxis(builder, take.getLoc(), index, axis));
  }
  Value value = Substitution(take).apply(take.getValue(), places);
  take.replaceAllUsesWith(whereOf(builder, take.getLoc(), value, guard));
}

} // namespace

void attn::sinkRenames(ProgramOp program) {
  Block &block = program.getBody().front();
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (auto rename = dyn_cast<RenameOp>(op))
      sinkRename(rename);
    else if (auto take = dyn_cast<TakeOp>(op))
      sinkTake(take);
  }
  eraseDead(block);
}
