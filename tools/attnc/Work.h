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

/// The extents of a ragged axis, row-major over what they depend on.
struct AxisLengths {
  attn::AxisList dependsOn;
  std::vector<double> extents;
};
/// By ragged axis.
using Lengths = llvm::StringMap<AxisLengths>;

/// What a call with these inputs has along ragged axes.
llvm::Expected<Lengths> lengthsOf(const attn::Signature &signature, const attn::reference::Buffers &inputs);

/// Floating-point operations: two for each product of each contraction, where masks leave the pair. A ragged axis of
/// which no lengths are given counts as one that has its extent everywhere.
llvm::Expected<double> countOperations(const attn::Signature &signature, const Extents &extents, Density density,
                                       const Lengths &lengths = {});

} // namespace attnc

#endif // ATTN_TOOLS_ATTNC_WORK_H
