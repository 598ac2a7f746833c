//===- Emit.h - from a typed program to the dialect -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes a typed program as `attn.program`. Decides nothing: each node is one operation, or
// part of the region of one `attn.map`.
//===----------------------------------------------------------------------===//
#ifndef ATTN_COMPILER_FRONTEND_EMIT_H
#define ATTN_COMPILER_FRONTEND_EMIT_H

#include "compiler/frontend/Program.h"
#include "dialects/attn/Attn.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace attn::language {

/// Builds the program at the insertion point of `builder`.
ProgramOp emitProgram(const Program &program, llvm::SourceMgr &sources, mlir::OpBuilder &builder);

/// Names, types and places of a program, in MLIR's words.
class EmitContext {
public:
  EmitContext(const Program &program, llvm::SourceMgr &sources, mlir::MLIRContext *context)
      : program(program), sources(sources), context(context) {}

  ExtentAttr extent(const Extent &extent) const;
  RefType refType(const Stored &stored) const;
  mlir::Type storedElement(Dtype dtype) const;
  /// f32, or f64 where a float ends in an index; i64; i1.
  mlir::Type element(const Node *node) const;
  ValueType valueType(const Node *node, mlir::Type element) const;
  mlir::ArrayAttr axisNames(AxisSet axes) const;
  mlir::ArrayAttr axisNames(llvm::ArrayRef<unsigned> axes) const;
  mlir::StringAttr axisName(unsigned axis) const { return mlir::StringAttr::get(context, program.axes[axis].name); }
  mlir::Location location(llvm::SMRange range) const;
  mlir::Location location(const Place &place) const;
  mlir::Location location(const Node *node) const;

protected:
  const Program &program;
  llvm::SourceMgr &sources;
  mlir::MLIRContext *context;
};

/// The scalar operation of a pointwise node, inside the region of a map. `operands` have the
/// elements that the node works on.
mlir::Value emitScalar(const Node *node, llvm::ArrayRef<mlir::Value> operands, mlir::Type element,
                       mlir::OpBuilder &builder, mlir::Location location);

/// The same float with another width.
mlir::Value convertFloat(mlir::Value scalar, mlir::Type wanted, mlir::OpBuilder &builder, mlir::Location location);

/// A number as the scalar `element`.
mlir::TypedAttr numberAttr(const Node *constant, mlir::Type element);

class Emitter : EmitContext {
public:
  Emitter(const Program &program, llvm::SourceMgr &sources, mlir::OpBuilder &builder)
      : EmitContext(program, sources, builder.getContext()), builder(builder) {}
  ProgramOp run();

private:
  ProgramOp createProgram();
  void planMaps();
  void emitFacts();
  void emitSteps();

  /// Emits what `root` needs and was not emitted yet, operands first.
  void emitTree(const Node *root);
  mlir::Value emitNode(const Node *node);
  mlir::Value emitRead(const Node *node, llvm::ArrayRef<mlir::Value> indices);
  mlir::Value emitMap(const Node *node);
  mlir::Value emitInRegion(const Node *node, mlir::Block &block, llvm::ArrayRef<const Node *> inputs,
                           mlir::OpBuilder &inner);
  void collectInputs(const Node *node, llvm::SmallVectorImpl<const Node *> &inputs);
  mlir::Type workElement(const Node *node);
  mlir::Value indexOf(unsigned axis, mlir::Location location);
  mlir::Value sinkOf(const Node *node);
  mlir::Value emitSelect(const Node *node);
  /// The value of a node with its own element, or with another one.
  mlir::Value valueOf(const Node *node);
  mlir::Value valueOf(const Node *node, mlir::Type element);

  /// Nodes with one key are one value: the same computation in the same width.
  using Key = uint64_t;
  static Key keyOf(const Node *node) { return Key(node->identity) * 2 + node->wide; }
  static bool isMapped(const Node *node) { return node->op == Op::Pointwise || node->op == Op::ToFloat; }
  /// Stands as a constant wherever it is used.
  static bool isNumber(const Node *node) { return node->op == Op::Constant || node->folded; }

  mlir::OpBuilder &builder;
  mlir::Block *body = nullptr;
  llvm::DenseMap<Key, mlir::Value> values;
  /// Nodes that are computed inside the map of their only user.
  llvm::DenseSet<Key> inlined;
};

} // namespace attn::language

#endif // ATTN_COMPILER_FRONTEND_EMIT_H
