//===- DeviceTest.cpp - the Halide route on devices -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A causal attention for devices that attnc has no target for: compiled, and as WebAssembly run where there is node, with NaN
// behind what queries see. The others are tested through attnc (test/halide).
//===----------------------------------------------------------------------===//
#include "CausalPlan.h"
#include "schedules/halide/Device.h"
#include "schedules/halide/Flash.h"

#include <cstdlib>
#include <gtest/gtest.h>

using namespace attn;
using Halide::Target;

namespace {

/// A file of this test alone: the others run beside it.
std::string ownFile(const std::string &suffix) {
  return ::testing::TempDir() + "attn-" + ::testing::UnitTest::GetInstance()->current_test_info()->name() + suffix;
}

class Devices : public ::testing::Test {
protected:
  StagePlan plan = causalPlan();

  void expectDeviceCode(const char *target) {
    plan.part = PlanPart::Device;
    DevicePipeline device(plan);
    device.schedule();
    Halide::Module module = device.pipeline().compile_to_module(device.arguments(), "causal", Target(target));
    EXPECT_FALSE(module.functions().empty());
    std::string path = ownFile(".o");
    module.compile({{Halide::OutputFileType::object, path}});
    EXPECT_EQ(std::remove(path.c_str()), 0);
  }
};

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
