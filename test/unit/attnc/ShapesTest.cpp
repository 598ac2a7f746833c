// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/attnc/Shapes.h"
#include "test/unit/attnc/Programs.h"

using namespace attn;
using namespace attnc;
using Shape = llvm::SmallVector<int64_t, 4>;

namespace {

struct Shapes : Programs {};

TEST_F(Shapes, FreeAxesAreThoseThatNoFactGives) {
  EXPECT_EQ(freeAxes(parse(layer)), (llvm::SmallVector<llvm::StringRef>{"B", "S", "D"}));
}

TEST_F(Shapes, ChosenExtentsDecideTheOthers) {
  Signature signature = parse(layer);
  auto extents = extentsFrom(signature, {{"B", 2}, {"S", 10}, {"D", 64}});
  ASSERT_TRUE(bool(extents)) << llvm::toString(extents.takeError());
  EXPECT_EQ(extents->lookup("E"), 16);
  EXPECT_EQ(extents->lookup("T"), 10);
  EXPECT_EQ(llvm::cantFail(shapeOf(signature, 1, *extents)), (Shape{64, 64}));
  EXPECT_EQ(llvm::cantFail(shapeOf(signature, 2, *extents)), (Shape{2, 10, 64}));
}

TEST_F(Shapes, ContradictionIsExplained) {
  auto extents = extentsFrom(parse(layer), {{"D", 64}, {"E", 8}});
  ASSERT_FALSE(bool(extents));
  EXPECT_EQ(llvm::toString(extents.takeError()), "E is 8, but E = D / H gives 16");
}

TEST_F(Shapes, UnknownAxisIsNamed) {
  auto extents = extentsFrom(parse(layer), {{"Q", 3}});
  ASSERT_FALSE(bool(extents));
  EXPECT_EQ(llvm::toString(extents.takeError()), "'Q' is not an axis of layer");
}

TEST_F(Shapes, ResultsFollowFromInputs) {
  Signature signature = parse(layer);
  reference::Buffers inputs;
  inputs["x"] = reference::Buffer::zeros(reference::Dtype::F32, {1, 7, 8});
  inputs["wq"] = reference::Buffer::zeros(reference::Dtype::F32, {8, 8});
  auto extents = extentsFrom(signature, inputs);
  ASSERT_TRUE(bool(extents)) << llvm::toString(extents.takeError());
  EXPECT_EQ(llvm::cantFail(shapeOf(signature, 2, *extents, inputs)), (Shape{1, 7, 8}));
}

TEST_F(Shapes, PackedRaggedDimensionIsTheSum) {
  Signature signature = parse(R"(
attn.program @packed(in "x" %x : !attn.ref<[(B T), E], f32>, in "start" %start : !attn.ref<[B + 1], i32>,
                     out "y" %y : !attn.ref<[(B T), E], f32>) axes [<B = start.0 - 1>, <E = x.1>, <T[B]>] facts [] {
  %b = attn.index "B" : !attn.value<[B], i64>
  %s = attn.read %start[%b] : (!attn.ref<[B + 1], i32>, !attn.value<[B], i64>) -> !attn.value<[B], i64>
  %l = attn.map(%s) : (!attn.value<[B], i64>) -> !attn.value<[B], i64> {
  ^bb0(%i: i64):
    attn.yield %i : i64
  }
  attn.ragged "T" = %l : !attn.value<[B], i64>
}
)");
  auto extents = extentsFrom(signature, {{"B", 3}, {"T", 20}});
  ASSERT_TRUE(bool(extents)) << llvm::toString(extents.takeError());
  EXPECT_EQ(llvm::cantFail(shapeOf(signature, 0, *extents)), (Shape{20, 64}));
  auto start = specOf(signature, 1, *extents);
  ASSERT_TRUE(bool(start));
  EXPECT_EQ(start->shape, (Shape{4}));
  EXPECT_EQ(start->range.kind, reference::IntegerRange::Offsets);
  EXPECT_EQ(start->range.high, 20);

  reference::Buffers inputs;
  inputs["x"] = reference::Buffer::zeros(reference::Dtype::F32, {11, 2});
  inputs["start"] = reference::Buffer::zeros(reference::Dtype::I32, {3});
  auto given = extentsFrom(signature, inputs);
  ASSERT_TRUE(bool(given)) << llvm::toString(given.takeError());
  EXPECT_EQ(llvm::cantFail(shapeOf(signature, 2, *given, inputs)), (Shape{11, 2}));
}

TEST_F(Shapes, IntegersStayInTheRangeOfTheirUse) {
  Signature signature = parse(R"(
attn.program @lengths(in "x" %x : !attn.ref<[B, T], f32>, in "len" %len : !attn.ref<[B], i32>,
                      in "table" %table : !attn.ref<[B], i32>, out "y" %y : !attn.ref<[B, T], f32>)
    axes [<B = x.0>, <T = x.1>] facts [] {
  %b = attn.index "B" : !attn.value<[B], i64>
  %t = attn.index "T" : !attn.value<[T], i64>
  %n = attn.read %len[%b] : (!attn.ref<[B], i32>, !attn.value<[B], i64>) -> !attn.value<[B], i64>
  %keep = attn.map(%t, %n) : (!attn.value<[T], i64>, !attn.value<[B], i64>) -> !attn.value<[B, T], i1> {
  ^bb0(%i: i64, %l: i64):
    %less = arith.cmpi slt, %i, %l : i64
    attn.yield %less : i1
  }
  %row = attn.read %table[%b] : (!attn.ref<[B], i32>, !attn.value<[B], i64>) -> !attn.value<[B], i64>
  %v = attn.read %x[%row, %t] : (!attn.ref<[B, T], f32>, !attn.value<[B], i64>, !attn.value<[T], i64>) -> !attn.value<[B, T], f32>
  attn.write %v, %y[%b, %t] where %keep : !attn.value<[B, T], f32>, !attn.ref<[B, T], f32>, !attn.value<[B], i64>, !attn.value<[T], i64>, !attn.value<[B, T], i1>
}
)");
  auto extents = extentsFrom(signature, {{"B", 5}, {"T", 9}});
  ASSERT_TRUE(bool(extents)) << llvm::toString(extents.takeError());
  EXPECT_EQ(llvm::cantFail(specOf(signature, 1, *extents)).range.high, 9);
  EXPECT_EQ(llvm::cantFail(specOf(signature, 2, *extents)).range.high, 4);
}

} // namespace
