//===- Partials.cpp - what chunks of keys leave to be merged ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "compiler/cuda/Partials.h"
#include "compiler/cpu/Ragged.h"

using namespace mlir;
using namespace attn;

static Value roundedUp(FunctionScope &f, Value x, int64_t step) { return f.mul(f.ceilDiv(x, f.i64(step)), f.i64(step)); }

Value Partials::mostChunks(FunctionScope &f) const {
  const Signature &signature = f.getLayout().getSignature();
  if (!llvm::all_of(axes.keys, [&](StringAttr axis) { return isBounded(signature, axis); }))
    return f.i64(limit);
  return f.min(chunks(f, f.extent(axes.keys)), f.i64(limit));
}

Value Partials::chunkKeys(FunctionScope &f, Value keys) const {
  return f.max(f.i64(leastKeys), roundedUp(f, f.ceilDiv(keys, f.i64(limit)), grain));
}

Value Partials::chunks(FunctionScope &f, Value keys) const {
  return f.max(f.i64(1), f.ceilDiv(keys, chunkKeys(f, keys)));
}

Value Partials::queries(FunctionScope &f) const {
  return f.mul(f.extent(axes.rows), axes.lane ? f.extent(axes.lane) : f.i64(1));
}

Value Partials::offset(FunctionScope &f, unsigned value) const {
  Value at = f.i64(llvm::alignTo(Statistics, 4));
  for (StringAttr width : ArrayRef(axes.widths).take_front(value))
    at = f.add(at, roundedUp(f, f.extent(width), 4));
  return at;
}

Value Partials::bytes(FunctionScope &f) const {
  Value parts = f.mul(f.mul(f.extent(axes.batch), queries(f)), mostChunks(f));
  return f.mul(parts, f.mul(offset(f, axes.widths.size()), f.i64(sizeof(float))));
}

Value Partials::place(FunctionScope &f, Value query, Value chunk) const {
  Value number = f.add(f.mul(chunk, f.mul(f.extent(axes.batch), queries(f))), query);
  return f.address(f.sharedScratch(), f.mul(number, offset(f, axes.widths.size())), f.builder().getF32Type());
}
