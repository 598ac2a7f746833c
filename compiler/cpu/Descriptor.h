//===- Descriptor.h - a signature as attn_bind reads it ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes a kernel's signature as the constant attn_desc of runtime/bind/Descriptor.h.
//===----------------------------------------------------------------------===//
#ifndef ATTN_COMPILER_CPU_DESCRIPTOR_H
#define ATTN_COMPILER_CPU_DESCRIPTOR_H

#include "compiler/cpu/Tables.h"
#include "dialects/attn/Attn.h"

namespace attn {

/// The descriptor's global, for tensors on devices of this DLDeviceType. Fails, after a diagnostic at `op`, on an element type that cannot be stored.
mlir::FailureOr<mlir::FlatSymbolRefAttr> buildDescriptor(mlir::Operation *op, const Signature &signature,
                                                         int64_t deviceType, Tables &tables);

} // namespace attn

#endif // ATTN_COMPILER_CPU_DESCRIPTOR_H
