//===- Attn.h - the attention dialect ---------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Types, attributes and operations of the dialect, and small helpers over named axes.
//===----------------------------------------------------------------------===//
#ifndef ATTN_DIALECTS_ATTN_ATTN_H
#define ATTN_DIALECTS_ATTN_ATTN_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/Support/Error.h"

#include "dialects/attn/AttnDialect.h.inc"
#include "dialects/attn/AttnEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/attn/AttnAttrs.h.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/attn/AttnTypes.h.inc"
#define GET_OP_CLASSES
#include "dialects/attn/AttnOps.h.inc"

namespace attn {

/// A set of axes in the order in which they were found.
using AxisList = llvm::SmallVector<mlir::StringAttr, 6>;

inline ValueType valueType(mlir::Value value) { return mlir::cast<ValueType>(value.getType()); }

/// The union of the axes of the given values, sorted by name.
AxisList unionOfAxes(mlir::ValueRange values);

/// The names in a string array attribute.
AxisList axisNames(mlir::ArrayAttr names);

/// The element that a stored element is widened to when it is read.
mlir::Type widened(mlir::Type stored);

/// What the signature attributes of a program or kernel say; one view for both.
struct Signature {
  explicit Signature(mlir::Operation *programOrKernel);
  /// The innermost program or kernel around `op`.
  static mlir::Operation *around(mlir::Operation *op);

  llvm::StringRef name;
  llvm::SmallVector<ArgAttr> args;
  llvm::SmallVector<AxisAttr> axes;
  llvm::SmallVector<AxisAttr> facts;
  mlir::Block *body;
  bool precise;

  RefType argType(unsigned i) const { return mlir::cast<RefType>(body->getArgument(i).getType()); }
  /// Null when no axis has the name.
  AxisAttr findAxis(mlir::StringAttr axis) const;
};

} // namespace attn

#endif // ATTN_DIALECTS_ATTN_ATTN_H
