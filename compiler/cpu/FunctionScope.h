//===- FunctionScope.h - one generated function -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A function under construction that has the frame as its first argument: extents,
// addresses and strides, each loaded once at its top; and the small vocabulary
// (constants, loops, loads, stores) that the stage emitters are written in.
// All integers are i64; memory is !llvm.ptr.
//===----------------------------------------------------------------------===//
#ifndef ATTN_COMPILER_CPU_FUNCTIONSCOPE_H
#define ATTN_COMPILER_CPU_FUNCTIONSCOPE_H

#include "compiler/cpu/Frame.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include <map>

namespace attn {

/// A stored tensor as a function sees it.
struct Access {
  mlir::Value address;                    ///< !llvm.ptr of the element at index 0
  llvm::SmallVector<mlir::Value> strides; ///< elements, one per factor
  llvm::SmallVector<ExtentAttr> factors;
  /// Per factor: the ragged axis that limits its index by the extent at the point; null for others.
  llvm::SmallVector<mlir::StringAttr> ragged;
  /// Per factor: the ragged axis packed behind it, one run after the other; null for others.
  llvm::SmallVector<mlir::StringAttr> packs;
  /// Per factor: the extent of the dimension whose valid part a ragged axis is; null for others.
  llvm::SmallVector<mlir::Value> padded;
  mlir::Type element; ///< as stored
  bool constant;      ///< nobody writes it while the kernel runs
};

class FunctionScope {
public:
  using Values = llvm::SmallVector<mlir::Value>;

  /// Builds into the entry block of `function`, whose first argument is the frame.
  FunctionScope(mlir::func::FuncOp function, const FrameLayout &layout);

  mlir::OpBuilder &builder() { return b; }
  mlir::Location loc() const { return location; }
  void setLoc(mlir::Location loc) { location = loc; }
  mlir::func::FuncOp getFunction() { return function; }
  const FrameLayout &getLayout() const { return layout; }

  // Integers.
  mlir::Value i64(int64_t value);
  mlir::Value add(mlir::Value x, mlir::Value y);
  mlir::Value sub(mlir::Value x, mlir::Value y);
  mlir::Value mul(mlir::Value x, mlir::Value y);
  /// Floor of x / y for x >= 0, y > 0.
  mlir::Value div(mlir::Value x, mlir::Value y);
  mlir::Value rem(mlir::Value x, mlir::Value y);
  mlir::Value ceilDiv(mlir::Value x, mlir::Value y);
  mlir::Value min(mlir::Value x, mlir::Value y);
  mlir::Value max(mlir::Value x, mlir::Value y);
  mlir::Value less(mlir::Value x, mlir::Value y);
  /// The number, when it is known while compiling.
  static std::optional<int64_t> constantOf(mlir::Value value);
  /// A number that divides the value, whatever that is at run time; 0 for the value 0.
  static int64_t divisorOf(mlir::Value value);

  // The kernel's facts.
  mlir::Value frameSlot(unsigned slot);
  /// The extent of an axis: a constant when the program fixes it, the largest of a ragged one.
  mlir::Value extent(mlir::StringAttr axis);
  mlir::Value extent(ExtentAttr extent);
  /// How many combinations of indices the axes have.
  mlir::Value extent(llvm::ArrayRef<mlir::StringAttr> axes);
  std::optional<int64_t> constantExtent(mlir::StringAttr axis) const;
  /// Whether the index of `axis` always lies within `factor`.
  bool covers(ExtentAttr factor, mlir::StringAttr axis) const;
  const Access &access(mlir::Value ref);
  /// So many tasks of one size keep all workers busy nearly to the end. More of them cost more.
  mlir::Value enoughTasks() { return mul(frameSlot(layout.workers()), i64(8)); }
  /// The scratch of the worker that runs this function (its third argument).
  mlir::Value workerScratch();
  /// The scratch that all workers share.
  mlir::Value sharedScratch();

  // Memory. Offsets are in elements of the type (of a vector: in its elements).
  mlir::Value address(mlir::Value base, mlir::Value offset, mlir::Type element);
  mlir::Value load(mlir::Type type, mlir::Value base, mlir::Value offset, bool invariant = false);
  void store(mlir::Value value, mlir::Value base, mlir::Value offset);

  // Vectors.
  mlir::VectorType vectorOf(int64_t lanes, mlir::Type element) { return mlir::VectorType::get({lanes}, element); }
  mlir::Value splat(mlir::Value scalar, int64_t lanes);
  /// 0, 1, 2, ... in i64 lanes.
  mlir::Value iota(int64_t lanes);
  /// A float or vector-of-float constant.
  mlir::Value constant(mlir::Type type, double value);

  // Loops and branches; the body builds at the builder.
  /// The condition, of which LLVM is told that it holds as a rule: the other way gets no registers that this one needs.
  mlir::Value likely(mlir::Value condition);
  /// Whether a stride is 1, as it is as a rule.
  mlir::Value isOne(mlir::Value stride);
  void loop(mlir::Value from, mlir::Value to, mlir::Value step, llvm::function_ref<void(mlir::Value)> body);
  Values loop(mlir::Value from, mlir::Value to, mlir::Value step, mlir::ValueRange init,
              llvm::function_ref<Values(mlir::Value, mlir::ValueRange)> body);
  void when(mlir::Value condition, llvm::function_ref<void()> then, llvm::function_ref<void()> otherwise = nullptr);
  Values choose(mlir::Value condition, mlir::TypeRange types, llvm::function_ref<Values()> then,
                llvm::function_ref<Values()> otherwise);

private:
  /// Runs `build` at the top of the function, behind what stands there.
  mlir::Value atTop(llvm::function_ref<mlir::Value()> build);
  mlir::Value evaluate(mlir::AffineExpr expr, llvm::ArrayRef<mlir::StringAttr> names);
  Access makeAccess(mlir::Value ref);
  void markRagged(mlir::Value ref, Access &access);

  mlir::func::FuncOp function;
  const FrameLayout &layout;
  mlir::OpBuilder b;
  mlir::Location location;
  /// Everything loaded at the top stands before this op.
  mlir::Operation *topEnd;
  std::map<unsigned, mlir::Value> slots;
  std::map<int64_t, mlir::Value> integers;
  llvm::DenseMap<mlir::Attribute, mlir::Value> extents;
  std::map<const void *, Access> accesses; ///< references stay valid
};

/// Finds the constant extent of an axis by following its definition.
std::optional<int64_t> constantExtent(const Signature &signature, mlir::StringAttr axis);

/// The definition of an extent with axes replaced by what defines them, down to
/// dimensions of arguments and numbers: two extents with one definition are equal.
ExtentAttr resolvedExtent(const Signature &signature, ExtentAttr extent);

/// Whether the extent of `axis` always is that of `factor`.
bool covers(const Signature &signature, ExtentAttr factor, mlir::StringAttr axis);

} // namespace attn

#endif // ATTN_COMPILER_CPU_FUNCTIONSCOPE_H
