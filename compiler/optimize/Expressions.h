//===- Expressions.h - reading and building values --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the passes above machine level share: which operations are pointwise, how to build
// one, and where a value is absent. Knows no pass, no stage and no machine.
//===----------------------------------------------------------------------===//
#ifndef ATTN_COMPILER_OPTIMIZE_EXPRESSIONS_H
#define ATTN_COMPILER_OPTIMIZE_EXPRESSIONS_H

#include "dialects/attn/Attn.h"
#include "llvm/ADT/StringMap.h"

namespace attn {

/// Computes an element from elements at the same place: map, select, where, and, or.
bool isPointwise(mlir::Operation *op);
/// Costs more than its place: a contraction, a reduction, a normaliser, a rotation, a fused attention.
bool isHeavy(mlir::Operation *op);

/// The index of an axis, with the type that the program's axes give it.
mlir::Value indexOf(mlir::OpBuilder &builder, mlir::Location loc, mlir::StringAttr axis);
/// The extent of an axis.
mlir::Value extentOf(mlir::OpBuilder &builder, mlir::Location loc, mlir::StringAttr axis);
mlir::Value constantOf(mlir::OpBuilder &builder, mlir::Location loc, mlir::TypedAttr value);

using ScalarBody = llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::Location, mlir::ValueRange)>;
/// An `attn.map` whose region `body` fills; the element is that of what it returns.
mlir::Value mapOf(mlir::OpBuilder &builder, mlir::Location loc, mlir::ValueRange inputs, ScalarBody body);

mlir::Value notOf(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value condition);
/// The conjunction of two conditions; either may be null, which holds always.
mlir::Value andOf(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value lhs, mlir::Value rhs);
mlir::Value orOf(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value lhs, mlir::Value rhs);
mlir::Value whereOf(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value, mlir::Value condition);

/// Clones a pointwise operation onto other operands; the axes of the result follow them.
mlir::Value clonePointwise(mlir::OpBuilder &builder, mlir::Operation *op, mlir::ValueRange operands);

/// A value without its `attn.where`s, and the condition under which it is present (null: always).
struct Presence {
  mlir::Value value;
  mlir::Value condition;
};
/// Lifts every `attn.where` out of the pointwise part of `value`. What it builds stands at `builder`.
Presence splitPresence(mlir::OpBuilder &builder, mlir::Value value);
/// Whether the pointwise part of `value` contains an `attn.where`.
bool mayBeAbsent(mlir::Value value);

/// Whether `condition` or one of the conditions that it is the conjunction of is `wanted`.
bool impliesConjunct(mlir::Value condition, mlir::Value wanted);

/// The predicate that y and x fulfil where x and y fulfil `predicate`; of signed comparisons.
mlir::arith::CmpIPredicate swapped(mlir::arith::CmpIPredicate predicate);

/// The float constant that `value` is, through maps of constants; nothing otherwise.
std::optional<double> floatConstant(mlir::Value value);

/// The extents that follow from the declarations alone, by axis.
llvm::StringMap<int64_t> knownExtents(const Signature &signature);

/// The same axes, in any order.
bool sameAxes(llvm::ArrayRef<mlir::StringAttr> a, llvm::ArrayRef<mlir::StringAttr> b);

/// Erases operations without uses and effects from a block, last first.
void eraseDead(mlir::Block &block);

} // namespace attn

#endif // ATTN_COMPILER_OPTIMIZE_EXPRESSIONS_H
