// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Contract stages against loops in f64, and bit for bit against the same stage computed point by point: both add the
// products of an element in one order, each rounded once.
#include "StageKernel.h"
#include "StageText.h"
#include "gtest/gtest.h"
#include <cmath>
#include <limits>

namespace {

constexpr float nan = std::numeric_limits<float>::quiet_NaN();

/// Small tiles, so that small tensors have several of everything; and what a machine would use.
const std::vector<std::string> schedules = {
    "lanes = 4, vectors = 1, rows = 3, query_tile = 4, key_tile = 3, depth_tile = 8",
    "lanes = 8, vectors = 2, rows = 6, query_tile = 16, key_tile = 192, depth_tile = 512"};

/// y[b, s, n] = sum over k of x[b, s, k] w + c[n], where w is [n, k] or [k, n].
StageText projection(bool turned) {
  StageText text("<B = x.0>, <S = x.1>, <K = x.2>, <N = y.2>");
  text.argument("in", "x", "B, S, K");
  text.argument("in", "w", turned ? "N, K" : "K, N");
  text.argument("in", "c", "N");
  text.argument("out", "y", "B, S, N");
  StageText::Value w = text.read("w", turned ? StageText::Names{"N", "K"} : StageText::Names{"K", "N"});
  StageText::Value product = text.contract(text.read("x", {"B", "S", "K"}), w, {"K"});
  text.write(text.map({product, text.read("c", {"N"})}, "%r = arith.addf %a0, %a1 : f32"), "y", {"B", "S", "N"});
  return text;
}

struct Sizes {
  int64_t b, s, k, n;
};

void checkProjection(StageKernel &kernel, bool turned, Sizes z, bool isOdd) {
  SCOPED_TRACE(testing::Message() << z.b << " x " << z.s << " x " << z.k << " x " << z.n << " turned " << turned);
  int64_t gap = isOdd ? 3 : 0;
  Tensor x({z.b, z.s, z.k}, gap), w(turned ? std::vector<int64_t>{z.n, z.k} : std::vector<int64_t>{z.k, z.n}, gap), c({z.n});
  Tensor y({z.b, z.s, z.n}, gap);
  x.fill(1), w.fill(2), c.fill(3), y.fillWith(nan);
  if (isOdd && z.s && z.k && z.n) { // Backwards, and one row for all batches.
    x.reverse(2), w.reverse(0), w.reverse(1);
    x.strides[0] = 0;
  }
  kernel.call({&x, &w, &c, &y});
  for (int64_t b = 0; b < z.b; ++b)
    for (int64_t s = 0; s < z.s; ++s) {
      for (int64_t n = 0; n < z.n; ++n) {
        double sum = c.get({n}), size = std::abs(sum);
        for (int64_t k = 0; k < z.k; ++k) {
          double product = double(x.get({b, s, k})) * (turned ? w.get({n, k}) : w.get({k, n}));
          sum += product;
          size += std::abs(product);
        }
        ASSERT_LE(std::abs(sum - y.get({b, s, n})), size * double(z.k + 1) * 0x1p-24) << b << " " << s << " " << n;
      }
      for (int64_t n = z.n; n < z.n + gap; ++n)
        ASSERT_TRUE(std::isnan(y.get({b, s, n}))) << "written past the end of a row";
    }
  ASSERT_TRUE(std::isnan(y.get({0, 0, -1})));
}

TEST(Contract, AnyExtentsAndStrides) {
  for (bool turned : {true, false})
    for (const std::string &schedule : schedules) {
      StageKernel kernel(projection(turned).str("contract", schedule));
      for (Sizes z : {Sizes{1, 7, 33, 65}, {2, 13, 64, 64}, {3, 5, 5, 3}, {1, 1, 100, 130}, {2, 111, 17, 1}, {2, 3, 0, 9},
                      {0, 3, 4, 5}, {2, 0, 4, 5}, {2, 3, 4, 0}})
        for (bool isOdd : {false, true})
          checkProjection(kernel, turned, z, isOdd);
    }
}

/// Calls a contract stage and the same as a nest; the last tensor is the result of both.
void expectSameAsNest(const StageText &text, std::vector<Tensor> tensors) {
  for (const std::string &schedule : schedules) {
    std::vector<uint8_t> results[2];
    for (bool isNest : {false, true}) {
      StageKernel kernel(text.str(isNest ? "nest" : "contract", schedule));
      std::vector<Tensor> own = tensors;
      std::vector<Tensor *> arguments;
      for (Tensor &tensor : own)
        arguments.push_back(&tensor);
      kernel.call(arguments, isNest ? 1 : 2);
      for (size_t i = 0; i + 1 < own.size(); ++i)
        EXPECT_EQ(own[i].bytes, tensors[i].bytes) << "an operand was written";
      results[isNest] = own.back().bytes;
    }
    EXPECT_EQ(results[0], results[1]) << text.str("contract", schedule);
  }
}

constexpr int64_t B = 2, S = 13, H = 3, E = 20, D = 37;

TEST(Contract, SeveralDepthAxesInOneRun) {
  StageText text("<B = x.0>, <S = x.1>, <H = x.2>, <E = x.3>, <D = w.0>");
  text.argument("in", "x", "B, S, H, E");
  text.argument("in", "w", "D, (H E)");
  text.argument("out", "y", "B, S, D");
  text.write(text.contract(text.read("x", {"B", "S", "H", "E"}), text.read("w", {"D", "H", "E"}), {"H", "E"}), "y",
             {"B", "S", "D"});
  expectSameAsNest(text, {Tensor({B, S, H, E}, 1).fill(1), Tensor({D, H * E}).fill(2), Tensor({B, S, D}, 5).fill(3)});
}

TEST(Contract, SeveralDepthAxesApart) {
  StageText text("<B = x.0>, <H = x.1>, <S = x.2>, <E = x.3>, <D = w.1>");
  text.argument("in", "x", "B, H, S, E");
  text.argument("in", "w", "(E H), D");
  text.argument("out", "y", "B, S, D");
  text.write(text.contract(text.read("x", {"B", "H", "S", "E"}), text.read("w", {"E", "H", "D"}), {"H", "E"}), "y",
             {"B", "S", "D"});
  expectSameAsNest(text, {Tensor({B, H, S, E}).fill(1), Tensor({E * H, D}).fill(2), Tensor({B, S, D}).fill(3)});
}

TEST(Contract, HeadsAreOuterColumnsAndHalvesAreWidened) {
  StageText text("<B = x.0>, <S = x.1>, <D = x.2>, <H = y.1>, <E = y.3>");
  text.argument("in", "x", "B, S, D", "bf16");
  text.argument("in", "w", "(H E), D", "bf16");
  text.argument("out", "y", "B, H, S, E", "bf16");
  text.write(text.contract(text.read("x", {"B", "S", "D"}), text.read("w", {"H", "E", "D"}), {"D"}), "y",
             {"B", "H", "S", "E"});
  expectSameAsNest(text, {Tensor({B, S, D}, 0, true).fill(1), Tensor({H * E, D}, 3, true).fill(2),
                          Tensor({B, H, S, E}, 0, true).fill(3)});
}

TEST(Contract, ScoresOfGroupedHeads) {
  StageText text("<B = q.0>, <G = k.2>, <R = y.2>, <S = q.2>, <T = k.1>, <E = q.3>");
  text.argument("in", "q", "B, (G R), S, E");
  text.argument("in", "k", "B, T, G, E");
  text.argument("out", "y", "B, G, R, S, T");
  text.write(text.contract(text.read("q", {"B", "G", "R", "S", "E"}), text.read("k", {"B", "T", "G", "E"}), {"E"}), "y",
             {"B", "G", "R", "S", "T"});
  expectSameAsNest(text, {Tensor({B, 6, 5, E}).fill(1), Tensor({B, 19, 3, E}).fill(2), Tensor({B, 3, 2, 5, 19}).fill(3)});
}

TEST(Contract, EachElementIsUpdatedOnce) {
  StageText text("<S = x.0>, <K = x.1>, <N = y.1>");
  text.argument("in", "x", "S, K");
  text.argument("in", "w", "N, K");
  text.argument("inout", "y", "S, N");
  StageText::Value product = text.contract(text.read("x", {"S", "K"}), text.read("w", {"N", "K"}), {"K"});
  text.write(text.map({text.read("y", {"S", "N"}), product}, "%r = arith.addf %a0, %a1 : f32"), "y", {"S", "N"});
  expectSameAsNest(text, {Tensor({S, D}).fill(1), Tensor({E, D}).fill(2), Tensor({S, E}).fill(3)});
}

TEST(Contract, OperandsAreComputed) {
  StageText text("<S = x.0>, <K = x.1>, <N = y.1>");
  text.argument("in", "x", "S, K");
  text.argument("in", "w", "N, K");
  text.argument("out", "y", "S, N");
  const char *times = "%f = arith.sitofp %a1 : i64 to f32\n%r = arith.mulf %a0, %f : f32";
  StageText::Value x = text.map({text.read("x", {"S", "K"}), text.index("S")}, times);
  StageText::Value w = text.map({text.read("w", {"N", "K"}), text.index("K")}, times);
  text.write(text.contract(x, w, {"K"}), "y", {"S", "N"});
  expectSameAsNest(text, {Tensor({S, D}).fill(1), Tensor({E, D}).fill(2), Tensor({S, E}).fill(3)});
}

TEST(Contract, SidesWithoutAxesOfTheirOwn) {
  StageText noRows("<K = x.0>, <N = w.0>");
  noRows.argument("in", "x", "K");
  noRows.argument("in", "w", "N, K");
  noRows.argument("out", "y", "N");
  StageText noColumns = noRows;
  noRows.write(noRows.contract(noRows.read("x", {"K"}), noRows.read("w", {"N", "K"}), {"K"}), "y", {"N"});
  noColumns.write(noColumns.contract(noColumns.read("w", {"N", "K"}), noColumns.read("x", {"K"}), {"K"}), "y", {"N"});
  for (const StageText &text : {noRows, noColumns})
    expectSameAsNest(text, {Tensor({D}).fill(1), Tensor({E, D}).fill(2), Tensor({E}).fill(3)});
}

/// x and w are present where s + k and n + k are no multiples of 3. Absent elements hold NaN, and NaN stands where the
/// other side is absent: neither has an effect.
TEST(Contract, AbsentElementsHaveNoEffect) {
  const char *present = "%three = arith.constant 3 : i64\n%zero = arith.constant 0 : i64\n"
                        "%sum = arith.addi %a0, %a1 : i64\n%rest = arith.remsi %sum, %three : i64\n"
                        "%r = arith.cmpi ne, %rest, %zero : i64";
  constexpr int64_t s = 8, k = 30, n = 21;
  for (const std::string &schedule : schedules)
    for (bool leftToo : {false, true}) {
      StageText text("<S = x.0>, <K = x.1>, <N = y.1>");
      text.argument("in", "x", "S, K");
      text.argument("in", "w", "N, K");
      text.argument("out", "y", "S, N");
      StageText::Value left = text.read("x", {"S", "K"}), right = text.read("w", {"N", "K"});
      if (leftToo)
        left = text.where(left, text.map({text.index("S"), text.index("K")}, present, "i1"));
      right = text.where(right, text.map({text.index("N"), text.index("K")}, present, "i1"));
      text.write(text.contract(left, right, {"K"}), "y", {"S", "N"});
      StageKernel kernel(text.str("contract", schedule));
      Tensor x({s, k}), w({n, k}), y({s, n});
      x.fill(1), w.fill(2);
      for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < k; ++j)
          if ((i + j) % 3 == 0)
            w.set({i, j}, nan);
      x.set({5, 7}, nan); // Against absent columns 2, 5, ...; present for the others.
      if (leftToo)
        x.set({1, 8}, nan); // Absent.
      kernel.call({&x, &w, &y});
      for (int64_t i = 0; i < s; ++i)
        for (int64_t j = 0; j < n; ++j) {
          double sum = 0;
          for (int64_t p = 0; p < k; ++p)
            if ((j + p) % 3 != 0 && !(leftToo && (i + p) % 3 == 0))
              sum += double(x.get({i, p})) * w.get({j, p});
          ASSERT_EQ(std::isnan(y.get({i, j})), std::isnan(sum)) << i << " " << j;
          if (!std::isnan(sum))
            ASSERT_NEAR(y.get({i, j}), sum, 1e-5);
        }
    }
}

} // namespace
