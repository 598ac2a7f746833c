// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where lanes hold the elements of matrices. The tables are the figures of the PTX manual, block by block: in a block
// the lanes follow each other along a row, four to a row.
#include "Snippet.h"

using namespace attn::ptx;

namespace {
/// Eight rows from (row, column) on; lane 4·i + j has in row i the `width` elements from `element` on.
struct Block {
  unsigned row, column, element, width;
};

struct Fragment {
  std::vector<Block> blocks;
  /// The figure of B is written with k down: its lanes follow each other along a column.
  bool downwards = false;

  /// Calls f(lane, element, row, column).
  template <typename F>
  void each(F f) const {
    for (const Block &block : blocks)
      for (unsigned lane = 0; lane < 32; ++lane)
        for (unsigned i = 0; i < block.width; ++i) {
          unsigned along = lane % 4 * block.width + i, across = lane / 4;
          f(lane, block.element + i, block.row + (downwards ? along : across),
            block.column + (downwards ? across : along));
        }
  }
};

struct Case {
  std::string name;
  unsigned k, elementBits;
  Fragment a, b;
};

const Fragment kAccumulator = {{{0, 0, 0, 2}, {8, 0, 2, 2}}};

const Case kCases[] = {
    // a0,a1 above left, a2,a3 below left, a4,a5 above right, a6,a7 below right; b0,b1 above, b2,b3 below.
    {"m16n8k16.row.col.f32.f16.f16.f32",
     16,
     16,
     {{{0, 0, 0, 2}, {8, 0, 2, 2}, {0, 8, 4, 2}, {8, 8, 6, 2}}},
     {{{0, 0, 0, 2}, {8, 0, 2, 2}}, true}},
    {"m16n8k16.row.col.f32.bf16.bf16.f32",
     16,
     16,
     {{{0, 0, 0, 2}, {8, 0, 2, 2}, {0, 8, 4, 2}, {8, 8, 6, 2}}},
     {{{0, 0, 0, 2}, {8, 0, 2, 2}}, true}},
    {"m16n8k8.row.col.f32.f16.f16.f32", 8, 16, {{{0, 0, 0, 2}, {8, 0, 2, 2}}}, {{{0, 0, 0, 2}}, true}},
    {"m16n8k8.row.col.f32.bf16.bf16.f32", 8, 16, {{{0, 0, 0, 2}, {8, 0, 2, 2}}}, {{{0, 0, 0, 2}}, true}},
    // One element a lane and block.
    {"m16n8k8.row.col.f32.tf32.tf32.f32",
     8,
     32,
     {{{0, 0, 0, 1}, {8, 0, 1, 1}, {0, 4, 2, 1}, {8, 4, 3, 1}}},
     {{{0, 0, 0, 1}, {4, 0, 1, 1}}, true}},
    {"m16n8k4.row.col.f32.tf32.tf32.f32", 4, 32, {{{0, 0, 0, 1}, {8, 0, 1, 1}}}, {{{0, 0, 0, 1}}, true}},
    // Four.
    {"m16n8k32.row.col.s32.s8.s8.s32",
     32,
     8,
     {{{0, 0, 0, 4}, {8, 0, 4, 4}, {0, 16, 8, 4}, {8, 16, 12, 4}}},
     {{{0, 0, 0, 4}, {16, 0, 4, 4}}, true}},
    {"m16n8k16.row.col.s32.s8.s8.s32", 16, 8, {{{0, 0, 0, 4}, {8, 0, 4, 4}}}, {{{0, 0, 0, 4}}, true}},
};

Type elementType(const Case &one) {
  for (Type type : {Type::BF16, Type::TF32, Type::F16, Type::S8})
    if (one.name.find("." + typeName(type).str() + ".") != std::string::npos)
      return type;
  return Type::None;
}

/// Small whole numbers that are told apart.
double valueOfA(unsigned row, unsigned column) { return double((row * 7 + column * 5) % 23) - 11; }
double valueOfB(unsigned row, unsigned column) { return double((row * 3 + column * 11) % 19) - 9; }
double valueOfC(unsigned row, unsigned column) { return 100.0 * row + column; }

uint64_t encode(Type type, double value) {
  return type == Type::S8 || type == Type::S32 ? uint64_t(int64_t(value)) : encodeFloat(type, value);
}

std::string list(const char *name, unsigned count) {
  std::string text = "{";
  for (unsigned i = 0; i < count; ++i)
    text += (i ? ", " : "") + std::string(name) + std::to_string(i);
  return text + "}";
}
} // namespace

TEST(Matrix, ProductsByTheTablesOfTheManual) {
  for (const Case &one : kCases) {
    SCOPED_TRACE(one.name);
    Type type = elementType(one);
    bool integer = type == Type::S8;
    unsigned perRegister = 32 / one.elementBits, registersA = one.k * 16 / 32 / perRegister,
             registersB = registersA / 2;
    std::vector<uint32_t> in(32 * 16, 0);
    auto put = [&](unsigned lane, unsigned first, unsigned element, double value) {
      in[lane * 16 + first + element / perRegister] |= uint32_t(
          encode(type, value) << (element % perRegister * one.elementBits) &
          (perRegister == 1 ? ~0ull : ((1ull << one.elementBits) - 1) << (element % perRegister * one.elementBits)));
    };
    one.a.each([&](unsigned lane, unsigned element, unsigned row, unsigned column) {
      put(lane, 0, element, valueOfA(row, column));
    });
    one.b.each([&](unsigned lane, unsigned element, unsigned row, unsigned column) {
      put(lane, 4, element, valueOfB(row, column));
    });
    kAccumulator.each([&](unsigned lane, unsigned element, unsigned row, unsigned column) {
      in[lane * 16 + 8 + element] = uint32_t(encode(integer ? Type::S32 : Type::F32, valueOfC(row, column)));
    });
    std::string text = "ld.param.u64 %out, [out]; ld.param.u64 %in, [in]; mov.u32 %me, %tid.x;\n"
                       ".reg .b32 %a<4>, %b<4>, %c<4>;\n"
                       "mul.wide.u32 %place, %me, 64; add.s64 %in, %in, %place;\n"
                       "mul.wide.u32 %place, %me, 16; add.s64 %out, %out, %place;\n"
                       "ld.global.v4.b32 {%a0,%a1,%a2,%a3}, [%in]; ld.global.v4.b32 {%b0,%b1,%b2,%b3}, [%in+16];\n"
                       "ld.global.v4.b32 {%c0,%c1,%c2,%c3}, [%in+32];\n"
                       "mma.sync.aligned." +
                       one.name + " {%c0,%c1,%c2,%c3}, " + list("%a", registersA) + ", " + list("%b", registersB) +
                       ", {%c0,%c1,%c2,%c3};\nst.global.v4.b32 [%out], {%c0,%c1,%c2,%c3};\nret;";
    Shape shape;
    shape.block = {32, 1, 1};
    Outcome run = runText(kernel(text), bytesOf(in), 512, shape);
    ASSERT_EQ(run.error, "");
    EXPECT_TRUE(run.report.clean());
    EXPECT_EQ(run.report.counters.matrixProducts, 16 * 8 * one.k);
    kAccumulator.each([&](unsigned lane, unsigned element, unsigned row, unsigned column) {
      double expected = valueOfC(row, column);
      for (unsigned i = 0; i < one.k; ++i)
        expected += valueOfA(row, i) * valueOfB(i, column);
      uint32_t got = run.at<uint32_t>(lane * 4 + element);
      EXPECT_EQ(integer ? double(int32_t(got)) : double(fromBits<float>(got)), expected) << row << ", " << column;
    });
  }
}

TEST(Matrix, HalfAccumulatorIsPacked) {
  // A and B are all ones: each sum is 16 more than C, which is 1 in the lower half and 2 in the upper.
  std::string text =
      "mov.b32 %r1, 0x3c003c00; mov.b32 %r2, 0x40003c00;\n"
      "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%r0,%r3}, {%r1,%r1,%r1,%r1}, {%r1,%r1}, {%r2,%r2};";
  for (uint32_t value : computeWarp(text, byLane([](unsigned i) { return i; })))
    EXPECT_EQ(value, 0x4c804c40u);
}

namespace {
/// Lane i gives the row i of `matrices` matrices whose element (r, c) of matrix m is 256 m + 16 r + c; every register
/// that is loaded.
std::vector<uint32_t> loadMatrices(unsigned count, bool transposed) {
  std::string registers = list("%m", count), number = std::to_string(count);
  std::string text = "ld.param.u64 %out, [out]; ld.param.u64 %in, [in]; mov.u32 %me, %tid.x;\n"
                     ".shared .align 16 .b8 tile[512]; .reg .b32 %m<4>, %s;\n"
                     "mul.wide.u32 %place, %me, 16; add.s64 %in, %in, %place; mov.u32 %s, tile; shl.b32 %re, %me, 4;\n"
                     "add.s32 %s, %s, %re; ld.global.v4.b32 {%r0,%r1,%r2,%r3}, [%in];\n"
                     "st.shared.v4.b32 [%s], {%r0,%r1,%r2,%r3}; bar.sync 0;\n"
                     "ldmatrix.sync.aligned.m8n8.x" +
                     number + (transposed ? ".trans" : "") + ".shared.b16 " + registers +
                     ", [%s];\nmul.wide.u32 %place, %me, " + std::to_string(4 * count) +
                     "; add.s64 %out, %out, %place;\n";
  for (unsigned i = 0; i < count; ++i)
    text += "st.global.b32 [%out+" + std::to_string(4 * i) + "], %m" + std::to_string(i) + ";\n";
  std::vector<uint16_t> in;
  for (unsigned matrix = 0; matrix < 4; ++matrix)
    for (unsigned row = 0; row < 8; ++row)
      for (unsigned column = 0; column < 8; ++column)
        in.push_back(uint16_t(256 * matrix + 16 * row + column));
  Shape shape;
  shape.block = {32, 1, 1};
  Outcome run = runText(kernel(text + "ret;"), bytesOf(in), 128 * count, shape);
  EXPECT_EQ(run.error, "");
  EXPECT_TRUE(run.report.clean());
  EXPECT_EQ(run.report.counters.shared.conflicts, 0u);
  std::vector<uint32_t> values;
  for (unsigned i = 0; i < 32 * count && run.error.empty(); ++i)
    values.push_back(run.at<uint32_t>(i));
  return values;
}

/// The figure of ldmatrix: the lanes 0 to 3 share row 0, two elements each.
const Fragment kLoaded = {{{0, 0, 0, 2}}};
} // namespace

TEST(Matrix, LoadedRowsGoToFourLanesEach) {
  for (unsigned count : {1, 2, 4})
    for (bool transposed : {false, true}) {
      std::vector<uint32_t> values = loadMatrices(count, transposed);
      ASSERT_EQ(values.size(), 32 * count);
      for (unsigned matrix = 0; matrix < count; ++matrix)
        kLoaded.each([&](unsigned lane, unsigned element, unsigned row, unsigned column) {
          unsigned expected = transposed ? 256 * matrix + 16 * column + row : 256 * matrix + 16 * row + column;
          EXPECT_EQ(values[lane * count + matrix] >> (16 * element) & 0xffff, expected)
              << "matrix " << matrix << " lane " << lane << (transposed ? " transposed" : "");
        });
    }
}

TEST(Matrix, TransposedInRegisters) {
  // Element (r, c) is 16 r + c.
  auto held = [](unsigned lane, unsigned j) { return 16 * (lane / 4) + lane % 4 * 2 + j; };
  auto values = computeWarp("movmatrix.sync.aligned.m8n8.trans.b16 %r0, %ra;",
                            byLane([&](unsigned i) { return held(i, 0) | held(i, 1) << 16; }));
  kLoaded.each([&](unsigned lane, unsigned element, unsigned row, unsigned column) {
    EXPECT_EQ(values[lane] >> (16 * element) & 0xffff, 16 * column + row);
  });
}

TEST(Matrix, TensorFloatDropsTheLowBits) {
  // 1 + 2^-11 is not a tf32: what lies below its ten bits is not read.
  std::string text =
      "mov.b32 %r1, 0x3f801000; mov.b32 %r2, 0x3f800000; mov.b32 %r3, 0;\n"
      "mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32 {%r0,%r4,%r5,%r6}, {%r1,%r1}, {%r2}, {%r3,%r3,%r3,%r3};";
  EXPECT_EQ(computeWarp(text, byLane([](unsigned i) { return i; }))[0], bits(4.0f));
}
