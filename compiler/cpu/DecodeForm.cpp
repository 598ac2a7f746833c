//===- DecodeForm.cpp - who takes the decode form ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "compiler/cpu/DecodeForm.h"

using namespace mlir;
using namespace attn;

DecodeForm DecodeForm::of(const FlashAxes &axes, ScheduleAttr schedule, const Signature &signature) {
  DecodeForm form;
  form.lane = axes.lane;
  form.mostQueries = schedule.getDecodeQueries();
  std::optional<int64_t> known = axes.lane ? constantExtent(signature, axes.lane) : 1;
  if (schedule.getDecodeChunk() <= 0 || (known && *known > form.mostQueries))
    return form;
  form.serves = true;
  form.hasPrefill = !known;
  form.isRagged = axes.lane && signature.findAxis(axes.lane).isRagged();
  return form;
}

Value DecodeForm::isFew(FunctionScope &f, Value queries) const {
  return arith::CmpIOp::create(f.builder(), f.loc(), arith::CmpIPredicate::sle, queries, f.i64(mostQueries));
}

Value DecodeForm::takes(Expressions &x) const {
  return hasPrefill && isRagged ? isFew(x.scope(), x.extentAt(lane)) : Value();
}

Value DecodeForm::whereFew(FunctionScope &f, Value count) const {
  if (!hasPrefill || isRagged)
    return count;
  return arith::SelectOp::create(f.builder(), f.loc(), isFew(f, f.extent(lane)), count, f.i64(0));
}

Value DecodeForm::whereMany(FunctionScope &f, Value count) const {
  if (!serves)
    return count;
  return arith::SelectOp::create(f.builder(), f.loc(), isFew(f, f.extent(lane)), f.i64(0), count);
}
