//===- StoredType.cpp - element types at the C interface --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "compiler/emit/StoredType.h"

#include "attn/runtime.h"
#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;
using namespace attn;

static const StoredType f32{"f32", "float", kDLFloat, 32};
static const StoredType f16{"f16", "uint16_t", kDLFloat, 16};
static const StoredType bf16{"bf16", "uint16_t", kDLBfloat, 16};
static const StoredType f8e4m3{"f8e4m3", "uint8_t", ATTN_DTYPE_FLOAT8_E4M3FN, 8};
static const StoredType f8e5m2{"f8e5m2", "uint8_t", ATTN_DTYPE_FLOAT8_E5M2, 8};
static const StoredType i8{"i8", "int8_t", kDLInt, 8};
static const StoredType u8{"u8", "uint8_t", kDLUInt, 8};
static const StoredType i32{"i32", "int32_t", kDLInt, 32};
static const StoredType i64{"i64", "int64_t", kDLInt, 64};
static const StoredType boolean{"bool", "bool", ATTN_DTYPE_BOOL, 8};

static const StoredType *findInteger(IntegerType type) {
  switch (type.getWidth()) {
  case 1:
    return &boolean;
  case 8:
    return type.isUnsigned() ? &u8 : &i8;
  case 32:
    return type.isUnsigned() ? nullptr : &i32;
  case 64:
    return type.isUnsigned() ? nullptr : &i64;
  default:
    return nullptr;
  }
}

const StoredType *attn::findStoredType(Type element) {
  if (auto integer = dyn_cast<IntegerType>(element))
    return findInteger(integer);
  if (element.isF32())
    return &f32;
  if (element.isF16())
    return &f16;
  if (element.isBF16())
    return &bf16;
  if (isa<Float8E4M3FNType>(element))
    return &f8e4m3;
  return isa<Float8E5M2Type>(element) ? &f8e5m2 : nullptr;
}
