//===- RowOps.h - what follows a product along its rows ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rotations and reductions along one axis of a contraction's columns can be part of its stage, which then finishes
// whole rows before it goes on. Chooses which; changes nothing.
//===----------------------------------------------------------------------===//
#ifndef ATTN_COMPILER_DECIDE_ROWOPS_H
#define ATTN_COMPILER_DECIDE_ROWOPS_H

#include "compiler/decide/Dependences.h"

namespace attn {

/// The rotations and reductions along one axis that a contraction's stage can compute from its result.
struct RowOps {
  mlir::StringAttr axis; ///< null when there are none
  llvm::SetVector<mlir::Operation *> ops;
};

/// The widest rows that a tile of a device finishes: it has all of their elements in shared memory.
inline constexpr int64_t widestDeviceRow = 256;

/// Nothing, when the contraction does not become a stage of its own kind. `isDevice`: stages are tiles of a device.
RowOps findRowOps(ContractOp contract, const Signature &signature, bool isDevice);

/// The axis that a rotation or a reduction runs along; null for others.
mlir::StringAttr rowAxis(mlir::Operation *op);

/// The contraction whose stage can compute `op`, a rotation or a reduction; null without one.
ContractOp hostOf(mlir::Operation *op, const Signature &signature, bool isDevice);

/// Why one side of a contraction cannot give the vectors of a matrix product; empty when it can.
llvm::StringRef whyNoLanes(mlir::Value side, mlir::Value other, const Signature &signature);

} // namespace attn

#endif // ATTN_COMPILER_DECIDE_ROWOPS_H
