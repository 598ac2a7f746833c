//===- DecodeForm.h - who takes the decode form -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A batch entry with few queries along the lane axis takes the decode form, which splits its keys into chunks; its other
// axes of queries multiply in both forms alike. That is a fact of the sequence: neither the batch nor the machine change
// it. Where constants decide, only one form is emitted.
//===----------------------------------------------------------------------===//
#ifndef ATTN_COMPILER_CPU_DECODEFORM_H
#define ATTN_COMPILER_CPU_DECODEFORM_H

#include "compiler/cpu/FlashStage.h"

namespace attn {

struct DecodeForm {
  bool serves = false;    ///< some entry may take it
  bool hasPrefill = true; ///< some entry may take the other one

  /// By the schedule's numbers of queries and of keys in a chunk.
  static DecodeForm of(const FlashAxes &axes, ScheduleAttr schedule, const Signature &signature);

  /// Whether the entry at the point takes the decode form; null: all do that get here.
  mlir::Value takes(Expressions &x) const;
  /// `count` where entries take the decode form, 0 where none does.
  mlir::Value whereFew(FunctionScope &f, mlir::Value count) const;
  /// `count` where entries take the other form, 0 where none does.
  mlir::Value whereMany(FunctionScope &f, mlir::Value count) const;

private:
  mlir::Value isFew(FunctionScope &f, mlir::Value queries) const;

  mlir::StringAttr lane;
  int64_t mostQueries = 0;
  bool isRagged = false; ///< the lane axis is
};

} // namespace attn

#endif // ATTN_COMPILER_CPU_DECODEFORM_H
