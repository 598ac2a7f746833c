// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Solving and checking extents.
#include "dialects/reference/Space.h"

namespace attn::reference {

using llvm::createStringError;
using llvm::Error;
using llvm::Expected;
using mlir::StringAttr;

std::optional<int64_t> Space::lookup(llvm::StringRef name) const {
  auto found = known.find(name);
  return found == known.end() ? std::nullopt
                              : std::optional<int64_t>(found->second);
}

std::optional<int64_t> Space::extent(StringAttr axis) const {
  return lookup(axis.getValue());
}

Expected<int64_t> Space::evaluate(ExtentAttr factor) const {
  return factor.evaluate([&](llvm::StringRef name) { return lookup(name); });
}

llvm::ArrayRef<StringAttr> Space::dependsOn(StringAttr axis) const {
  auto found = dependencies.find(axis);
  return found == dependencies.end() ? llvm::ArrayRef<StringAttr>()
                                     : found->second;
}

const Tensor *Space::raggedExtent(StringAttr axis) const {
  auto found = raggedExtents.find(axis);
  return found == raggedExtents.end() ? nullptr : &found->second;
}

void Space::setRagged(StringAttr axis, Tensor extents) {
  int64_t largest = 0;
  for (int64_t extent : extents.integer)
    largest = std::max(largest, extent);
  known[axis.getValue()] = largest;
  raggedExtents[axis] = std::move(extents);
}

static bool mentions(ExtentAttr extent,
                     llvm::function_ref<bool(StringAttr)> test) {
  return llvm::any_of(extent.getNames(), test);
}

Error Space::checkDimensions(llvm::StringRef name, RefType type,
                             llvm::ArrayRef<int64_t> shape) const {
  for (auto [d, dim] : llvm::enumerate(type.getDims())) {
    int64_t wanted = 1;
    bool later = false;
    for (ExtentAttr factor : dim.getFactors()) {
      if ((later |=
           mentions(factor, [&](StringAttr axis) { return isRagged(axis); })))
        break;
      Expected<int64_t> extent = evaluate(factor);
      if (!extent)
        return createStringError("%s: dimension %zu: %s", name.str().c_str(), d,
                                 llvm::toString(extent.takeError()).c_str());
      if (llvm::MulOverflow(wanted, *extent, wanted))
        return createStringError(
            "%s: dimension %zu, %s, does not fit in 64 bits",
            name.str().c_str(), d, dim.str().c_str());
    }
    // Ragged dimensions are checked where their extents are known, by `Memory`.
    if (!later && wanted != shape[d])
      return createStringError(
          "%s: dimension %zu is %lld, %s needs %lld", name.str().c_str(), d,
          static_cast<long long>(shape[d]), dim.str().c_str(),
          static_cast<long long>(wanted));
  }
  return Error::success();
}

Expected<Space> Space::solve(const Signature &signature,
                             const Buffers &arguments) {
  Space space;
  llvm::SmallVector<std::pair<unsigned, llvm::ArrayRef<int64_t>>> given;
  for (auto [i, arg] : llvm::enumerate(signature.args)) {
    std::string name = arg.getName().getValue().str();
    auto found = arguments.find(name);
    if (found == arguments.end()) {
      if (arg.getMode() == Mode::Out)
        continue;
      return createStringError("argument %s is not given", name.c_str());
    }
    size_t rank = signature.argType(i).getDims().size();
    if (found->second.shape.size() != rank)
      return createStringError("%s: has %zu dimensions, %zu are declared",
                               name.c_str(), found->second.shape.size(), rank);
    for (auto [d, extent] : llvm::enumerate(found->second.shape))
      space.known[name + "." + std::to_string(d)] = extent;
    given.emplace_back(i, found->second.shape);
  }
  for (AxisAttr axis : signature.axes) {
    if (axis.isRagged()) {
      space.dependencies[axis.getName()].assign(axis.getDependsOn().begin(),
                                                axis.getDependsOn().end());
      continue;
    }
    Expected<int64_t> extent = space.evaluate(axis.getExtent());
    std::string name = axis.getName().getValue().str();
    if (!extent)
      return createStringError("axis %s: %s", name.c_str(),
                               llvm::toString(extent.takeError()).c_str());
    if (*extent < 0)
      return createStringError("axis %s: its extent, %s, is %lld", name.c_str(),
                               axis.getExtent().str().c_str(),
                               static_cast<long long>(*extent));
    space.known[name] = *extent;
  }
  for (AxisAttr fact : signature.facts) {
    Expected<int64_t> value = space.evaluate(fact.getExtent());
    std::string name = fact.getName().getValue().str();
    if (!value)
      return createStringError("axis %s: %s", name.c_str(),
                               llvm::toString(value.takeError()).c_str());
    if (*value != space.lookup(name))
      return createStringError(
          "axis %s is %lld, but %s is %lld", name.c_str(),
          static_cast<long long>(space.lookup(name).value_or(-1)),
          fact.getExtent().str().c_str(), static_cast<long long>(*value));
  }
  for (auto [i, shape] : given)
    if (Error error =
            space.checkDimensions(signature.args[i].getName().getValue(),
                                  signature.argType(i), shape))
      return std::move(error);
  return space;
}

Expected<Tensor> Space::blank(llvm::ArrayRef<StringAttr> axes,
                              mlir::Type element) const {
  Tensor tensor;
  tensor.axes.assign(axes.begin(), axes.end());
  tensor.kind = kindOf(element);
  tensor.isDouble = element.isF64();
  for (StringAttr axis : axes) {
    std::optional<int64_t> size = extent(axis);
    if (!size)
      return createStringError("the extent of axis %s is not known here",
                               axis.getValue().str().c_str());
    tensor.shape.push_back(*size);
  }
  // An element takes 17 bytes: this is about what a large machine holds once.
  std::optional<int64_t> count = elementCount(tensor.shape, Dtype::I64);
  if (!count || *count > (int64_t(1) << 29))
    return createStringError(
        "a value over %s elements is too large to interpret",
        shapeText(tensor.shape).c_str());
  tensor.flags.assign(*count, Present);
  if (tensor.kind == Kind::Number) {
    tensor.value.assign(*count, 0);
    tensor.radius.assign(*count, 0);
  } else if (tensor.kind == Kind::Integer) {
    tensor.integer.assign(*count, 0);
  } else {
    tensor.condition.assign(*count, 0);
  }
  return tensor;
}

void Space::cutRagged(Tensor &tensor) const {
  for (auto [d, axis] : llvm::enumerate(tensor.axes)) {
    const Tensor *extents = raggedExtent(axis);
    if (!extents || !llvm::all_of(dependsOn(axis), [&](StringAttr on) {
          return tensor.find(on) >= 0;
        }))
      continue;
    Cursor at(tensor.axes, tensor.shape);
    unsigned limit = at.follow(*extents);
    for (int64_t i = 0, n = tensor.size(); i < n; ++i, at.next())
      if (at.along(d) >= extents->integer[at[limit]])
        tensor.flags[i] &= ~Present;
  }
}

} // namespace attn::reference
