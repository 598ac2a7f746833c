//===- MicroKernel.cpp - the register-blocked product -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// rows x vectors accumulators live in registers as loop-carried vectors; each step
// loads `vectors` vectors and broadcasts `rows` scalars. Goto and van de Geijn,
// Anatomy of high-performance matrix multiplication (2008), section 4.
//===----------------------------------------------------------------------===//
#include "compiler/cpu/StageLowering.h"

using namespace mlir;
using namespace attn;

FunctionScope::Values attn::emitMicroKernel(FunctionScope &f, int64_t rows, int64_t vectors, Value from, Value to,
                                            ValueRange sums, llvm::function_ref<Value(int64_t, Value)> scalar,
                                            llvm::function_ref<Value(int64_t, Value)> lanes) {
  return f.loop(from, to, f.i64(1), sums, [&](Value k, ValueRange carried) {
    FunctionScope::Values next, right;
    for (int64_t v = 0; v < vectors; ++v)
      right.push_back(lanes(v, k));
    int64_t width = cast<VectorType>(right.front().getType()).getNumElements();
    for (int64_t r = 0; r < rows; ++r) {
      Value left = f.splat(scalar(r, k), width);
      for (int64_t v = 0; v < vectors; ++v)
        next.push_back(math::FmaOp::create(f.builder(), f.loc(), left, right[v], carried[r * vectors + v]));
    }
    return next;
  });
}

FunctionScope::Values attn::splitTask(FunctionScope &f, Value task, ArrayRef<Value> counts) {
  FunctionScope::Values indices(counts.size());
  for (size_t i = counts.size(); i-- > 0;) {
    indices[i] = i == 0 ? task : f.rem(task, counts[i]);
    task = f.div(task, counts[i]);
  }
  return indices;
}

void attn::whereExists(FunctionScope &f, Value exists, llvm::function_ref<void(Operation *)> emit) {
  if (exists)
    f.when(exists, [&] { emit(f.builder().getInsertionBlock()->getParentOp()); });
  else
    emit(nullptr);
}
