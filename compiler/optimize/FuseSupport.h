//===- FuseSupport.h - what an attention is made of -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds score terms, masks and mixes, and builds the fused operation from them. Which of them
// are fused is decided by attn-fuse; FuseLimits.cpp says which can be.
//===----------------------------------------------------------------------===//
#ifndef ATTN_COMPILER_OPTIMIZE_FUSESUPPORT_H
#define ATTN_COMPILER_OPTIMIZE_FUSESUPPORT_H

#include "compiler/optimize/Expressions.h"

namespace attn {

/// `contract(query, key)` with every key axis on the key's side and none on the query's.
struct ScoreTerm {
  ContractOp contract;
  mlir::Value query, key;
};

/// The score terms that the pointwise part of `score` reads, in the order in which they are read.
llvm::SmallVector<ScoreTerm> findTerms(mlir::Value score, llvm::ArrayRef<mlir::StringAttr> keyAxes);

/// The names of axes, for messages.
std::string listed(llvm::ArrayRef<mlir::StringAttr> axes);

/// Why no fused pass over the keys computes an attention, and what to write so that one does.
struct Obstacle {
  std::string why, advice;
  explicit operator bool() const { return !why.empty(); }
};
Obstacle findObstacle(llvm::ArrayRef<ScoreTerm> terms, llvm::ArrayRef<mlir::StringAttr> keyAxes,
                      mlir::ValueRange values);

/// Whether the pointwise part of `value` reads a result of `Op`.
template <typename Op>
bool reads(mlir::Value value) {
  mlir::Operation *op = value.getDefiningOp();
  if (llvm::isa_and_nonnull<Op>(op))
    return true;
  return isPointwise(op) && llvm::any_of(op->getOperands(), [](mlir::Value operand) { return reads<Op>(operand); });
}

/// Lifts what makes a score absent: `where`, and a selected -inf, which is absent in a softmax.
Presence splitScore(mlir::OpBuilder &builder, mlir::Value score);

/// Whether `value`, which has the type of `weights`, is computed of them pair by pair, and in proportion with them.
bool growsWith(mlir::Value weights, mlir::Value value);

/// Whether all that is computed of `value`, pair by pair, ends in goals.
bool onlyFeeds(mlir::Value value, llvm::function_ref<bool(mlir::Operation *)> isGoal);

/// What one fused operation is to compute.
struct FlashPlan {
  mlir::Value score, mask, sink;
  llvm::SmallVector<mlir::Value> values;
  mlir::ArrayAttr over;
  Normalizer normalizer = Normalizer::Softmax;
  bool logsumexp = false;
  mlir::Value weights, changed; ///< the softmax and what is mixed in its place; null where that is the softmax itself
};

/// `dot(q, k * s)`, with s alike for all elements of a key and never absent, becomes `dot(q, k) * s` in the terms of a
/// score: one product per pair, none per element.
void factorKeyScales(mlir::Value score, llvm::ArrayRef<mlir::StringAttr> keyAxes);

FlashOp buildFlash(mlir::OpBuilder &builder, mlir::Location loc, const FlashPlan &plan);

/// Moves what reads `from`, and stands in front of `anchor`, behind it. False, and nothing moved, where that
/// would change what a read sees.
bool moveReadersBehind(mlir::Value from, mlir::Operation *anchor);

} // namespace attn

#endif // ATTN_COMPILER_OPTIMIZE_FUSESUPPORT_H
