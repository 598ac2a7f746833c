//===- Tables.cpp - constant data of generated modules ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "compiler/cpu/Tables.h"

using namespace mlir;
using namespace attn;

Tables::Tables(OpBuilder &builder, Location loc, StringRef prefix) : builder(builder), loc(loc), prefix(prefix) {}

LLVM::GlobalOp Tables::global(Type type, Attribute value, StringRef role) {
  std::string name = prefix + "." + (role.empty() ? std::to_string(count++) : role.str());
  return LLVM::GlobalOp::create(builder, loc, type, /*isConstant=*/true, LLVM::Linkage::Internal, name, value);
}

FlatSymbolRefAttr Tables::text(StringRef text) {
  FlatSymbolRefAttr &known = texts[text];
  if (!known) {
    std::string terminated = text.str() + '\0';
    auto type = LLVM::LLVMArrayType::get(builder.getI8Type(), terminated.size());
    known = FlatSymbolRefAttr::get(global(type, builder.getStringAttr(terminated)));
  }
  return known;
}

FlatSymbolRefAttr Tables::numbers(ArrayRef<int64_t> numbers) {
  auto type = LLVM::LLVMArrayType::get(builder.getI64Type(), numbers.size());
  return FlatSymbolRefAttr::get(global(type, builder.getI64TensorAttr(numbers)));
}

FlatSymbolRefAttr Tables::table(ArrayRef<Word> words, StringRef role) {
  if (words.empty())
    return {};
  Type pointer = LLVM::LLVMPointerType::get(builder.getContext());
  SmallVector<Type> types;
  for (const Word &word : words)
    types.push_back(word.isAddress ? pointer : Type(builder.getI64Type()));
  auto type = LLVM::LLVMStructType::getLiteral(builder.getContext(), types);
  LLVM::GlobalOp made = global(type, Attribute(), role);
  OpBuilder::InsertionGuard guard(builder);
  builder.createBlock(&made.getInitializerRegion());
  Value value = LLVM::UndefOp::create(builder, loc, type);
  for (auto [i, word] : llvm::enumerate(words)) {
    Value field;
    if (word.symbol)
      field = LLVM::AddressOfOp::create(builder, loc, pointer, word.symbol);
    else if (word.isAddress)
      field = LLVM::ZeroOp::create(builder, loc, pointer);
    else
      field = LLVM::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(word.number));
    value = LLVM::InsertValueOp::create(builder, loc, value, field, static_cast<int64_t>(i));
  }
  LLVM::ReturnOp::create(builder, loc, value);
  return FlatSymbolRefAttr::get(made);
}
