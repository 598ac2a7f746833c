// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// attn_bind against hostile calls: arguments, extents, facts, the context.

#include "Call.h"

#include <gtest/gtest.h>

#include <climits>

using namespace attn::test;

TEST(Bind, FillsTheFrame) {
  Call call;
  ASSERT_EQ(call.refusal(), "ATTN_OK");
  EXPECT_STREQ(call.text, "");
  auto address = [](const Tensor &t) {
    return reinterpret_cast<int64_t>(t.dl.data);
  };
  std::vector<int64_t> expected = {2,
                                   3,
                                   8,
                                   4,
                                   7,
                                   2, // B S D H C E
                                   address(call.x),
                                   24,
                                   8,
                                   1, // x: B S D
                                   address(call.wq),
                                   16,
                                   8,
                                   1, // wq: H E, D
                                   address(call.cache),
                                   56,
                                   8,
                                   2,
                                   1, // cache: B C, H E
                                   4, // n
                                   address(call.y),
                                   24,
                                   8,
                                   2,
                                   1, // y: B S H E
                                   2,
                                   3,
                                   8,
                                   8,
                                   8,
                                   2,
                                   7,
                                   8,
                                   2,
                                   3,
                                   4,
                                   2};
  EXPECT_EQ(call.frame, expected);
}

TEST(Bind, SlotsAreWhereTheHelpersSay) {
  const attn_desc *desc = &descriptor();
  EXPECT_EQ(attn_frame_arg(desc, Wq), 10);
  EXPECT_EQ(attn_frame_stride(desc, Wq, 0, 1), 12);
  EXPECT_EQ(attn_frame_stride(desc, Wq, 1, 0), 13);
  EXPECT_EQ(attn_frame_arg(desc, N), 19);
  EXPECT_EQ(attn_frame_dim(desc, Wq, 1), 29);
  EXPECT_EQ(attn_frame_size(desc), 37);
}

TEST(Bind, NullArgument) {
  Call call;
  call.args[Wq] = nullptr;
  EXPECT_EQ(call.refusal(), "mha: argument wq: is null");
}

TEST(Bind, NullScalar) {
  Call call;
  call.args[N] = nullptr;
  EXPECT_EQ(call.refusal(), "mha: argument n: is null");
}

TEST(Bind, Device) {
  Call call;
  call.y.dl.device = {kDLCUDA, 0};
  EXPECT_EQ(call.refusal(), "mha: argument y: lies on a device of DLPack type "
                            "2, but 1 (CPU) is needed");
}

TEST(Bind, Dtype) {
  Call call;
  call.x.dl.dtype.bits = 64;
  EXPECT_EQ(call.refusal(), "mha: argument x: dtype is f64, but f32 is needed");
  call.x.dl.dtype = {ATTN_DTYPE_FLOAT8_E4M3FN, 8, 1};
  EXPECT_EQ(call.refusal(),
            "mha: argument x: dtype is f8e4m3, but f32 is needed");
  call.x.dl.dtype = {5, 64, 1};
  EXPECT_EQ(call.refusal(), "mha: argument x: dtype is DLPack type code 5 of "
                            "64 bits, but f32 is needed");
}

TEST(Bind, Lanes) {
  Call call;
  call.x.dl.dtype.lanes = 4;
  EXPECT_EQ(call.refusal(),
            "mha: argument x: dtype has lanes = 4, but 1 is needed");
}

TEST(Bind, Rank) {
  Call call;
  call.wq.setShape({8});
  EXPECT_EQ(call.refusal(),
            "mha: argument wq: rank is 1, but [(H E), D] needs 2");
  call.wq.dl.ndim = -1;
  EXPECT_EQ(call.refusal(),
            "mha: argument wq: rank is -1, but [(H E), D] needs 2");
}

TEST(Bind, NullShape) {
  Call call;
  call.x.dl.shape = nullptr;
  EXPECT_EQ(call.refusal(), "mha: argument x: shape is null");
}

TEST(Bind, NegativeExtent) {
  Call call;
  call.x.setShape({2, -3, 8});
  EXPECT_EQ(call.refusal(),
            "mha: argument x: dimension 1 is -3, but S cannot be negative");
}

TEST(Bind, ExtentThatIsAnAxis) {
  Call call;
  call.cache.setShape({3, 7, 8});
  EXPECT_EQ(call.refusal(),
            "mha: argument cache: dimension 0 is 3, but B needs 2 (B = x.0)");
}

TEST(Bind, ExtentThatIsAProduct) {
  Call call;
  call.cache.setShape({2, 7, 9});
  EXPECT_EQ(call.refusal(), "mha: argument cache: dimension 2 is 9, but (H E) "
                            "needs 8 (H = 4, E = 2)");
}

TEST(Bind, AxisThatDoesNotDivide) {
  Call call;
  call.wq.setShape({9, 8});
  EXPECT_EQ(call.refusal(),
            "mha: axis E = wq.0 / H: 9 is not a multiple of 4 (H = 4)");
}

TEST(Bind, Fact) {
  Call call;
  call.wq.setShape({12, 8});
  call.cache.setShape({2, 7, 12});
  call.y.setShape({2, 3, 4, 3});
  EXPECT_EQ(
      call.refusal(),
      "mha: axis E is 3 (wq.0 / H), but must be D / H = 2 (D = 8, H = 4)");
}

TEST(Bind, FactThatDoesNotDivide) {
  Call call;
  call.x.setShape({2, 3, 9});
  call.wq.setShape({8, 9});
  EXPECT_EQ(call.refusal(), "mha: axis E is 2 (wq.0 / H), but must be D / H: 9 "
                            "is not a multiple of 4 (D = 9, H = 4)");
}

TEST(Bind, Requirement) {
  Call call;
  call.n = 5;
  EXPECT_EQ(call.refusal(), "mha: requires n + S <= C (n = 5, S = 3, C = 7)");
  call.n = INT64_MAX;
  EXPECT_EQ(call.refusal(), "mha: requires n + S <= C, which does not fit 64 "
                            "bits (n = 9223372036854775807, "
                            "S = 3, C = 7)");
}

TEST(Bind, ZeroExtents) {
  Call call;
  call.x.setShape({0, 3, 8});
  call.cache.setShape({0, 7, 8});
  call.y.setShape({0, 3, 4, 2});
  call.x.dl.data = call.cache.dl.data = call.y.dl.data = nullptr;
  EXPECT_EQ(call.refusal(), "ATTN_OK");
  EXPECT_EQ(call.frame[attn_frame_stride(&descriptor(), X, 1, 0)], 0);
}

TEST(Bind, ZeroFactorOutweighsAHugeOne) {
  Call call;
  call.wq.setShape({0, 0});
  call.x.setShape({2, 3, 0});
  call.cache.setShape({2, 7, 0});
  call.y.setShape({2, 3, 4, 0});
  EXPECT_EQ(call.refusal(), "ATTN_OK");
}

TEST(Bind, SizePast64Bits) {
  Call call;
  int64_t huge = int64_t(1) << 61;
  call.wq.setShape({huge, huge});
  call.x.setShape({2, 3, huge});
  call.cache.setShape({2, 7, huge});
  call.y.setShape({2, 3, 4, huge / 4});
  EXPECT_EQ(call.refusal(), "mha: argument x: dimension 2 makes the size or an "
                            "offset larger than 2^63 bytes");
}

TEST(Bind, ProductPast64Bits) {
  const int64_t a[] = {ATTN_OP_DIM, 0, 0, ATTN_OP_END},
                atA[] = {ATTN_OP_AXIS, 0, ATTN_OP_END};
  const attn_axis axis = {"A", {a, "x.0"}};
  const attn_expr factors[] = {{atA, "A"}, {atA, "A"}};
  const attn_dim dims[] = {{1, factors, "A"}, {2, factors, "(A A)"}};
  const attn_arg arg = {"x", ATTN_MODE_IN, kDLFloat, 32, 0, 2, dims};
  const attn_desc desc = {ATTN_DESC_VERSION, "f", 1,      &arg, 1, &axis, 0,
                          nullptr,           0,   nullptr};
  Call call;
  call.x.setShape({int64_t(1) << 32, 0});
  EXPECT_EQ(attn_bind(&desc, &call.context, call.args, call.frame.data()),
            ATTN_BAD_ARGUMENT);
  EXPECT_STREQ(call.text, "f: argument x: dimension 1 needs (A A), which does "
                          "not fit 64 bits (A = 4294967296)");
}

TEST(Bind, DimensionOfUnknownFactorsIsNotCompared) {
  const int64_t b[] = {ATTN_OP_PUSH, 3, ATTN_OP_END},
                atB[] = {ATTN_OP_AXIS, 0, ATTN_OP_END};
  const attn_axis axes[] = {{"B", {b, "3"}}, {"T", {nullptr, "len[b]"}}};
  const attn_expr factors[] = {{atB, "B"}, {nullptr, "T"}};
  const attn_dim dim = {2, factors, "(B T)"};
  const attn_arg arg = {"x", ATTN_MODE_IN, kDLFloat, 32, 0, 1, &dim};
  const attn_desc desc = {ATTN_DESC_VERSION, "f", 1,      &arg, 2, axes, 0,
                          nullptr,           0,   nullptr};
  Call call;
  call.x.setShape({50});
  call.x.setStrides({2});
  ASSERT_EQ(attn_bind(&desc, &call.context, call.args, call.frame.data()),
            ATTN_OK);
  call.frame.resize(6);
  EXPECT_EQ(call.frame,
            (std::vector<int64_t>{
                3, 0, reinterpret_cast<int64_t>(call.x.dl.data), 2, 2, 50}));
}

TEST(Bind, MessageIsCut) {
  Call call;
  call.x.dl.dtype.bits = 64;
  call.context.message_size = 20;
  EXPECT_EQ(call.refusal(), "mha: argument x: dt");
  call.context.message_size = 1;
  EXPECT_EQ(call.refusal(), "");
  call.context.message_size = 0;
  call.text[0] = 'k';
  call.text[1] = 0;
  EXPECT_EQ(call.refusal(), "k");
  call.context.message = nullptr;
  call.context.message_size = 100;
  EXPECT_EQ(call.status(), ATTN_BAD_ARGUMENT);
}

TEST(Bind, Context) {
  Call call;
  EXPECT_EQ(attn_bind(&descriptor(), nullptr, call.args, call.frame.data()),
            ATTN_BAD_ARGUMENT);
  call.context.version = 2;
  EXPECT_EQ(call.refusal(), "before");
  call.context.version = ATTN_ABI_VERSION;
  call.context.size = 80;
  EXPECT_EQ(call.refusal(), "before");
  call.context.size = 1000; // of a later caller
  EXPECT_EQ(call.refusal(), "ATTN_OK");
  call.context.parallel_for = [](attn_context *, int64_t, attn_task_fn,
                                 void *) {};
  call.context.threads = 0;
  EXPECT_EQ(call.refusal(), "mha: context: threads is 0, but must be at least "
                            "1 (attn_context_set_threads takes 0 for all)");
}

TEST(Bind, ScalarBits) {
  auto bits = [](int code, int width, const void *at) {
    attn_arg arg = {"p", ATTN_MODE_IN, code, width, 1, 0, nullptr};
    attn_desc desc = {ATTN_DESC_VERSION, "f", 1,       &arg, 0,
                      nullptr,           0,   nullptr, 0,    nullptr};
    Call call;
    int64_t slot = 0;
    EXPECT_EQ(attn_bind(&desc, &call.context, &at, &slot), ATTN_OK);
    return slot;
  };
  int8_t i8 = -1;
  int32_t i32 = -2;
  float f32 = -1.0f;
  double f64 = 1.0;
  EXPECT_EQ(bits(kDLInt, 8, &i8), -1);
  EXPECT_EQ(bits(kDLUInt, 8, &i8), 255);
  EXPECT_EQ(bits(kDLInt, 32, &i32), -2);
  EXPECT_EQ(bits(kDLFloat, 32, &f32), 0xbf800000);
  EXPECT_EQ(bits(kDLFloat, 64, &f64), 0x3ff0000000000000);
}

/// The value of an expression as the extent of the only axis, or its refusal.
static std::string evaluate(std::vector<int64_t> code) {
  code.push_back(ATTN_OP_END);
  attn_axis axis = {"A", {code.data(), "expr"}};
  attn_desc desc = {ATTN_DESC_VERSION, "f", 0,      nullptr, 1, &axis, 0,
                    nullptr,           0,   nullptr};
  Call call;
  int64_t slot = 0;
  int32_t status = attn_bind(&desc, &call.context, nullptr, &slot);
  return status == ATTN_OK ? std::to_string(slot) : call.text;
}

TEST(Bind, Arithmetic) {
  auto binary = [](int64_t op, int64_t left, int64_t right) {
    return evaluate({ATTN_OP_PUSH, left, ATTN_OP_PUSH, right, op});
  };
  EXPECT_EQ(binary(ATTN_OP_SUB, 7, 3), "4");
  EXPECT_EQ(binary(ATTN_OP_MUL, 7, 3), "21");
  EXPECT_EQ(binary(ATTN_OP_DIV, -6, -3), "2");
  EXPECT_EQ(binary(ATTN_OP_FLOORDIV, 7, 2), "3");
  EXPECT_EQ(binary(ATTN_OP_MOD, -1, 5), "4");
  EXPECT_EQ(binary(ATTN_OP_MOD, -5, 5), "0");
  EXPECT_EQ(binary(ATTN_OP_MOD, INT64_MIN, -1), "0");
  EXPECT_EQ(binary(ATTN_OP_MIN, 2, 3), "2");
  EXPECT_EQ(binary(ATTN_OP_MAX, 2, 3), "3");
  EXPECT_EQ(binary(ATTN_OP_AND, 2, 3), "1");
  EXPECT_EQ(evaluate({ATTN_OP_PUSH, 2, ATTN_OP_NOT}), "0");
  EXPECT_EQ(binary(ATTN_OP_SUB, 3, 7),
            "f: axis A = expr is -4, but an extent cannot be negative");
  EXPECT_EQ(binary(ATTN_OP_FLOORDIV, -7, 2),
            "f: axis A = expr is -4, but an extent cannot be negative");
  EXPECT_EQ(binary(ATTN_OP_MUL, INT64_MAX, 2),
            "f: axis A = expr, which does not fit 64 bits");
  EXPECT_EQ(binary(ATTN_OP_DIV, INT64_MIN, -1),
            "f: axis A = expr, which does not fit 64 bits");
  EXPECT_EQ(binary(ATTN_OP_DIV, 1, 0), "f: axis A = expr, which divides by 0");
  EXPECT_EQ(evaluate({ATTN_OP_ADD}),
            "f: axis A = expr, which the compiler got wrong: please report it");
}
