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
  return NVVM::ShflOp::create(f.builder(), f.loc(), value.getType(), i32(f, allLanes), value, operand,
                              i32(f, warpLanes - 1), kind, UnitAttr());
}

Value attn::fromLane(FunctionScope &f, Value value, Value lane) {
  return shuffle(f, value, lane, NVVM::ShflKind::idx);
}

Value attn::joinLanes(FunctionScope &f, Value value, llvm::function_ref<Value(Value, Value)> join) {
  for (int32_t distance = warpLanes / 2; distance; distance /= 2)
    value = join(value, shuffle(f, value, i32(f, distance), NVVM::ShflKind::bfly));
  return value;
}

Value attn::ballot(FunctionScope &f, Value condition) {
  return NVVM::VoteSyncOp::create(f.builder(), f.loc(), f.builder().getI32Type(), i32(f, allLanes), condition,
                                  NVVM::VoteSyncKind::ballot);
}
