//===- Device.h - device code of a module of kernels ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A module for a CUDA target holds a module `device` with its kernels in the LLVM dialect, and declares a global
// `attn.cuda.module` for them: here the one becomes PTX and, where ptxas is found, machine code, and the other an
// attn_cuda_module (attn/cuda.h) of them.
//===----------------------------------------------------------------------===//
#ifndef ATTN_COMPILER_EMIT_DEVICE_H
#define ATTN_COMPILER_EMIT_DEVICE_H

#include "schedules/Target.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"

namespace attn {

/// The names of the module of kernels, and of the host's global for it.
inline constexpr llvm::StringLiteral deviceModuleName = "device";
inline constexpr llvm::StringLiteral deviceGlobalName = "attn.cuda.module";
/// On a function of the module: a kernel, with blocks of so many threads. Its parameter is passed by value.
inline constexpr llvm::StringLiteral kernelThreadsName = "attn.threads";

/// Kernels for one kind of device.
struct DeviceCode {
  int64_t arch = 0;
  std::string ptx;
  /// Empty where there is no ptxas.
  std::string cubin;
};

/// The module of kernels within `host`; null without one.
mlir::ModuleOp findDeviceModule(mlir::ModuleOp host);

/// PTX of kernels. An error says what they call that a device does not have.
llvm::Expected<std::string> makePtx(mlir::ModuleOp kernels, const Target &target);

/// Machine code by `ptxas` of the CUDA toolkit, found by PATH, CUDA_HOME or where it is usually installed; empty where
/// there is none. An error carries ptxas' words.
llvm::Expected<std::string> assemble(llvm::StringRef ptx, int64_t arch);

/// Defines the global for `code` in a module that declares it.
void defineDeviceGlobal(llvm::Module &host, llvm::ArrayRef<DeviceCode> code);

} // namespace attn

#endif // ATTN_COMPILER_EMIT_DEVICE_H
