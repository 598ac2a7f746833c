//===- FlashWeights.h - weights that a flash changes ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The region of an `attn.flash` may take one value more than there are score terms: the weight that the softmax gives a
// pair. It then yields, last, what is mixed in its place. That changes no sum of weights and no log-sum-exp. It grows in
// proportion with the weight that it takes, as what dropout and gates make does, so that it may be asked before weights are
// divided by their sum. (flash_c6: only a softmax has one; both have the type of the score)
//===----------------------------------------------------------------------===//
#ifndef ATTN_DIALECTS_ATTN_FLASHWEIGHTS_H
#define ATTN_DIALECTS_ATTN_FLASHWEIGHTS_H

#include "dialects/attn/Attn.h"

namespace attn {

/// The weight that the region takes; null where weights are mixed as they are.
mlir::Value weightOf(FlashOp flash);
/// What is mixed in its place; null where nothing is changed.
mlir::Value changedWeightOf(FlashOp flash);
/// Whether weights that values are mixed by are changed.
inline bool changesWeights(FlashOp flash) { return weightOf(flash) && !flash.getValues().empty(); }
/// The values of the region that stand for score terms.
inline auto termsOf(FlashOp flash) {
  return flash.getBody().front().getArguments().take_front(flash.getQueries().size());
}

} // namespace attn

#endif // ATTN_DIALECTS_ATTN_FLASHWEIGHTS_H
