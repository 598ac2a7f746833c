//===- Grid.cpp - the extents that a check tries --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A full grid over six axes would be thousands of cases. Here each round gives every axis another entry of its list, and
// lists of different lengths meet in all pairs over time.
//===----------------------------------------------------------------------===//
#include "tools/attnc/Grid.h"

#include "tools/attnc/Requirements.h"
#include "tools/attnc/Work.h"
#include "llvm/ADT/StringSwitch.h"

using namespace attn;
using namespace attnc;
using llvm::StringRef;

namespace {

using Choice = std::vector<std::pair<std::string, int64_t>>;

enum class Role { Count, Position, Width };

/// By the letters that specs use: batch and heads are counts, S T M positions, the rest widths.
Role roleOf(StringRef axis) {
  return llvm::StringSwitch<Role>(axis)
      .Cases({"B", "H", "G", "R", "N"}, Role::Count)
      .Cases({"S", "T", "M", "P", "L"}, Role::Position)
      .Default(Role::Width);
}

std::vector<int64_t> listFor(Role role, llvm::ArrayRef<int64_t> tiles) {
  switch (role) {
  case Role::Count:
    return {1, 2, 3};
  case Role::Position: {
    std::vector<int64_t> list = {17, 1, 13, 33, 2, 64, 7};
    for (int64_t tile : tiles)
      if (tile > 1)
        list.insert(list.end(), {tile - 1, tile + 1});
    return list;
  }
  case Role::Width:
    return {16, 20, 1, 59, 8, 72, 5};
  }
  llvm_unreachable("all roles are above");
}

class Grid {
public:
  Grid(const Signature &signature, const Choice &chosen, llvm::ArrayRef<int64_t> tiles, double operations)
      : signature(signature), chosen(chosen), tiles(tiles), operations(operations) {
    for (StringRef axis : freeAxes(signature))
      if (llvm::none_of(chosen, [&](const auto &entry) { return entry.first == axis; }))
        axes.push_back(axis.str());
    for (const std::string &axis : axes)
      lists.push_back(listFor(roleOf(axis), tiles));
  }

  std::vector<Extents> build() {
    if (axes.empty()) {
      add({});
      return std::move(cases);
    }
    size_t rounds = 0;
    for (const auto &list : lists)
      rounds = std::max(rounds, list.size());
    // One more round than entries, because the first does not shift the lists.
    for (size_t round = 0; round <= rounds; ++round)
      add(choice(round));
    // All positions past two of the same tile: only so do masked rows carry anything from one tile of keys to the next.
    for (int64_t tile : tiles)
      if (tile > 1)
        add(pastTwoTiles(tile));
    // Nothing along one axis, everything else as it was in the first round.
    for (size_t axis = 0; axis < axes.size(); ++axis) {
      Choice empty = choice(0);
      empty[axis].second = 0;
      add(empty);
    }
    return std::move(cases);
  }

private:
  Choice choice(size_t round) const {
    Choice extents;
    for (size_t axis = 0; axis < axes.size(); ++axis)
      // Axes of one role start at different places, so that queries and keys differ.
      extents.emplace_back(axes[axis], lists[axis][(round + (round ? axis : 0)) % lists[axis].size()]);
    return extents;
  }

  Choice pastTwoTiles(int64_t tile) const {
    Choice extents = choice(0);
    for (auto &[axis, extent] : extents)
      if (roleOf(axis) == Role::Position)
        extent = 2 * tile + 1;
    return extents;
  }

  void add(Choice extents) {
    extents.insert(extents.end(), chosen.begin(), chosen.end());
    if (auto solved = consistent(extents)) {
      auto work = countOperations(signature, *solved, [](mlir::Value) { return llvm::Expected<double>(1.0); });
      if (!work)
        llvm::consumeError(work.takeError());
      else if (*work <= operations)
        cases.push_back(std::move(*solved));
    }
  }

  /// Widths are raised until the program's facts hold, such as `E = D / H`, and then its requirements are met.
  std::optional<Extents> consistent(Choice extents) const {
    for (int64_t attempt = 0; attempt < 64; ++attempt) {
      auto solved = extentsFrom(signature, extents);
      if (solved)
        return meetRequirements(signature, extents, axes);
      llvm::consumeError(solved.takeError());
      for (auto &[axis, extent] : extents)
        if (roleOf(axis) == Role::Width && extent > 0 && llvm::is_contained(axes, axis))
          ++extent;
    }
    return std::nullopt;
  }

  const Signature &signature;
  const Choice &chosen;
  llvm::ArrayRef<int64_t> tiles;
  double operations;
  std::vector<std::string> axes;
  std::vector<std::vector<int64_t>> lists;
  std::vector<Extents> cases;
};

} // namespace

std::vector<Extents> attnc::extentGrid(const Signature &signature,
                                       llvm::ArrayRef<std::pair<std::string, int64_t>> chosen,
                                       llvm::ArrayRef<int64_t> tiles, double operations) {
  Choice fixed(chosen.begin(), chosen.end());
  return Grid(signature, fixed, tiles, operations).build();
}
