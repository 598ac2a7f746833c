//===- Work.h - what a program has to do at least ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Counts the operations of a program's contractions, and which part of its pairs a mask leaves. At the math level: how
// a kernel is lowered must not change what it is measured by.
//===----------------------------------------------------------------------===//
#ifndef ATTN_TOOLS_ATTNC_WORK_H
#define ATTN_TOOLS_ATTNC_WORK_H

#include "tools/attnc/Shapes.h"

namespace attnc {

/// Which part of its elements a condition keeps, from 0 to 1.
using Density = llvm::function_ref<llvm::Expected<double>(mlir::Value condition)>;

/// Floating-point operations: two for each product of each contraction, where masks leave the pair.
llvm::Expected<double> countOperations(const attn::Signature &signature, const Extents &extents, Density density);

} // namespace attnc

#endif // ATTN_TOOLS_ATTNC_WORK_H
