// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Targets by name, and this machine.
#include "schedules/Target.h"
#include "gtest/gtest.h"

using namespace attn;

TEST(Target, ByName) {
  Target v4 = llvm::cantFail(findTarget("x86-64-v4"));
  EXPECT_EQ(v4.lanes, 16);
  EXPECT_EQ(v4.vectorRegisters, 32);
  EXPECT_EQ(llvm::toString(findTarget("x86-64-v9").takeError()),
            "no target is called 'x86-64-v9'; there are host, x86-64-v3, x86-64-v4, x86-64-amx, aarch64, "
            "cuda:sm_80, cuda:sm_90, cuda:sm_100, cuda:sm_120, opencl, vulkan, cuda");
}

/// The program runs on any processor, and threads of the device hold scalars.
TEST(Target, CudaDevice) {
  Target device = llvm::cantFail(findTarget("cuda:sm_90"));
  EXPECT_TRUE(device.isCuda());
  EXPECT_EQ(device.cudaArch, 90);
  EXPECT_EQ(device.lanes, 1);
  EXPECT_FALSE(llvm::cantFail(findTarget("x86-64-v3")).isCuda());
  EXPECT_FALSE(static_cast<bool>(llvm::expectedToOptional(findTarget("cuda:sm_75"))));
}

/// The processor that calls does all but attentions, in lanes.
TEST(Target, DeviceThroughHalide) {
  Target device = llvm::cantFail(findTarget("cuda"));
  EXPECT_EQ(device.device, DeviceInterface::Cuda);
  EXPECT_FALSE(device.isCuda());
  EXPECT_GE(device.lanes, 4);
  EXPECT_FALSE(llvm::cantFail(findTarget("cuda:sm_90")).hasDevice());
}

TEST(Target, HostHasRegistersAndCaches) {
  Target host = hostTarget();
  EXPECT_EQ(host.name, "host");
  EXPECT_FALSE(host.cpu.empty());
  EXPECT_GE(host.lanes, 4);
  EXPECT_GE(host.vectorRegisters, 16);
  EXPECT_GE(host.l1Bytes, 8 << 10);
  EXPECT_GE(host.l2Bytes, 64 << 10);
}
