// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/attnc/Grid.h"
#include "test/unit/attnc/Programs.h"
#include <set>

using namespace attnc;

namespace {

struct Grid : Programs {
  std::set<int64_t> extentsOf(llvm::ArrayRef<Extents> grid, llvm::StringRef axis) {
    std::set<int64_t> found;
    for (const Extents &extents : grid)
      found.insert(extents.lookup(axis));
    return found;
  }
};

TEST_F(Grid, HasZeroOneAndBothSidesOfTiles) {
  attn::Signature signature = parse(causal);
  auto grid = extentGrid(signature, {}, {24}, 1e9);
  for (const char *axis : {"S", "T"}) {
    std::set<int64_t> found = extentsOf(grid, axis);
    for (int64_t extent : {0, 1, 13, 17, 23, 25})
      EXPECT_TRUE(found.count(extent)) << axis << " = " << extent;
  }
  // Somewhere both are past two tiles.
  EXPECT_TRUE(llvm::any_of(grid, [](const Extents &e) { return e.lookup("S") > 48 && e.lookup("T") > 48; }));
  // Queries and keys differ somewhere, both ways.
  EXPECT_TRUE(llvm::any_of(grid, [](const Extents &e) { return e.lookup("S") < e.lookup("T"); }));
  EXPECT_TRUE(llvm::any_of(grid, [](const Extents &e) { return e.lookup("S") > e.lookup("T"); }));
}

TEST_F(Grid, KeepsFactsAndChoices) {
  attn::Signature signature = parse(layer);
  auto grid = extentGrid(signature, {{"B", 2}}, {}, 1e9);
  ASSERT_FALSE(grid.empty());
  EXPECT_EQ(extentsOf(grid, "B"), std::set<int64_t>{2});
  for (const Extents &extents : grid)
    EXPECT_EQ(extents.lookup("E") * 4, extents.lookup("D"));
}

TEST_F(Grid, LeavesOutWhatIsTooMuchWork) {
  attn::Signature signature = parse(causal);
  EXPECT_TRUE(extentGrid(signature, {{"S", 100000}, {"T", 100000}, {"E", 64}}, {}, 2e7).empty());
}

} // namespace
