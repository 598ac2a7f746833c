//===- MaskMap.h - which tiles a mask leaves ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ATTN_TOOLS_ATTNC_MASKMAP_H
#define ATTN_TOOLS_ATTNC_MASKMAP_H

#include "tools/attnc/Session.h"

namespace attnc {

/// Draws a map for each fused attention of `classified`, whose masks have been taken apart, with the tiles of `decided`.
/// An error says what cannot be drawn.
llvm::Error printMaskMap(mlir::ModuleOp classified, mlir::ModuleOp decided, bool svg);

} // namespace attnc

#endif // ATTN_TOOLS_ATTNC_MASKMAP_H
