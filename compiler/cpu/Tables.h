//===- Tables.h - constant data of generated modules ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Builds constant globals out of 64-bit words (numbers and addresses of other globals) and texts. It knows no layout.
//===----------------------------------------------------------------------===//
#ifndef ATTN_COMPILER_CPU_TABLES_H
#define ATTN_COMPILER_CPU_TABLES_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/ADT/StringMap.h"

namespace attn {

class Tables {
public:
  /// A number, or the address of a global; a null symbol is the null pointer.
  struct Word {
    Word(int64_t number) : number(number), isAddress(false) {}
    Word(mlir::FlatSymbolRefAttr symbol) : symbol(symbol), isAddress(true) {}
    int64_t number = 0;
    mlir::FlatSymbolRefAttr symbol;
    bool isAddress;
  };
  using Words = llvm::SmallVector<Word>;

  /// Globals are named `prefix.role` or `prefix.N` and inserted at the builder's place.
  Tables(mlir::OpBuilder &builder, mlir::Location loc, llvm::StringRef prefix);

  /// A C string; equal texts share one.
  mlir::FlatSymbolRefAttr text(llvm::StringRef text);
  mlir::FlatSymbolRefAttr numbers(llvm::ArrayRef<int64_t> numbers);
  /// Null when there are no words.
  mlir::FlatSymbolRefAttr table(llvm::ArrayRef<Word> words, llvm::StringRef role = "");

private:
  mlir::LLVM::GlobalOp global(mlir::Type type, mlir::Attribute value, llvm::StringRef role = "");

  mlir::OpBuilder &builder;
  mlir::Location loc;
  std::string prefix;
  unsigned count = 0;
  llvm::StringMap<mlir::FlatSymbolRefAttr> texts;
};

} // namespace attn

#endif // ATTN_COMPILER_CPU_TABLES_H
