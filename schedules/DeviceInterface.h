//===- DeviceInterface.h - ways to a device ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// This header reads nothing: Halide's sources include it, and may see no LLVM header.
//===----------------------------------------------------------------------===//
#ifndef ATTN_SCHEDULES_DEVICEINTERFACE_H
#define ATTN_SCHEDULES_DEVICEINTERFACE_H

namespace attn {

/// The interfaces through which Halide's runtime starts code on a device from Linux.
enum class DeviceInterface { None, OpenCL, Cuda, Vulkan };

} // namespace attn

#endif // ATTN_SCHEDULES_DEVICEINTERFACE_H
