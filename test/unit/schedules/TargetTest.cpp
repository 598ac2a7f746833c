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
            "no target is called 'x86-64-v9'; there are host, x86-64-v3, x86-64-v4, aarch64");
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
