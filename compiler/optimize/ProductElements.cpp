//===- ProductElements.cpp - what products may be rounded to ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "compiler/optimize/ProductElements.h"

using namespace mlir;
using namespace attn;

Type attn::storedHalf(Value value) {
  auto read = value.getDefiningOp<ReadOp>();
  Type element = read ? read.getRef().getType().getElementType() : Type();
  return element && (element.isF16() || element.isBF16()) ? element : Type();
}

FailureOr<Type> attn::commonElement(Value one, Value other, bool isPrecise) {
  Type first = storedHalf(one), second = other ? storedHalf(other) : Type();
  if (first && first == second)
    return first;
  if (Type element = second ? second : first; element && !isPrecise)
    return element;
  return failure();
}

int64_t attn::bf16PartsOf(Type element) { return !element ? 0 : element.isBF16() ? 1 : 2; }

Type attn::productElement(FlashOp flash, bool isPrecise) {
  if (isPrecise || flash.getNormalizer() != Normalizer::Softmax || flash.getValues().empty())
    return {};
  Type all;
  auto joins = [&](Type element) {
    bool fits = element && (!all || all == element);
    all = element;
    return fits;
  };
  for (auto [query, key] : llvm::zip(flash.getQueries(), flash.getKeys()))
    if (!joins(commonElement(key, query, isPrecise).value_or(Type())))
      return {};
  for (Value value : flash.getValues())
    if (!joins(storedHalf(value)))
      return {};
  return all;
}
