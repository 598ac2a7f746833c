//===- Target.cpp - a processor, as schedules see it ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "schedules/Target.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/SubtargetFeature.h"
#include "llvm/TargetParser/Triple.h"
#include <map>

using namespace attn;

/// Caches are those of common server cores of each level.
static Target namedProcessor(llvm::StringRef name) {
  if (name == "x86-64-v3")
    return {"x86-64-v3", "x86_64-unknown-linux-gnu", "x86-64-v3", "", 8, 16, 32 << 10, 512 << 10};
  if (name == "x86-64-v4")
    return {"x86-64-v4", "x86_64-unknown-linux-gnu", "x86-64-v4", "", 16, 32, 32 << 10, 1 << 20};
  if (name == "x86-64-amx")
    return {"x86-64-amx", "x86_64-unknown-linux-gnu", "x86-64-v4", "+avx512bf16,+amx-tile,+amx-bf16", 16, 32, 48 << 10, 2 << 20,
            /*hasTiles=*/true};
  return {"aarch64", "aarch64-unknown-linux-gnu", "generic", "+neon", 4, 32, 64 << 10, 512 << 10};
}

/// The number behind `cuda:sm_`; 0 for other names.
static int64_t cudaArchOf(llvm::StringRef name) {
  int64_t arch = 0;
  return name.consume_front("cuda:sm_") && !name.getAsInteger(10, arch) ? arch : 0;
}

/// A program on any processor of this machine's architecture, with kernels on a CUDA device.
static Target namedCuda(llvm::StringRef name) {
  bool isArm = llvm::Triple(llvm::sys::getProcessTriple()).isAArch64();
  Target target = namedProcessor(isArm ? "aarch64" : "x86-64-v3");
  target.name = name.str();
  target.cpu = isArm ? "generic" : "x86-64";
  target.features = "";
  target.lanes = 1;
  target.vectorRegisters = 255;
  target.cudaArch = cudaArchOf(name);
  return target;
}

static DeviceInterface interfaceOf(llvm::StringRef name) {
  return llvm::StringSwitch<DeviceInterface>(name)
      .Case("opencl", DeviceInterface::OpenCL)
      .Case("cuda", DeviceInterface::Cuda)
      .Case("vulkan", DeviceInterface::Vulkan)
      .Default(DeviceInterface::None);
}

/// A program on most processors of this machine's architecture.
static Target namedInterface(llvm::StringRef name) {
  Target target = namedProcessor(llvm::Triple(llvm::sys::getProcessTriple()).isAArch64() ? "aarch64" : "x86-64-v3");
  target.name = name.str();
  target.device = interfaceOf(name);
  return target;
}

static Target named(llvm::StringRef name) {
  if (interfaceOf(name) != DeviceInterface::None)
    return namedInterface(name);
  return cudaArchOf(name) ? namedCuda(name) : namedProcessor(name);
}

llvm::ArrayRef<llvm::StringRef> attn::targetNames() {
  static constexpr llvm::StringRef names[] = {"host",       "x86-64-v3",  "x86-64-v4",   "x86-64-amx",  "aarch64", "cuda:sm_80",
                                              "cuda:sm_90", "cuda:sm_100", "cuda:sm_120", "opencl",     "vulkan",  "cuda"};
  return names;
}

llvm::Expected<Target> attn::findTarget(llvm::StringRef name) {
  if (name == "host")
    return hostTarget();
  if (llvm::is_contained(targetNames(), name))
    return named(name);
  return llvm::createStringError("no target is called '" + name + "'; there are " + llvm::join(targetNames(), ", "));
}

/// `32K`, `1024K` or `1M`, as sysfs writes a cache's size; 0 where it says nothing.
static int64_t cacheBytes(llvm::StringRef index) {
  std::string path = ("/sys/devices/system/cpu/cpu0/cache/" + index + "/size").str();
  auto file = llvm::MemoryBuffer::getFileAsStream(path);
  if (!file)
    return 0;
  llvm::StringRef text = (*file)->getBuffer().trim();
  int64_t scale = text.consume_back("K") ? 1 << 10 : text.consume_back("M") ? 1 << 20 : 1;
  int64_t size = 0;
  return text.getAsInteger(10, size) ? 0 : size * scale;
}

Target attn::hostTarget() {
  Target target;
  target.name = "host";
  target.triple = llvm::sys::getProcessTriple();
  target.cpu = llvm::sys::getHostCPUName().str();
  llvm::StringMap<bool> found = llvm::sys::getHostCPUFeatures();
  // In one order, whatever the hash is: what is compiled must not depend on it.
  std::map<llvm::StringRef, bool> features;
  for (auto &feature : found)
    features[feature.getKey()] = feature.getValue();
  llvm::SubtargetFeatures list;
  for (auto [feature, has] : features)
    list.AddFeature(feature, has);
  target.features = list.getString();
  auto has = [&](llvm::StringRef feature) { return found.lookup(feature); };
  if (llvm::Triple(target.triple).isAArch64()) {
    target.vectorRegisters = 32;
  } else if (has("avx512f") && has("avx512vl") && has("avx512dq")) {
    target.lanes = 16;
    target.vectorRegisters = 32;
    target.hasTiles = has("avx512bf16") && has("amx-tile") && has("amx-bf16");
  } else if (has("avx2") && has("fma")) {
    target.lanes = 8;
  }
  // index0 is the data part of the first level, index2 the second level.
  if (int64_t bytes = cacheBytes("index0"))
    target.l1Bytes = bytes;
  if (int64_t bytes = cacheBytes("index2"))
    target.l2Bytes = bytes;
  return target;
}
