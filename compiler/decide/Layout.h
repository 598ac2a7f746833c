//===- Layout.h - the order of a stored value's axes ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Axes in the order in which the first reader wants them: what it sums over innermost.
//===----------------------------------------------------------------------===//
#ifndef ATTN_COMPILER_DECIDE_LAYOUT_H
#define ATTN_COMPILER_DECIDE_LAYOUT_H

#include "dialects/attn/Attn.h"

namespace attn {

class Layout {
public:
  explicit Layout(ProgramOp program);

  /// The axes of a value of the program, outermost first.
  AxisList of(mlir::Value value) const;
  /// The order in which the arguments name their axes, then that of their declaration.
  AxisList ordered(llvm::ArrayRef<mlir::StringAttr> axes) const;

private:
  AxisList forFlash(FlashOp flash, mlir::Value operand, llvm::ArrayRef<mlir::StringAttr> axes) const;
  AxisList forContract(ContractOp contract, mlir::Value operand, llvm::ArrayRef<mlir::StringAttr> axes) const;
  AxisList lastly(llvm::ArrayRef<mlir::StringAttr> axes, llvm::ArrayRef<mlir::StringAttr> last) const;

  mlir::Block &block;
  llvm::DenseMap<mlir::StringAttr, unsigned> rank;
};

} // namespace attn

#endif // ATTN_COMPILER_DECIDE_LAYOUT_H
