//===- Shapes.h - extents of axes and shapes of arguments -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From extents that the user names to the shapes of all arguments, and from the shapes of inputs to those of results.
// It only computes: kernels and interpreter check for themselves.
//===----------------------------------------------------------------------===//
#ifndef ATTN_TOOLS_ATTNC_SHAPES_H
#define ATTN_TOOLS_ATTNC_SHAPES_H

#include "dialects/attn/Attn.h"
#include "dialects/reference/Inputs.h"
#include "llvm/ADT/MapVector.h"
#include <map>

namespace attnc {

using Extents = llvm::MapVector<llvm::StringRef, int64_t>;

/// The axes that the caller chooses: those that no fact of the spec gives.
llvm::SmallVector<llvm::StringRef> freeAxes(const attn::Signature &signature);

/// Extents of all axes: `chosen` ones, usual ones for free axes that are left (8 heads, 64 wide, ...), and
/// what follows from both. An error names what was chosen wrongly.
llvm::Expected<Extents> extentsFrom(const attn::Signature &signature,
                                    llvm::ArrayRef<std::pair<std::string, int64_t>> chosen);

/// Extents of all axes as the shapes of the inputs give them.
llvm::Expected<Extents> extentsFrom(const attn::Signature &signature, const attn::reference::Buffers &inputs);

/// The stored shape of argument `index`. A packed ragged dimension takes its extent from `inputs`, where
/// another argument has the same, or from the extent chosen for the ragged axis.
llvm::Expected<llvm::SmallVector<int64_t, 4>> shapeOf(const attn::Signature &signature, unsigned index,
                                                      const Extents &extents,
                                                      const attn::reference::Buffers &inputs = {});

/// The dtype that the language calls an argument's element.
attn::reference::Dtype dtypeOf(mlir::Type element);

/// Dtype, shape and, for integers, what the program's use of them allows.
llvm::Expected<attn::reference::ArgumentSpec> specOf(const attn::Signature &signature, unsigned index,
                                                     const Extents &extents);

} // namespace attnc

#endif // ATTN_TOOLS_ATTNC_SHAPES_H
