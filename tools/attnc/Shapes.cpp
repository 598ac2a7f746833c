//===- Shapes.cpp - extents of axes and shapes of arguments ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/attnc/Shapes.h"

#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace attn;
using namespace attnc;
using llvm::StringRef;

namespace {

/// Whether an extent speaks of dimensions of arguments, such as `x.1`.
bool usesDimensions(ExtentAttr extent) {
  return llvm::any_of(extent.getNames(), [](mlir::StringAttr name) { return name.getValue().contains('.'); });
}

auto lookupIn(const Extents &extents) {
  return [&extents](StringRef name) -> std::optional<int64_t> {
    auto found = extents.find(name);
    return found == extents.end() ? std::nullopt : std::optional<int64_t>(found->second);
  };
}

/// Extents of axes that are known, and of dimensions such as `x.1` whose factors are.
struct Known {
  const Signature &signature;
  const Extents &extents;

  std::optional<int64_t> operator()(StringRef name) const {
    auto [argument, dimension] = name.rsplit('.');
    unsigned position;
    if (dimension.getAsInteger(10, position))
      return lookupIn(extents)(name);
    for (unsigned i = 0, e = signature.args.size(); i < e; ++i)
      if (signature.args[i].getName().getValue() == argument && position < signature.argType(i).getDims().size())
        return product(signature.argType(i).getDims()[position]);
    return std::nullopt;
  }

private:
  std::optional<int64_t> product(DimAttr dim) const {
    int64_t result = 1;
    for (ExtentAttr factor : dim.getFactors()) {
      auto value = factor.evaluate(lookupIn(extents));
      if (!value) {
        llvm::consumeError(value.takeError());
        return std::nullopt;
      }
      if (llvm::MulOverflow(result, *value, result))
        return std::nullopt;
    }
    return result;
  }
};

/// An axis and an expression that it equals, from the plan or from a fact.
struct Equation {
  StringRef axis;
  ExtentAttr extent;
};

/// All equations that hold between axes. One that speaks of a dimension gives nothing new when the axis is in it.
llvm::SmallVector<Equation> equationsBetweenAxes(const Signature &signature) {
  llvm::SmallVector<Equation> equations;
  for (auto list : {&signature.axes, &signature.facts})
    for (AxisAttr axis : *list)
      if (!axis.isRagged())
        equations.push_back({axis.getName().getValue(), axis.getExtent()});
  // Ragged axes that have one extent everywhere.
  llvm::DenseMap<mlir::Value, RaggedOp> first;
  for (RaggedOp ragged : signature.body->getOps<RaggedOp>())
    if (auto [same, isNew] = first.try_emplace(ragged.getExtent(), ragged); !isNew)
      equations.push_back({ragged.getAxis(), ExtentAttr::named(ragged.getContext(), same->second.getAxis())});
  return equations;
}

/// Fills in every axis that an equation between known axes gives.
llvm::Error propagate(const Signature &signature, llvm::ArrayRef<Equation> equations, Extents &extents) {
  Known known{signature, extents};
  for (bool progress = true; progress;) {
    progress = false;
    for (const Equation &equation : equations) {
      if (extents.contains(equation.axis) ||
          !llvm::all_of(equation.extent.getNames(),
                        [&](mlir::StringAttr name) { return known(name.getValue()).has_value(); }))
        continue;
      auto value = equation.extent.evaluate(known);
      if (!value)
        return value.takeError();
      extents[equation.axis] = *value;
      progress = true;
    }
  }
  return llvm::Error::success();
}

/// What an axis of this name usually measures.
int64_t usualExtent(StringRef axis, const Extents &extents) {
  if (axis == "T" && extents.contains("S"))
    return extents.lookup("S");
  return llvm::StringSwitch<int64_t>(axis)
      .Case("B", 1)
      .Cases({"H", "G"}, 8)
      .Case("R", 4)
      .Cases({"S", "T", "M", "D", "C"}, 512)
      .Default(64);
}

/// The extent of an equal dimension of another argument.
std::optional<int64_t> equalDimension(const Signature &signature, DimAttr dim, const reference::Buffers &inputs) {
  for (unsigned i = 0, e = signature.args.size(); i < e; ++i) {
    auto found = inputs.find(signature.args[i].getName().str());
    if (found == inputs.end())
      continue;
    for (auto [position, other] : llvm::enumerate(signature.argType(i).getDims()))
      if (other == dim && position < found->second.shape.size())
        return found->second.shape[position];
  }
  return std::nullopt;
}

} // namespace

llvm::SmallVector<StringRef> attnc::freeAxes(const Signature &signature) {
  llvm::SmallVector<Equation> equations = equationsBetweenAxes(signature);
  llvm::SmallVector<StringRef> axes;
  Extents known;
  for (AxisAttr axis : signature.axes) {
    // No error can come of extents that are all 0 but one that divides by 0: it is reported where it is used.
    llvm::consumeError(propagate(signature, equations, known));
    StringRef name = axis.getName().getValue();
    if (known.contains(name))
      continue;
    bool given = llvm::any_of(equations, [&](const Equation &equation) {
      return equation.axis == name && !usesDimensions(equation.extent);
    });
    if (!given)
      axes.push_back(name);
    known[name] = 0;
  }
  return axes;
}

llvm::Expected<Extents> attnc::extentsFrom(const Signature &signature,
                                           llvm::ArrayRef<std::pair<std::string, int64_t>> chosen) {
  Extents extents;
  for (const auto &[name, value] : chosen) {
    AxisAttr axis = signature.findAxis(mlir::StringAttr::get(signature.body->getParentOp()->getContext(), name));
    if (!axis)
      return llvm::createStringError("'" + name + "' is not an axis of " + signature.name);
    extents[axis.getName().getValue()] = value;
  }
  llvm::SmallVector<Equation> equations = equationsBetweenAxes(signature);
  if (llvm::Error error = propagate(signature, equations, extents))
    return std::move(error);
  for (AxisAttr axis : signature.axes) {
    StringRef name = axis.getName().getValue();
    if (extents.contains(name))
      continue;
    extents[name] = usualExtent(name, extents);
    if (llvm::Error error = propagate(signature, equations, extents))
      return std::move(error);
  }
  for (const Equation &equation : equations) {
    auto value = equation.extent.evaluate(Known{signature, extents});
    if (!value)
      return value.takeError();
    if (*value != extents.lookup(equation.axis))
      return llvm::createStringError(llvm::Twine(equation.axis) + " is " + llvm::Twine(extents.lookup(equation.axis)) +
                                     ", but " + equation.axis + " = " + equation.extent.str() + " gives " +
                                     llvm::Twine(*value));
  }
  // Dimensions without a name, such as `E / 4`, must come out even as well.
  for (unsigned i = 0, e = signature.args.size(); i < e; ++i)
    if (auto shape = shapeOf(signature, i, extents); !shape)
      return shape.takeError();
  return extents;
}

llvm::Expected<Extents> attnc::extentsFrom(const Signature &signature, const reference::Buffers &inputs) {
  Extents extents;
  auto lookup = [&](StringRef name) -> std::optional<int64_t> {
    auto [argument, dimension] = name.rsplit('.');
    unsigned position;
    if (dimension.empty())
      return lookupIn(extents)(name);
    auto found = inputs.find(argument.str());
    if (dimension.getAsInteger(10, position) || found == inputs.end() || position >= found->second.shape.size())
      return std::nullopt;
    return found->second.shape[position];
  };
  for (AxisAttr axis : signature.axes) {
    if (axis.isRagged())
      continue;
    auto value = axis.getExtent().evaluate(lookup);
    if (!value)
      return llvm::createStringError("the extent of " + axis.getName().getValue() + " = " + axis.getExtent().str() +
                                     " does not follow from the inputs: " + llvm::toString(value.takeError()));
    extents[axis.getName().getValue()] = *value;
  }
  return extents;
}

llvm::Expected<llvm::SmallVector<int64_t, 4>> attnc::shapeOf(const Signature &signature, unsigned index,
                                                             const Extents &extents,
                                                             const reference::Buffers &inputs) {
  llvm::SmallVector<int64_t, 4> shape;
  for (DimAttr dim : signature.argType(index).getDims()) {
    AxisAttr ragged;
    for (ExtentAttr factor : dim.getFactors())
      if (mlir::StringAttr name = factor.getName())
        if (AxisAttr axis = signature.findAxis(name); axis && axis.isRagged())
          ragged = axis;
    if (ragged) {
      if (auto stored = equalDimension(signature, dim, inputs)) {
        shape.push_back(*stored);
        continue;
      }
      if (!extents.contains(ragged.getName().getValue()))
        return llvm::createStringError("no input says how large the ragged dimension " + dim.str() + " of " +
                                       signature.args[index].getName().getValue() + " is");
    }
    int64_t product = 1;
    for (ExtentAttr factor : dim.getFactors()) {
      mlir::StringAttr name = factor.getName();
      // In a packed dimension the ragged axis stands for the sum over what it depends on.
      if (ragged && name && llvm::is_contained(ragged.getDependsOn(), name)) {
        if (extents.lookup(name.getValue()) == 0)
          product = 0;
        continue;
      }
      auto value = factor.evaluate(lookupIn(extents));
      if (!value)
        return value.takeError();
      if (*value < 0 || llvm::MulOverflow(product, *value, product))
        return llvm::createStringError("dimension " + dim.str() + " of " + signature.args[index].getName().getValue() +
                                       " has no valid extent");
    }
    shape.push_back(product);
  }
  return shape;
}

reference::Dtype attnc::dtypeOf(mlir::Type element) {
  using reference::Dtype;
  if (element.isF32())
    return Dtype::F32;
  if (element.isF16())
    return Dtype::F16;
  if (element.isBF16())
    return Dtype::BF16;
  if (mlir::isa<mlir::Float8E4M3FNType>(element))
    return Dtype::F8E4M3;
  if (mlir::isa<mlir::Float8E5M2Type>(element))
    return Dtype::F8E5M2;
  auto integer = mlir::cast<mlir::IntegerType>(element);
  switch (integer.getWidth()) {
  case 1:
    return Dtype::Bool;
  case 8:
    return integer.isUnsigned() ? Dtype::U8 : Dtype::I8;
  case 32:
    return Dtype::I32;
  default:
    return Dtype::I64;
  }
}

namespace {

/// The largest number that the uses of a stored integer allow, as far as they tell: compared with an index, it
/// counts elements of that axis, and so where an index is taken from it; as an index of a read or a write, it is a place.
class Uses {
public:
  Uses(const Signature &signature, const Extents &extents) : signature(signature), extents(extents) {}

  std::optional<int64_t> highest(mlir::Value argument) {
    for (mlir::Operation *user : argument.getUsers())
      if (auto read = mlir::dyn_cast<ReadOp>(user); read && read.getRef() == argument)
        follow(read.getResult());
    return bound;
  }

  /// Whether it says by itself where something is written, as a page does: two of one number would collide.
  bool mustDiffer() const { return distinct; }

  /// The packed axis whose extents follow from it, and whether they are its elements; null when there is none.
  mlir::StringAttr packedAxis() const { return packed; }
  bool givesLengths() const { return lengths; }

private:
  void asExtent(RaggedOp ragged, bool isLength) {
    mlir::StringAttr axis = ragged.getAxisAttr();
    bool isPacked = llvm::any_of(signature.body->getArguments(), [&](mlir::BlockArgument argument) {
      return llvm::any_of(mlir::cast<RefType>(argument.getType()).getDims(), [&](DimAttr dim) {
        return dim.getFactors().size() > 1 && dim.getFactors().back().getName() == axis;
      });
    });
    if (isPacked && !packed) {
      packed = axis;
      lengths = isLength;
    }
    atMost(extents.lookup(axis.getValue()));
  }

  void atMost(int64_t value) { bound = std::min(bound.value_or(value), std::max<int64_t>(value, 0)); }

  void asPlace(mlir::Value ref, mlir::OperandRange indices, mlir::Value value) {
    auto factors = mlir::cast<RefType>(ref.getType()).getFactors();
    for (auto [index, factor] : llvm::zip(indices, factors)) {
      if (index != value)
        continue;
      if (auto extent = factor.evaluate(lookupIn(extents)))
        atMost(*extent - 1);
      else
        llvm::consumeError(extent.takeError());
    }
  }

  /// The axes of `value` that no other index of the write tells apart.
  static bool decidesPlace(WriteOp write, mlir::Value value) {
    if (!value.getDefiningOp<ReadOp>() || !llvm::is_contained(write.getIndices(), value))
      return false;
    return llvm::any_of(valueType(value).getAxes(), [&](mlir::StringAttr axis) {
      return llvm::none_of(write.getIndices(), [&](mlir::Value other) {
        auto index = other.getDefiningOp<IndexOp>();
        return index && index.getAxisAttr() == axis;
      });
    });
  }

  /// Whether a map gives other numbers than small steps from its input, so that a limit of one is none of the other.
  static bool changesScale(MapOp map) {
    return map.getBody()
        .walk([](mlir::Operation *op) {
          bool scales = mlir::isa<mlir::arith::MulIOp, mlir::arith::DivSIOp, mlir::arith::FloorDivSIOp, mlir::arith::RemSIOp,
                                  mlir::arith::ShLIOp, mlir::arith::ShRSIOp, mlir::arith::AndIOp>(op);
          return scales ? mlir::WalkResult::interrupt() : mlir::WalkResult::advance();
        })
        .wasInterrupted();
  }

  /// `isScaled`: the numbers of `value` are no longer those of the argument.
  void follow(mlir::Value value, bool isScaled = false) {
    if (!seen.insert(value).second)
      return;
    for (mlir::Operation *user : value.getUsers()) {
      if (auto map = mlir::dyn_cast<MapOp>(user)) {
        bool compares = valueType(map.getResult()).isCondition();
        map.getBody().walk([&](mlir::arith::SubIOp) { compares = true; });
        for (mlir::Value input : map.getInputs())
          if (auto index = input.getDefiningOp<IndexOp>(); index && compares)
            if (extents.contains(index.getAxis()) && !isScaled)
              atMost(extents.lookup(index.getAxis()));
        if (!valueType(map.getResult()).isFloat())
          follow(map.getResult(), isScaled || changesScale(map));
      } else if (auto ragged = mlir::dyn_cast<RaggedOp>(user)) {
        asExtent(ragged, value.getDefiningOp<ReadOp>());
      } else if (auto read = mlir::dyn_cast<ReadOp>(user)) {
        if (!isScaled)
          asPlace(read.getRef(), read.getIndices(), value);
      } else if (auto write = mlir::dyn_cast<WriteOp>(user)) {
        if (!isScaled)
          asPlace(write.getRef(), write.getIndices(), value);
        distinct |= decidesPlace(write, value);
      }
    }
  }

  const Signature &signature;
  const Extents &extents;
  mlir::StringAttr packed;
  bool lengths = false;
  llvm::SmallPtrSet<mlir::Value, 16> seen;
  std::optional<int64_t> bound;
  bool distinct = false;
};

} // namespace

llvm::Expected<reference::ArgumentSpec> attnc::specOf(const Signature &signature, unsigned index,
                                                      const Extents &extents) {
  auto shape = shapeOf(signature, index, extents);
  if (!shape)
    return shape.takeError();
  reference::ArgumentSpec spec;
  spec.name = signature.args[index].getName().str();
  spec.dtype = dtypeOf(signature.argType(index).getElementType());
  spec.shape = std::move(*shape);
  if (!reference::isInteger(spec.dtype))
    return spec;
  int64_t largest = 0;
  for (const auto &[axis, extent] : extents)
    largest = std::max(largest, extent);
  // `start : i32[B + 1]`: where each entry of a packed dimension begins.
  auto dims = signature.argType(index).getDims();
  bool offsets = dims.size() == 1 && dims[0].getFactors().size() == 1 &&
                 llvm::StringRef(dims[0].getFactors()[0].str()).ends_with("+ 1");
  spec.range.kind = offsets ? reference::IntegerRange::Offsets : reference::IntegerRange::Any;
  Uses uses(signature, extents);
  spec.range.high = uses.highest(signature.body->getArgument(index)).value_or(largest);
  if (mlir::StringAttr packed = uses.packedAxis()) {
    spec.range.high = extents.lookup(packed.getValue());
    if (uses.givesLengths())
      spec.range.kind = reference::IntegerRange::Lengths;
  } else if (!offsets) {
    if (uses.mustDiffer()) {
      spec.range.kind = reference::IntegerRange::Distinct;
      ++spec.range.high;
    }
  }
  return spec;
}
