// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Places in storage, reads that widen, and writes that round.
#include "dialects/reference/Memory.h"

namespace attn::reference {

using llvm::createStringError;
using llvm::Error;
using llvm::Expected;
using mlir::StringAttr;

std::optional<Dtype> dtypeOf(mlir::Type element) {
  if (element.isF32())
    return Dtype::F32;
  if (element.isF16())
    return Dtype::F16;
  if (element.isBF16())
    return Dtype::BF16;
  if (mlir::isa<mlir::Float8E4M3FNType, mlir::Float8E4M3Type>(element))
    return Dtype::F8E4M3;
  if (mlir::isa<mlir::Float8E5M2Type>(element))
    return Dtype::F8E5M2;
  if (element.isInteger(1))
    return Dtype::Bool;
  if (element.isInteger(8))
    return element.isUnsignedInteger() ? Dtype::U8 : Dtype::I8;
  if (element.isInteger(32))
    return Dtype::I32;
  if (element.isInteger(64))
    return Dtype::I64;
  return std::nullopt;
}

Memory::Memory(std::string name, RefType type, const Buffer *given)
    : name(std::move(name)), type(type), given(given),
      dtype(dtypeOf(type.getElementType())),
      elementKind(kindOf(type.getElementType())) {}

std::optional<Dtype> Memory::narrow() const {
  return dtype == Dtype::F16 || dtype == Dtype::BF16 ? dtype : std::nullopt;
}

/// `(B T)` with a ragged T is packed: sequence b starts where the ones before
/// end.
static std::vector<int64_t> startsOf(const Tensor &extents, int64_t rows) {
  std::vector<int64_t> starts = {0};
  for (int64_t b = 0; b < rows; ++b)
    starts.push_back(starts.back() + extents.integer[b]);
  return starts;
}

Error Memory::prepareDimension(MemoryDimension &dimension, const Space &space,
                               size_t d) {
  auto fail = [&](const llvm::Twine &what) {
    return createStringError(llvm::inconvertibleErrorCode(),
                             name + ": dimension " + llvm::Twine(d) + what);
  };
  dimension.extent = 1;
  const Tensor *ragged = nullptr;
  for (MemoryFactor &factor : dimension.factors) {
    Expected<int64_t> extent = space.evaluate(factor.declared);
    if (!extent)
      return fail(": " + llvm::toString(extent.takeError()));
    factor.extent = *extent;
    StringAttr axis = factor.declared.getName();
    factor.ragged = axis && space.isRagged(axis);
    if (factor.ragged)
      ragged = space.raggedExtent(axis);
    if (factor.extent < 0 ||
        llvm::MulOverflow(dimension.extent, factor.extent, dimension.extent))
      return fail(", " + type.getDims()[d].str() + ", has no sound extent");
  }
  if (ragged && dimension.factors.size() == 2 && dimension.factors[1].ragged) {
    StringAttr first = dimension.factors[0].declared.getName();
    if (!first || ragged->axes.size() != 1 || ragged->axes[0] != first)
      return fail(", " + type.getDims()[d].str() +
                  ", is packed, so its first factor is what the second's "
                  "extent depends on");
    dimension.starts = startsOf(*ragged, dimension.factors[0].extent);
    dimension.extent = dimension.starts.back();
  } else if (ragged && dimension.factors.size() > 1) {
    return fail(", " + type.getDims()[d].str() + ", multiplies a ragged axis");
  } else if (ragged && given) {
    // A ragged axis alone in its dimension: the storage holds at least the
    // longest.
    if (given->shape[d] < dimension.extent)
      return fail(" is " + llvm::Twine(given->shape[d]) + ", the longest " +
                  type.getDims()[d].str() + " is " +
                  llvm::Twine(dimension.extent));
    dimension.extent = dimension.factors[0].extent = given->shape[d];
  } else if (ragged) {
    dimension.isPadded = true;
  }
  if (given && given->shape[d] != dimension.extent)
    return fail(" is " + llvm::Twine(given->shape[d]) + ", " +
                type.getDims()[d].str() + " needs " +
                llvm::Twine(dimension.extent));
  return Error::success();
}

Error Memory::prepare(const Space &space) {
  if (prepared)
    return Error::success();
  if (given && given->dtype != dtype)
    return createStringError("%s: holds %s, %s is declared", name.c_str(),
                             dtypeName(given->dtype).data(),
                             dtype ? dtypeName(*dtype).data() : "f64");
  Shape shape;
  dimensions.clear();
  factors = 0;
  for (auto [d, dim] : llvm::enumerate(type.getDims())) {
    MemoryDimension &dimension = dimensions.emplace_back();
    for (ExtentAttr factor : dim.getFactors())
      dimension.factors.push_back({factor});
    if (Error error = prepareDimension(dimension, space, d))
      return error;
    factors += dimension.factors.size();
    shape.push_back(dimension.extent);
  }
  std::optional<int64_t> elements = elementCount(shape, Dtype::I64);
  if (!elements || *elements > (int64_t(1) << 32))
    return createStringError("%s: %s elements are too many to interpret",
                             name.c_str(), shapeText(shape).c_str());
  count = *elements;
  flags.assign(count, Present);
  if (elementKind == Kind::Number)
    stored = given ? given->numbers() : std::vector<double>(count, 0.0);
  else
    integers.assign(count, 0);
  for (int64_t i = 0; given && elementKind != Kind::Number && i < count; ++i)
    integers[i] = given->integer(i);
  // Behind the end of a sequence nothing is written, and nothing is promised.
  if (llvm::any_of(dimensions, [](auto &d) { return d.isPadded; }))
    forget();
  prepared = true;
  return Error::success();
}

std::optional<int64_t> Memory::locate(llvm::ArrayRef<int64_t> indices) const {
  int64_t element = 0;
  for (const MemoryDimension &dimension : dimensions) {
    int64_t at = 0;
    llvm::ArrayRef<int64_t> own = indices.take_front(dimension.factors.size());
    indices = indices.drop_front(own.size());
    if (!dimension.starts.empty()) {
      if (own[0] < 0 || own[0] >= dimension.factors[0].extent)
        return std::nullopt;
      int64_t start = dimension.starts[own[0]],
              end = dimension.starts[own[0] + 1];
      if (own[1] < 0 || own[1] >= end - start)
        return std::nullopt;
      at = start + own[1];
    } else {
      for (auto [index, factor] : llvm::zip(own, dimension.factors)) {
        if (index < 0 || index >= factor.extent)
          return std::nullopt;
        at = at * factor.extent + index;
      }
    }
    element = element * dimension.extent + at;
  }
  return element;
}

void Memory::read(int64_t from, Tensor &tensor, int64_t i) const {
  tensor.flags[i] = flags[from];
  bool touched = !radius.empty() && radius[from] != 0;
  if (elementKind == Kind::Number) {
    // A reader gets the rounded value; another evaluation may have rounded the
    // other way, which the written radius covers, measured from the unrounded
    // one.
    double moved = touched ? std::fabs(stored[from] - exact[from]) : 0;
    tensor.setNumber(i, {stored[from], touched ? radius[from] + moved : 0});
    return;
  }
  if (touched) {
    tensor.flags[i] |= Unsure;
    tensor.radius.resize(tensor.size(), 0);
    tensor.radius[i] = radius[from];
  }
  if (elementKind == Kind::Condition)
    tensor.condition[i] = integers[from] != 0;
  else
    tensor.integer[i] = integers[from];
}

double &Memory::radiusAt(int64_t i) {
  if (radius.empty()) {
    radius.assign(count, 0);
    exact = stored;
  }
  return radius[i];
}

/// Half a unit in the last place of the largest number that `x` may be.
static double roundingOf(Number x, Dtype dtype) {
  FloatFormat format = floatFormat(dtype);
  double size = std::min(std::fabs(x.value) + x.radius, format.largest);
  int exponent = size > 0 ? std::max(std::ilogb(size), format.minExponent)
                          : format.minExponent;
  return std::ldexp(0.5, exponent - format.mantissaBits);
}

/// What an f16 or bf16 store makes of numbers that may or may not overflow.
static Number storedNumber(Number x, Dtype dtype) {
  FloatFormat format = floatFormat(dtype);
  if (!x.bounded() || std::isnan(x.value))
    return x;
  if (!std::isfinite(x.value) || x.exact())
    return {roundTo(x.value, dtype), 0};
  double low = roundTo(x.value - x.radius, dtype),
         high = roundTo(x.value + x.radius, dtype);
  if (std::isinf(low) || std::isinf(high))
    return low == high ? Number{low, 0} : Number::unbounded(x.value);
  x.value = std::clamp(x.value, -format.largest, format.largest);
  // An f32 evaluation is in f32 already; narrower stores round once more.
  return {x.value,
          dtype == Dtype::F32 ? x.radius : x.radius + roundingOf(x, dtype)};
}

void Memory::writeNumber(int64_t to, Number x) {
  if (elementKind != Kind::Number) {
    double low = roundTo(x.value - x.radius, *dtype),
           high = roundTo(x.value + x.radius, *dtype);
    integers[to] =
        saturate(static_cast<int64_t>(roundTo(x.value, *dtype)), *dtype);
    if (x.exact() && x.value >= 0x1p63)
      integers[to] = integerMaximum(*dtype);
    // What a NaN becomes in an integer is not promised.
    if (std::isnan(x.value))
      radiusAt(to) = kUnbounded;
    else if (low != high || !radius.empty())
      radiusAt(to) = low == high ? 0 : x.bounded() ? high - low : kUnbounded;
    return;
  }
  if (!dtype) {
    stored[to] = x.value;
    if (!x.exact() || !radius.empty()) {
      radiusAt(to) = x.radius;
      exact[to] = x.value;
    }
    return;
  }
  Number kept = storedNumber(x, *dtype);
  stored[to] = roundTo(kept.value, *dtype);
  if (!kept.exact() || !radius.empty()) {
    radiusAt(to) = kept.radius;
    exact[to] = kept.value;
  }
}

void Memory::write(int64_t to, const Tensor &tensor, int64_t i) {
  flags[to] = Present;
  bool unsure = tensor.flags[i] & Unsure;
  if (tensor.kind == Kind::Number) {
    writeNumber(to,
                unsure ? Number::unbounded(tensor.value[i]) : tensor.number(i));
    return;
  }
  int64_t whole =
      tensor.kind == Kind::Integer ? tensor.integer[i] : tensor.condition[i];
  if (elementKind == Kind::Number) {
    Number x = {static_cast<double>(whole), 0};
    writeNumber(to, unsure ? Number::unbounded(x.value) : x);
    return;
  }
  integers[to] = dtype ? saturate(whole, *dtype) : whole;
  if (unsure || !radius.empty())
    radiusAt(to) = unsure ? kUnbounded : 0;
}

void Memory::poison(int64_t to, uint8_t flag) { flags[to] |= flag; }

void Memory::forget() {
  for (int64_t i = 0; i < count; ++i)
    forget(i);
}

Result Memory::result() const {
  Result result;
  Shape shape;
  for (const MemoryDimension &dimension : dimensions) {
    shape.push_back(dimension.extent);
    StoredDimension &out = result.dimensions.emplace_back();
    for (const MemoryFactor &factor : dimension.factors) {
      StringAttr axis = factor.declared.getName();
      out.factors.push_back(
          {axis ? axis.getValue().lower() : "", factor.extent});
    }
    out.starts = dimension.starts;
    out.isPadded = dimension.isPadded;
  }
  result.rounded = Buffer::zeros(dtype.value_or(Dtype::F32), shape);
  result.value.resize(count);
  result.radius = radius.empty() ? std::vector<double>(count, 0.0) : radius;
  for (int64_t i = 0; i < count; ++i) {
    if (elementKind == Kind::Number) {
      result.rounded.set(i, stored[i]);
      result.value[i] = exact.empty() ? stored[i] : exact[i];
    } else {
      result.rounded.setInteger(i, integers[i]);
      result.value[i] = static_cast<double>(integers[i]);
    }
  }
  return result;
}

} // namespace attn::reference
