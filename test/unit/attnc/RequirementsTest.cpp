// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/attnc/Requirements.h"
#include "test/unit/attnc/Programs.h"

using namespace attn;
using namespace attnc;

namespace {

struct Requirements : Programs {};

/// `C >= S + 4`, `0 < len[b] <= 16 * U`, and a table of pages that are written.
constexpr const char *ring = R"(
attn.program @ring(inout "cache" %cache : !attn.ref<[C], f32>, in "x" %x : !attn.ref<[S], f32>,
                   in "page" %page : !attn.ref<[B, U], i32>, inout "pool" %pool : !attn.ref<[N], f32>,
                   in "len" %len : !attn.ref<[B], i32>)
    axes [<C = cache.0>, <S = x.0>, <B = page.0>, <U = page.1>, <N = pool.0>] facts [] {
  %c = attn.extent "C" : !attn.value<[], i64>
  %n = attn.extent "S" : !attn.value<[], i64>
  %room = attn.map(%c, %n) : (!attn.value<[], i64>, !attn.value<[], i64>) -> !attn.value<[], i1> {
  ^bb0(%a: i64, %d: i64):
    %four = arith.constant 4 : i64
    %least = arith.addi %d, %four : i64
    %holds = arith.cmpi sge, %a, %least : i64
    attn.yield %holds : i1
  }
  attn.require %room, "C >= S + 4" : !attn.value<[], i1>
  %b = attn.index "B" : !attn.value<[B], i64>
  %l = attn.read %len[%b] : (!attn.ref<[B], i32>, !attn.value<[B], i64>) -> !attn.value<[B], i64>
  %u = attn.extent "U" : !attn.value<[], i64>
  %some = attn.map(%l) : (!attn.value<[B], i64>) -> !attn.value<[B], i1> {
  ^bb0(%a: i64):
    %zero = arith.constant 0 : i64
    %holds = arith.cmpi sgt, %a, %zero : i64
    attn.yield %holds : i1
  }
  %fits = attn.map(%l, %u) : (!attn.value<[B], i64>, !attn.value<[], i64>) -> !attn.value<[B], i1> {
  ^bb0(%a: i64, %w: i64):
    %sixteen = arith.constant 16 : i64
    %most = arith.muli %w, %sixteen : i64
    %holds = arith.cmpi sle, %a, %most : i64
    attn.yield %holds : i1
  }
  %both = attn.and %some, %fits : (!attn.value<[B], i1>, !attn.value<[B], i1>) -> !attn.value<[B], i1>
  attn.require %both, "0 < len[b] <= 16 * U" : !attn.value<[B], i1>
  %w = attn.index "U" : !attn.value<[U], i64>
  %p = attn.read %page[%b, %w] : (!attn.ref<[B, U], i32>, !attn.value<[B], i64>, !attn.value<[U], i64>) -> !attn.value<[B, U], i64>
  %s = attn.index "S" : !attn.value<[S], i64>
  %one = attn.constant 1.0 : f32 : !attn.value<[], f32>
  attn.write %one, %pool[%p] : !attn.value<[], f32>, !attn.ref<[N], f32>, !attn.value<[B, U], i64>
}
)";

TEST_F(Requirements, OneUnknownIsSolved) {
  Signature signature = parse(ring);
  auto extents = meetRequirements(signature, {{"S", 9}, {"C", 2}, {"B", 3}, {"U", 2}, {"N", 1}}, {"C", "N"});
  ASSERT_TRUE(extents);
  EXPECT_EQ(extents->lookup("C"), 13);
  EXPECT_EQ(extents->lookup("N"), 6); // Six pages that differ.
  EXPECT_FALSE(meetRequirements(signature, {{"S", 9}, {"C", 2}, {"B", 3}, {"U", 2}, {"N", 1}}, {}));
}

TEST_F(Requirements, RangesOfNumbers) {
  Signature signature = parse(ring);
  auto extents = meetRequirements(signature, {{"S", 1}, {"C", 8}, {"B", 1}, {"U", 2}, {"N", 2}}, {});
  ASSERT_TRUE(extents);
  EXPECT_EQ(requiredRange(signature, 4, *extents, 1000), (std::pair<int64_t, int64_t>(1, 32)));
  EXPECT_EQ(requiredRange(signature, 4, *extents, 7), (std::pair<int64_t, int64_t>(1, 7)));
  EXPECT_EQ(requiredRange(signature, 2, *extents, 7), std::nullopt);
}

} // namespace
