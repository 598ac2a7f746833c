//===- ProductElements.h - what products may be rounded to ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Units that multiply matrices take 16-bit elements. The language lets a value that enters a contraction beside a 16-bit
// tensor be rounded once to its elements (language.md, Numbers), unless the attention is precise.
//===----------------------------------------------------------------------===//
#ifndef ATTN_COMPILER_OPTIMIZE_PRODUCTELEMENTS_H
#define ATTN_COMPILER_OPTIMIZE_PRODUCTELEMENTS_H

#include "dialects/attn/Attn.h"

namespace attn {

/// The elements that a value is read from when they are f16 or bf16; null otherwise.
mlir::Type storedHalf(mlir::Value value);

/// What two values may be multiplied as, of which the second may be null: beside one that is stored as f16 or bf16,
/// the other may be rounded to its elements, unless the attention is precise. Fails where neither is stored so.
mlir::FailureOr<mlir::Type> commonElement(mlir::Value one, mlir::Value other, bool isPrecise);

/// The one element that queries and keys, and softmax's weights and values, may all be multiplied as; null where there is
/// none.
mlir::Type productElement(FlashOp flash, bool isPrecise);

/// Of how many bf16 numbers one of the element is the sum: 1 or 2; 0 for null.
int64_t bf16PartsOf(mlir::Type element);

} // namespace attn

#endif // ATTN_COMPILER_OPTIMIZE_PRODUCTELEMENTS_H
