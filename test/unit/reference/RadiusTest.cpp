// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Radii are sound: f32 evaluations in several orders, one of them with online
// softmax in base 2, stay within; and they are sharp enough to catch a kernel
// with a fault of the usual kinds.
#include "CausalProgram.h"
#include "dialects/reference/Compare.h"
#include "dialects/reference/Inputs.h"
#include <cmath>

using namespace attn::reference;

namespace {
constexpr int64_t S = 70, E = 64, F = 5; // As many keys as queries.

/// A fault to build into the f32 evaluation.
enum class Fault { None, Rescale, Tail, Mask, Axis };

struct Outputs {
  Buffer o = Buffer::zeros(Dtype::F32, {S, F}),
         lse = Buffer::zeros(Dtype::F32, {S});
};

using Floats = std::vector<float>;
Floats floats(const Buffer &buffer) {
  std::vector<double> wide = buffer.numbers();
  return Floats(wide.begin(), wide.end());
}

float flushed(float x) { return std::fabs(x) < 0x1p-126f ? 0 : x; }

/// The textbook's order, or the reverse of it.
Outputs textbook(const Floats &q, const Floats &k, const Floats &v,
                 bool reversed) {
  Outputs out;
  auto at = [&](int64_t i, int64_t n) { return reversed ? n - 1 - i : i; };
  for (int64_t s = 0; s < S; ++s) {
    Floats p(s + 1);
    float largest = -INFINITY, sum = 0;
    for (int64_t t = 0; t <= s; ++t) {
      float dot = 0;
      for (int64_t i = 0; i < E; ++i)
        dot += q[s * E + at(i, E)] * k[t * E + at(i, E)];
      p[t] = dot * 0.5f;
      // std::max would drop a NaN in one order and keep it in the other.
      largest = std::isnan(p[t]) || p[t] > largest ? p[t] : largest;
    }
    for (int64_t t = 0; t <= s; ++t)
      sum += p[t] = std::exp(p[t] - largest);
    for (int64_t f = 0; f < F; ++f) {
      float mix = 0;
      for (int64_t i = 0; i <= s; ++i)
        mix += p[at(i, s + 1)] / sum * v[at(i, s + 1) * F + f];
      out.o.set(s * F + f, mix);
    }
    out.lse.set(s, largest + std::log(sum));
  }
  return out;
}

/// Tiles of sixteen keys, scale and log2 e folded into the query, four partial
/// sums per dot, and denormals flushed.
Outputs online(const Floats &q, const Floats &k, const Floats &v, Fault fault) {
  Outputs out;
  constexpr int64_t tile = 16;
  const float scale = 0.5f * 1.44269504f;
  for (int64_t s = 0; s < S; ++s) {
    float largest = -INFINITY, sum = 0, mix[F] = {};
    int64_t end = fault == Fault::Tail   ? (s + 1) / tile * tile
                  : fault == Fault::Mask ? s
                                         : s + 1;
    for (int64_t first = 0; first < end; first += tile) {
      float score[tile], top = largest;
      int64_t n = std::min(tile, end - first);
      for (int64_t t = 0; t < n; ++t) {
        float part[4] = {};
        for (int64_t i = 0; i < E; ++i)
          part[i % 4] += q[s * E + i] * scale * k[(first + t) * E + i];
        score[t] = (part[0] + part[1]) + (part[2] + part[3]);
        top = std::isnan(score[t]) || score[t] > top ? score[t] : top;
      }
      if (top == -INFINITY)
        continue;
      float shrink = fault == Fault::Rescale ? 1 : std::exp2(largest - top);
      sum *= shrink;
      for (float &m : mix)
        m *= shrink;
      for (int64_t t = 0; t < n; ++t) {
        float p = flushed(std::exp2(score[t] - top));
        sum += p;
        for (int64_t f = 0; f < F; ++f)
          mix[f] +=
              p * v[(first + t) * F + (fault == Fault::Axis ? (f + 1) % F : f)];
      }
      largest = top;
    }
    for (int64_t f = 0; f < F; ++f)
      out.o.set(s * F + f, sum == 0 ? 0 : mix[f] * (1 / sum));
    out.lse.set(s, sum == 0 ? -INFINITY
                            : (largest + std::log2(sum)) * 0.693147181f);
  }
  return out;
}

Arguments argumentsOf(const InputCase &inputs) {
  Arguments arguments;
  int64_t widths[] = {E, E, F};
  const char *names[] = {"q", "k", "v"};
  for (int i = 0; i < 3; ++i) {
    // Three dimensions, as the cases shape scores only by such arguments.
    ArgumentSpec spec = {names[i], Dtype::F32, {1, S, widths[i]}, {}};
    arguments[names[i]] = llvm::cantFail(makeInput(spec, inputs, 5));
    arguments[names[i]].shape = {S, widths[i]};
  }
  return arguments;
}

class Radius : public testing::TestWithParam<InputCase> {};
} // namespace

TEST_P(Radius, HoldsEveryOrderOfEvaluation) {
  Arguments a = argumentsOf(GetParam());
  Results expected = llvm::cantFail(runText(causal(Level::Math), a));
  Floats q = floats(a["q"]), k = floats(a["k"]), v = floats(a["v"]);
  for (const Outputs &actual :
       {textbook(q, k, v, false), textbook(q, k, v, true),
        online(q, k, v, Fault::None)})
    for (auto [name, buffer] :
         {std::make_pair("o", &actual.o), {"lse", &actual.lse}}) {
      Comparison c = llvm::cantFail(compare(name, expected[name], *buffer));
      std::string text;
      llvm::raw_string_ostream out(text);
      c.print(out);
      EXPECT_EQ(c.outcome(), Outcome::Agree) << text;
    }
}

static std::vector<InputCase> cases() {
  return {inputCases().begin(), inputCases().end()};
}
INSTANTIATE_TEST_SUITE_P(Cases, Radius, testing::ValuesIn(cases()),
                         [](const auto &info) {
                           std::string name = info.param.name.str();
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(RadiusSharpness, BoundsAreNotAbsurdlyWide) {
  Arguments a = argumentsOf(*findInputCase("normal"));
  Results expected = llvm::cantFail(runText(causal(Level::Math), a));
  Outputs actual =
      online(floats(a["q"]), floats(a["k"]), floats(a["v"]), Fault::None);
  EXPECT_GT(llvm::cantFail(compare("o", expected["o"], actual.o)).median, 1e-4);
  EXPECT_GT(llvm::cantFail(compare("lse", expected["lse"], actual.lse)).median,
            1e-4);
}

TEST(RadiusTeeth, FaultsAreCaught) {
  Arguments a = argumentsOf(*findInputCase("normal"));
  Results expected = llvm::cantFail(runText(causal(Level::Math), a));
  for (Fault fault : {Fault::Rescale, Fault::Tail, Fault::Mask, Fault::Axis}) {
    Outputs actual =
        online(floats(a["q"]), floats(a["k"]), floats(a["v"]), fault);
    Comparison c = llvm::cantFail(compare("o", expected["o"], actual.o));
    EXPECT_EQ(c.outcome(), Outcome::Mismatch) << static_cast<int>(fault);
    EXPECT_GT(c.worst, 100) << static_cast<int>(fault);
  }
}
