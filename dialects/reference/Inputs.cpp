// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The list of input cases, each one small function per kind of argument.
#include "dialects/reference/Inputs.h"
#include "dialects/reference/Philox.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/xxhash.h"
#include <cmath>
#include <limits>
#include <numeric>

namespace attn::reference {

double Place::uniform(uint32_t salt) const {
  // The salt takes the counter's top bits, which no element number reaches.
  uint64_t counter =
      static_cast<uint64_t>(element) | (static_cast<uint64_t>(salt) << 48);
  return (philox(key, counter)[0] + 0.5) / 4294967296.0;
}

double Place::normal() const {
  return std::sqrt(-2 * std::log(uniform(1))) *
         std::cos(6.283185307179586 * uniform(2));
}

int64_t Place::along(size_t d) const {
  int64_t i = element;
  for (size_t k = rank(); --k > d;)
    i /= extent(k);
  return i % extent(d);
}

namespace {
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Scalars are scales, caps and probabilities: they stay harmless in every
/// case.
double scalarOr(const Place &p, double value) {
  return p.rank() == 0 ? 0.25 + 0.5 * p.uniform() : value;
}

/// Matrices are weights: scaled by the width that they contract, as trained
/// ones are.
double normalNumber(const Place &p) {
  double scale =
      p.rank() == 2 ? 1 / std::sqrt(static_cast<double>(p.extent(1))) : 1;
  return scalarOr(p, p.normal() * scale);
}
double zero(const Place &p) { return scalarOr(p, 0); }
double one(const Place &p) { return scalarOr(p, 1); }
/// With 64 wide heads and rsqrt(E), scores spread to about a thousand either
/// way, where exp of an unshifted score overflows or vanishes.
double large(const Place &p) {
  return p.rank() > 2 ? 32 * p.normal() : normalNumber(p);
}
/// One argument all positive, the next all negative, by their names' hashes:
/// every score lies far below 0, and a padded key that counts as 0 takes the
/// row.
double opposed(const Place &p) {
  if (p.rank() < 3)
    return normalNumber(p);
  return (p.key & 1 ? -1 : 1) * (20 + p.uniform());
}
double tiny(const Place &p) {
  return scalarOr(
      p, std::ldexp(p.normal(), -120 - static_cast<int>(29 * p.uniform(3))));
}
double spread(const Place &p) {
  return scalarOr(
      p, std::ldexp(normalNumber(p), static_cast<int>(24 * p.uniform(3)) - 16));
}
/// The last row of the last but one dimension is where tails and padding are.
bool lastRow(const Place &p) {
  return p.rank() > 2 && p.along(p.rank() - 2) == p.extent(p.rank() - 2) - 1;
}
double nanRow(const Place &p) {
  return lastRow(p) ? std::numeric_limits<double>::quiet_NaN()
                    : normalNumber(p);
}
double infiniteRow(const Place &p) {
  return lastRow(p) ? (p.element & 1 ? kInfinity : -kInfinity)
                    : normalNumber(p);
}

bool mostly(const Place &p) { return p.uniform() < 0.75; }
bool always(const Place &) { return true; }
bool never(const Place &) { return false; }
/// How many entries of the last dimension a row keeps: any number, none among
/// them.
int64_t kept(const Place &p) {
  int64_t extent = p.extent(p.rank() - 1);
  Place row{p.argument, p.key, p.element / std::max<int64_t>(extent, 1)};
  return static_cast<int64_t>(row.uniform(4) * (extent + 1));
}
bool rightPadded(const Place &p) {
  return p.rank() == 0 || p.along(p.rank() - 1) < kept(p);
}
bool leftPadded(const Place &p) {
  return p.rank() == 0 ||
         p.along(p.rank() - 1) >= p.extent(p.rank() - 1) - kept(p);
}
bool lastOnly(const Place &p) {
  return p.rank() == 0 || p.along(p.rank() - 1) == p.extent(p.rank() - 1) - 1;
}

int64_t elementsOf(const ArgumentSpec &argument) {
  return elementCount(argument.shape, argument.dtype).value_or(0);
}

/// A permutation of 0 .. high-1 that needs no state: an affine map whose factor
/// has no divisor in common with `high`.
int64_t distinct(const Place &p, int64_t high) {
  if (high <= 0)
    return 0;
  int64_t factor = 1 + static_cast<int64_t>(philox(p.key, 0)[0] %
                                            static_cast<uint64_t>(high));
  while (std::gcd(factor, high) != 1)
    ++factor;
  return (p.element % high * factor +
          philox(p.key, 1)[0] % static_cast<uint64_t>(high)) %
         high;
}

/// Cut point `entry` of `parts` parts of `high`, in order; the first and last are
/// the ends. Some parts are empty.
int64_t cut(const Place &p, int64_t entry, int64_t parts, int64_t high) {
  if (entry == 0)
    return 0;
  if (entry >= parts)
    return high;
  // Even cuts moved by half a step at most stay sorted. Two of a pair may meet.
  double step = static_cast<double>(high) / static_cast<double>(parts);
  int64_t lower = (entry - 1) / 2 * 2 + 1;
  Place own{p.argument, p.key, entry}, pair{p.argument, p.key, lower};
  double moved = entry * step + (own.uniform() - 0.5) * step;
  if (pair.uniform(5) < 0.3)
    moved = lower + 1 == parts ? static_cast<double>(high) : (lower + 0.5) * step;
  return std::min(high, std::max<int64_t>(0, std::llround(moved)));
}
int64_t offset(const Place &p, int64_t high) {
  return cut(p, p.element, elementsOf(p.argument) - 1, high);
}
int64_t length(const Place &p, int64_t high) {
  int64_t parts = elementsOf(p.argument);
  return cut(p, p.element + 1, parts, high) - cut(p, p.element, parts, high);
}

int64_t pick(const Place &p, int64_t any) {
  switch (p.argument.range.kind) {
  case IntegerRange::Offsets:
    return offset(p, p.argument.range.high);
  case IntegerRange::Lengths:
    return length(p, p.argument.range.high);
  case IntegerRange::Distinct:
    return distinct(p, p.argument.range.high);
  case IntegerRange::Any:
    return any;
  }
  return any;
}
int64_t someInteger(const Place &p) {
  const IntegerRange &range = p.argument.range;
  double span =
      static_cast<double>(range.high) - static_cast<double>(range.low) + 1;
  auto step = static_cast<int64_t>(p.uniform() * std::max(span, 1.0));
  return pick(p, std::min(range.low + step, std::max(range.low, range.high)));
}
int64_t lowest(const Place &p) { return pick(p, p.argument.range.low); }
int64_t highest(const Place &p) { return pick(p, p.argument.range.high); }
/// Lowest and highest in turn, so that an empty sequence lies beside a full
/// one.
int64_t alternating(const Place &p) {
  return pick(p, p.element & 1 ? p.argument.range.high : p.argument.range.low);
}

const InputCase kCases[] = {
    {"normal", "normally distributed", normalNumber, mostly, someInteger},
    {"zeros", "all numbers 0: every row uniform", zero, always, highest},
    {"ties", "all numbers 1: every score the same", one, rightPadded,
     someInteger},
    {"large", "scores near +-1000", large, mostly, someInteger},
    {"opposed", "all scores far below 0", opposed, leftPadded, alternating},
    {"tiny", "denormal numbers", tiny, mostly, someInteger},
    {"spread", "magnitudes from 2^-16 to 2^8", spread, rightPadded,
     alternating},
    {"nan-row", "NaN in the last row", nanRow, leftPadded, someInteger},
    {"infinite-row", "infinities in the last row", infiniteRow, rightPadded,
     highest},
    {"nan-absent", "NaN in all that has no effect", normalNumber, rightPadded,
     someInteger, true},
    {"empty", "every condition false, every length least", normalNumber, never,
     lowest},
    {"last-only", "only the last key kept", normalNumber, lastOnly,
     alternating},
};
} // namespace

llvm::ArrayRef<InputCase> inputCases() { return kCases; }

const InputCase *findInputCase(llvm::StringRef name) {
  const InputCase *found =
      llvm::find_if(inputCases(), [&](const InputCase &inputs) {
        return inputs.name == name;
      });
  return found == inputCases().end() ? nullptr : found;
}

llvm::Expected<Buffer> makeInput(const ArgumentSpec &argument,
                                 const InputCase &inputs, uint64_t seed) {
  llvm::Expected<Buffer> buffer =
      Buffer::create(argument.dtype, argument.shape);
  if (!buffer)
    return llvm::createStringError("%s: %s", argument.name.c_str(),
                                   llvm::toString(buffer.takeError()).c_str());
  uint64_t key =
      llvm::xxh3_64bits(argument.name) ^ (seed * 0x9E3779B97F4A7C15u);
  for (int64_t i = 0, n = buffer->size(); i < n; ++i) {
    Place place{argument, key, i};
    if (argument.dtype == Dtype::Bool)
      buffer->setInteger(i, inputs.condition(place));
    else if (isInteger(argument.dtype))
      buffer->setInteger(i, inputs.integer(place));
    else
      buffer->set(i, inputs.number(place));
  }
  return buffer;
}

} // namespace attn::reference
