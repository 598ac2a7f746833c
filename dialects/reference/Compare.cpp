// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Ratios of error to radius, and the report on them.
#include "dialects/reference/Compare.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include <algorithm>
#include <cmath>
#include <limits>

namespace attn::reference {

static constexpr double kInfinity = std::numeric_limits<double>::infinity();
static constexpr size_t kShown = 5;

Outcome combine(Outcome a, Outcome b) {
  if (a == Outcome::Mismatch || b == Outcome::Mismatch)
    return Outcome::Mismatch;
  return a == Outcome::Agree || b == Outcome::Agree ? Outcome::Agree
                                                    : Outcome::NothingCompared;
}

std::string Result::place(int64_t i) const {
  llvm::SmallVector<std::string, 6> parts;
  auto add = [&](const StoredFactor &factor, size_t dimension, int64_t index) {
    std::string name =
        factor.index.empty() ? "#" + std::to_string(dimension) : factor.index;
    parts.push_back(name + "=" + std::to_string(index));
  };
  for (size_t d = rounded.shape.size(); d-- > 0;) {
    int64_t extent = rounded.shape[d], at = extent ? i % extent : 0;
    i = extent ? i / extent : 0;
    llvm::ArrayRef<StoredFactor> factors = dimensions[d].factors;
    const std::vector<int64_t> &starts = dimensions[d].starts;
    if (!starts.empty() && factors.size() == 2) {
      auto next = std::upper_bound(starts.begin(), starts.end(), at);
      int64_t row = next - starts.begin() - 1;
      add(factors[1], d, at - starts[row]);
      add(factors[0], d, row);
      continue;
    }
    for (size_t f = factors.size(); f-- > 0;) {
      int64_t size = std::max<int64_t>(factors[f].extent, 1);
      add(factors[f], d, f == 0 ? at : at % size);
      at /= size;
    }
  }
  std::reverse(parts.begin(), parts.end());
  return llvm::join(parts, " ");
}

namespace {
double ratioOf(Difference &d) {
  if (std::isnan(d.expected) || std::isnan(d.actual) ||
      std::isinf(d.expected) || std::isinf(d.actual)) {
    bool same =
        std::isnan(d.expected) ? std::isnan(d.actual) : d.expected == d.actual;
    d.error = same ? 0 : kInfinity;
    return d.error;
  }
  d.error = std::fabs(d.actual - d.expected);
  if (d.error == 0)
    return 0;
  return d.radius > 0 ? d.error / d.radius : kInfinity;
}

void keepWorst(std::vector<Difference> &worst, const Difference &d) {
  auto before = [](const Difference &a, const Difference &b) {
    return a.ratio != b.ratio ? a.ratio > b.ratio : a.element < b.element;
  };
  if (worst.size() == kShown && !before(d, worst.back()))
    return;
  worst.insert(std::upper_bound(worst.begin(), worst.end(), d, before), d);
  if (worst.size() > kShown)
    worst.pop_back();
}

/// Padded dimensions may be longer than what is expected in them.
bool fits(const Result &expected, const Buffer &actual) {
  llvm::ArrayRef<int64_t> wanted = expected.rounded.shape, given = actual.shape;
  if (wanted.size() != given.size())
    return false;
  for (size_t d = 0; d < wanted.size(); ++d) {
    bool isPadded =
        d < expected.dimensions.size() && expected.dimensions[d].isPadded;
    if (isPadded ? given[d] < wanted[d] : given[d] != wanted[d])
      return false;
  }
  return true;
}

/// Where element `i` of what is expected lies in storage that may be longer.
int64_t placeIn(const Buffer &actual, llvm::ArrayRef<int64_t> wanted,
                int64_t i) {
  int64_t place = 0, stride = 1;
  for (size_t d = wanted.size(); d-- > 0;) {
    place += i % wanted[d] * stride;
    i /= wanted[d];
    stride *= actual.shape[d];
  }
  return place;
}

llvm::Error checkStorage(llvm::StringRef name, const Result &result,
                         const Buffer &actual) {
  const Buffer &expected = result.rounded;
  if (expected.dtype != actual.dtype)
    return llvm::createStringError(
        "%s: %s was expected, %s was given", name.str().c_str(),
        dtypeName(expected.dtype).data(), dtypeName(actual.dtype).data());
  if (!fits(result, actual))
    return llvm::createStringError(
        "%s: shape %s was expected, %s was given", name.str().c_str(),
        shapeText(expected.shape).c_str(), shapeText(actual.shape).c_str());
  return llvm::Error::success();
}
} // namespace

llvm::Expected<Comparison> compare(llvm::StringRef name, const Result &expected,
                                   const Buffer &actual) {
  if (llvm::Error error = checkStorage(name, expected, actual))
    return std::move(error);
  Comparison result;
  result.name = name.str();
  result.elements = expected.rounded.size();
  std::vector<Difference> worst;
  std::vector<double> ratios;
  for (int64_t i = 0; i < result.elements; ++i) {
    int64_t place = placeIn(actual, expected.rounded.shape, i);
    Difference d{i, actual.number(place), expected.value[i],
                 0, expected.radius[i], 0};
    // Written so that a radius that is NaN counts as no promise too.
    if (!(d.radius < kInfinity)) {
      ++result.unbounded;
      continue;
    }
    ++result.compared;
    d.ratio = ratioOf(d);
    result.failed += d.ratio > 1;
    auto bucket = llvm::find_if(Comparison::kEnds,
                                [&](double end) { return d.ratio <= end; });
    ++result.histogram[bucket - Comparison::kEnds.begin()];
    if (d.radius > 0)
      ratios.push_back(d.ratio);
    keepWorst(worst, d);
  }
  if (!worst.empty())
    result.worst = worst.front().ratio;
  if (!ratios.empty()) {
    auto middle = ratios.begin() + ratios.size() / 2;
    std::nth_element(ratios.begin(), middle, ratios.end());
    result.median = *middle;
  }
  for (const Difference &d : worst)
    result.worstElements.emplace_back(d, expected.place(d.element));
  return result;
}

Outcome Comparison::outcome() const {
  if (failed)
    return Outcome::Mismatch;
  return compared ? Outcome::Agree : Outcome::NothingCompared;
}

static void printHistogram(
    llvm::raw_ostream &out,
    const std::array<int64_t, Comparison::kEnds.size() + 1> &histogram) {
  out << "  error / bound:";
  for (size_t i = 0; i < histogram.size(); ++i) {
    if (i == 0)
      out << "  0: ";
    else if (i < Comparison::kEnds.size())
      out << llvm::format("  <=%g: ", Comparison::kEnds[i]);
    else
      out << "  more: ";
    out << histogram[i];
  }
  out << "\n";
}

void Comparison::print(llvm::raw_ostream &out) const {
  out << name << ": ";
  switch (outcome()) {
  case Outcome::Agree:
    out << "agrees";
    break;
  case Outcome::NothingCompared:
    out << "nothing compared";
    break;
  case Outcome::Mismatch:
    out << failed << " of " << compared << " elements differ"
        << llvm::format(" (%.3g %%)", 100.0 * failed / compared);
    break;
  }
  out << ", " << elements << " elements, " << compared << " compared, "
      << unbounded << " without a bound, worst error / bound "
      << llvm::format("%.3g", worst) << ", median "
      << llvm::format("%.3g", median) << "\n";
  if (outcome() != Outcome::Mismatch)
    return;
  for (const auto &[d, place] : worstElements)
    out << "  " << (place.empty() ? "scalar" : place)
        << llvm::format("  got %.9g  expected %.9g  error %.3g  bound %.3g  "
                        "ratio %.3g\n",
                        d.actual, d.expected, d.error, d.radius, d.ratio);
  printHistogram(out, histogram);
}

} // namespace attn::reference
