//===- Scalars.h - scalar operations as Halide expressions ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the language's operators and functions are in Halide. Everything is compiled with strict floats: NaN and
// infinities mean what IEEE says.
//===----------------------------------------------------------------------===//
#ifndef ATTN_SCHEDULES_HALIDE_SCALARS_H
#define ATTN_SCHEDULES_HALIDE_SCALARS_H

#include "schedules/KernelPlan.h"
#include <Halide.h>

namespace attn {

/// `op` of the operands, which has the kind `kind`; undefined where there is no such operation.
Halide::Expr scalarOp(const std::string &op, PlanKind kind, const std::vector<Halide::Expr> &operands);

Halide::Type typeOf(PlanKind kind);

/// 2^x for x <= 0 or NaN; exactly 0 below -126.5.
Halide::Expr exp2NonPositive(const Halide::Expr &x);
/// The natural logarithm of a positive number.
Halide::Expr naturalLog(const Halide::Expr &x);
/// The larger; y where x is NaN or equal.
Halide::Expr larger(const Halide::Expr &x, const Halide::Expr &y);

/// How a stored element is held in memory, what it means, and how a value is rounded to it. Floats of 16 bits are held as
/// their bits. Devices may have no such floats: `portably` uses integers and f32 alone.
Halide::Type memoryType(PlanElement element);
Halide::Expr widen(const Halide::Expr &stored, PlanElement element, bool portably = false);
Halide::Expr narrow(const Halide::Expr &value, PlanElement element, bool portably = false);

} // namespace attn

#endif // ATTN_SCHEDULES_HALIDE_SCALARS_H
