//===- WarpOps.cpp - what the lanes of a warp do together -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "compiler/cuda/WarpOps.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace attn;

static Value i32(FunctionScope &f, int32_t value) {
  return arith::ConstantOp::create(f.builder(), f.loc(), f.builder().getI32IntegerAttr(value));
}
static constexpr int32_t allLanes = -1;

Value attn::laneIndex(FunctionScope &f) {
  return NVVM::LaneIdOp::create(f.builder(), f.loc(), f.builder().getI32Type());
}

static Value shuffle(FunctionScope &f, Value value, Value operand, NVVM::ShflKind kind) {
  OpBuilder &b = f.builder();
  if (value.getType().isInteger(64)) { // By halves.
    Type half = b.getI32Type();
    auto wide = [&](Value part) -> Value { return arith::ExtUIOp::create(b, f.loc(), b.getI64Type(), shuffle(f, part, operand, kind)); };
    Value upper = arith::TruncIOp::create(b, f.loc(), half, arith::ShRUIOp::create(b, f.loc(), value, f.i64(32)));
    Value lower = arith::TruncIOp::create(b, f.loc(), half, value);
    return arith::OrIOp::create(b, f.loc(), wide(lower), arith::ShLIOp::create(b, f.loc(), wide(upper), f.i64(32)));
  }
  // Of those that take a lower lane's value the first lanes clamp to 0, of others to the last.
  int32_t last = kind == NVVM::ShflKind::up ? 0 : warpLanes - 1;
  return NVVM::ShflOp::create(b, f.loc(), value.getType(), i32(f, allLanes), value, operand, i32(f, last), kind, UnitAttr());
}

Value attn::fromLane(FunctionScope &f, Value value, Value lane) {
  return shuffle(f, value, lane, NVVM::ShflKind::idx);
}

Value attn::joinLanes(FunctionScope &f, Value value, llvm::function_ref<Value(Value, Value)> join) {
  for (int32_t distance = warpLanes / 2; distance; distance /= 2)
    value = join(value, shuffle(f, value, i32(f, distance), NVVM::ShflKind::bfly));
  return value;
}

Value attn::prefixSum(FunctionScope &f, Value value) {
  Value lane = laneIndex(f);
  for (int32_t distance = 1; distance < warpLanes; distance *= 2) {
    Value before = shuffle(f, value, i32(f, distance), NVVM::ShflKind::up);
    Value isThere = arith::CmpIOp::create(f.builder(), f.loc(), arith::CmpIPredicate::sge, lane, i32(f, distance));
    value = f.add(value, arith::SelectOp::create(f.builder(), f.loc(), isThere, before, f.i64(0)));
  }
  return value;
}

Value attn::ballot(FunctionScope &f, Value condition) {
  return NVVM::VoteSyncOp::create(f.builder(), f.loc(), f.builder().getI32Type(), i32(f, allLanes), condition,
                                  NVVM::VoteSyncKind::ballot);
}
