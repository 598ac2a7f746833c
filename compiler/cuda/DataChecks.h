//===- DataChecks.h - conditions on data in a device's memory ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lengths of ragged axes and requirements are looked at by a kernel of their own, before all others. What fails leaves the
// address of its text in the call's word of fault, and in the caller's where there is one; the other kernels do nothing
// then.
//===----------------------------------------------------------------------===//
#ifndef ATTN_COMPILER_CUDA_DATACHECKS_H
#define ATTN_COMPILER_CUDA_DATACHECKS_H

#include "compiler/cpu/Expressions.h"

namespace attn {

/// What a kernel checks on the device, in words; none: there is nothing to check.
std::vector<std::string> dataConditions(const FrameLayout &layout);

/// The body of the kernel that checks, for one thread.
mlir::LogicalResult emitDataChecks(FunctionScope &f);

/// Whether nothing has failed (i1).
mlir::Value isFaultless(FunctionScope &f);

} // namespace attn

#endif // ATTN_COMPILER_CUDA_DATACHECKS_H
