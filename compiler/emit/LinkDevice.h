//===- LinkDevice.h - Halide's runtime for a device -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A program whose attentions Halide runs on a device needs what starts them and moves memory: Halide's runtime becomes a
// part of the object, like runtime/bind. It opens the device's library when it runs.
//===----------------------------------------------------------------------===//
#ifndef ATTN_COMPILER_EMIT_LINKDEVICE_H
#define ATTN_COMPILER_EMIT_LINKDEVICE_H

#include "schedules/Target.h"
#include "llvm/IR/Module.h"

namespace attn {

/// Brings in what the module, and runtime/bind/Device.c, use of the runtime for the target's device (it has one), hidden but
/// for what runtime/bind will still ask for. To be called before runtime/bind is linked.
llvm::Error linkDeviceRuntime(llvm::Module &into, const Target &target);

} // namespace attn

#endif // ATTN_COMPILER_EMIT_LINKDEVICE_H
