// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A search by halves for rows without effect.
#include "dialects/reference/Poison.h"
#include <cmath>
#include <deque>

namespace attn::reference {

namespace {
bool sameNumber(double a, double b) { return a == b || (a != a && b != b); }

/// A run of rows of one argument.
struct Rows {
  std::string name;
  int64_t first, count, width;

  bool holds(int64_t element) const {
    return element >= first * width && element < (first + count) * width;
  }
};

class Search {
public:
  Search(mlir::Operation *program, const Arguments &arguments, Results expected,
         int64_t runs)
      : program(program), state{arguments, std::move(expected), 0}, runs(runs) {
  }

  Poisoned run() {
    std::deque<Rows> open;
    for (const auto &[name, buffer] : state.arguments)
      if (isFloat(buffer.dtype) && buffer.size() > 0) {
        // Small tensors go by element, as masks cut their last dimension, too.
        int64_t width = buffer.size() <= 256 || buffer.shape.empty()
                            ? 1
                            : buffer.shape.back();
        open.push_back({name, 0, buffer.size() / width, width});
      }
    for (; !open.empty() && runs > 0; --runs) {
      Rows rows = open.front();
      open.pop_front();
      if (tryRows(rows) || rows.count == 1)
        continue;
      int64_t half = rows.count / 2;
      open.push_back({rows.name, rows.first, half, rows.width});
      open.push_back(
          {rows.name, rows.first + half, rows.count - half, rows.width});
    }
    return std::move(state);
  }

private:
  /// Keeps the poison where nothing shows it.
  bool tryRows(const Rows &rows) {
    Buffer &buffer = state.arguments[rows.name], before = buffer;
    double infinity = std::numeric_limits<double>::infinity();
    for (int64_t i = rows.first * rows.width, end = i + rows.count * rows.width;
         i < end; ++i)
      buffer.set(i, i / rows.width % 2
                        ? infinity
                        : std::numeric_limits<double>::quiet_NaN());
    llvm::Expected<Results> results = interpret(program, state.arguments);
    if (results && unchanged(*results, rows)) {
      state.expected = std::move(*results);
      state.elements += rows.count * rows.width;
      return true;
    }
    if (!results)
      llvm::consumeError(results.takeError());
    buffer = std::move(before);
    return false;
  }

  bool unchanged(const Results &results, const Rows &rows) const {
    for (const auto &[name, now] : results) {
      const Result &before = state.expected.at(name);
      for (size_t i = 0; i < now.value.size(); ++i) {
        // Counting fewer terms may make a radius smaller: only its being there
        // counts.
        bool same =
            sameNumber(now.value[i], before.value[i]) &&
            std::isfinite(now.radius[i]) == std::isfinite(before.radius[i]);
        bool leftAlone =
            name == rows.name && rows.holds(i) &&
            sameNumber(now.value[i], state.arguments.at(name).number(i));
        if (!same && !leftAlone)
          return false;
      }
    }
    return true;
  }

  mlir::Operation *program;
  Poisoned state;
  int64_t runs;
};
} // namespace

Poisoned poisonAbsent(mlir::Operation *program, const Arguments &arguments,
                      Results expected, int64_t runs) {
  // A run takes longer the more there is to read: large programs get fewer.
  int64_t elements = 1;
  for (const auto &[name, buffer] : arguments)
    elements += buffer.size();
  runs = std::min(runs, (int64_t(1) << 21) / elements);
  return Search(program, arguments, std::move(expected), runs).run();
}

} // namespace attn::reference
