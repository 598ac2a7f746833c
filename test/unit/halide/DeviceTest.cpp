//===- DeviceTest.cpp - the Halide route on devices -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A causal attention with a window of NaN behind it: run through OpenCL where there is a device (PoCL makes one of the
// processor) and as WebAssembly where there is node, compiled for the others.
//===----------------------------------------------------------------------===//
#include "CausalPlan.h"
#include "schedules/halide/Device.h"
#include "schedules/halide/Flash.h"

#include <cmath>
#include <cstdlib>
#include <gtest/gtest.h>

using namespace attn;
using Halide::Buffer;
using Halide::Target;

namespace {

constexpr int S = 45, T = 50, E = 17, F = 13;

float made(int i, int j) { return std::sin(float(7 * i + 3 * j + 1)); }

struct Data {
  Buffer<float> q{E, S}, k{E, T}, v{F, T};
  Data() {
    q.for_each_element([&](int e, int s) { q(e, s) = made(s, e); });
    k.for_each_element([&](int e, int t) { k(e, t) = made(e, t + 5); });
    // No query sees the keys behind the last of them.
    v.for_each_element([&](int f, int t) { v(f, t) = t < S ? made(f + 1, t) : NAN; });
  }
  double expected(int s, int f) const {
    double sum = 0, mix = 0;
    for (int t = 0; t <= s; ++t) {
      double score = 0;
      for (int e = 0; e < E; ++e)
        score += double(q(e, s)) * k(e, t);
      sum += std::exp(score / 4);
      mix += std::exp(score / 4) * v(f, t);
    }
    return mix / sum;
  }
};

/// A file of this test alone: the others run beside it.
std::string ownFile(const std::string &suffix) {
  return ::testing::TempDir() + "attn-" + ::testing::UnitTest::GetInstance()->current_test_info()->name() + suffix;
}

class Devices : public ::testing::Test {
protected:
  StagePlan plan = causalPlan();

  void expectRight(StageParts &parts, const Target &target) {
    parts.schedule();
    Data data;
    StageInputs &inputs = parts.stageInputs();
    inputs.tensors[0].set(data.q), inputs.tensors[1].set(data.k), inputs.tensors[2].set(data.v);
    int extents[] = {S, T, E, F, /*q*/ S, E, /*k*/ T, E, /*v*/ T, F, /*o*/ S, F};
    for (size_t i = 0; i < std::size(extents); ++i)
      inputs.scalars[i].set(extents[i]);
    Buffer<float> o(F, S);
    parts.pipeline().realize(o, target);
    o.copy_to_host();
    for (int s = 0; s < S; ++s)
      for (int f = 0; f < F; ++f)
        ASSERT_NEAR(o(f, s), data.expected(s, f), 1e-5) << "query " << s << ", element " << f;
  }

  void expectCode(StageParts &parts, const char *target) {
    parts.schedule();
    Halide::Module module = parts.pipeline().compile_to_module(parts.arguments(), "causal", Target(target));
    EXPECT_FALSE(module.functions().empty());
    std::string path = ownFile(".o");
    module.compile({{Halide::OutputFileType::object, path}});
    EXPECT_EQ(std::remove(path.c_str()), 0);
  }

  void expectDeviceCode(const char *target) {
    plan.part = PlanPart::Device;
    DevicePipeline device(plan);
    expectCode(device, target);
  }
};

Target strict(std::initializer_list<Target::Feature> features) {
  Target target = Halide::get_host_target().with_feature(Target::StrictFloat);
  for (Target::Feature feature : features)
    target.set_feature(feature);
  return target;
}

TEST_F(Devices, HostGivesTheRightValues) {
  FlashPipeline flash(plan);
  flash.firstBlockParam().set(0);
  flash.blocksParam().set(int((T + plan.keyTile - 1) / plan.keyTile));
  expectRight(flash, strict({}));
}

TEST_F(Devices, OpenClGivesTheRightValues) {
  Target target = strict({Target::OpenCL});
  if (!Halide::host_supports_target_device(target))
    GTEST_SKIP() << "no OpenCL device";
  plan.part = PlanPart::Device;
  DevicePipeline device(plan);
  expectRight(device, target);
}

TEST_F(Devices, CudaCodeIsGenerated) { expectDeviceCode("x86-64-linux-cuda-cuda_capability_86-strict_float"); }
TEST_F(Devices, VulkanCodeIsGenerated) { expectDeviceCode("x86-64-linux-vulkan-vk_int8-vk_int64-vk_v13-strict_float"); }
TEST_F(Devices, MetalCodeIsGenerated) { expectDeviceCode("arm-64-osx-metal-strict_float"); }
TEST_F(Devices, WebGpuCodeIsGenerated) { expectDeviceCode("wasm-32-wasmrt-webgpu-strict_float"); }

/// The processor's schedule; causal.js is the program around it.
TEST_F(Devices, WebAssemblyGivesTheRightValues) {
  FlashPipeline flash(plan);
  flash.schedule();
  Halide::Module module = flash.pipeline().compile_to_module(
      flash.arguments(), "causal",
      Target("wasm-32-wasmrt-wasm_simd128-strict_float-no_runtime-no_asserts-no_bounds_query-user_context"));
  std::string object = ownFile(".o"), program = ownFile(".wasm");
  module.compile({{Halide::OutputFileType::object, object}});
  std::string link = WASM_LD " --no-entry --export=causal --allow-undefined --import-memory " + object + " -o " + program;
  ASSERT_EQ(std::system(link.c_str()), 0);
  if (std::string(NODE).empty())
    GTEST_SKIP() << "no node to run it";
  EXPECT_EQ(std::system((NODE " " CAUSAL_JS " " + program).c_str()), 0);
  std::remove(object.c_str());
  std::remove(program.c_str());
}

} // namespace
