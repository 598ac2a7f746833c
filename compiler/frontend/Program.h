//===- Program.h - a program whose names and types are known ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The typed tree that the checker makes and the emitter reads: values over sets of axes, each
// node behind its operands. No MLIR, no syntax but places for messages.
//===----------------------------------------------------------------------===//
#ifndef ATTN_COMPILER_FRONTEND_PROGRAM_H
#define ATTN_COMPILER_FRONTEND_PROGRAM_H

#include "compiler/frontend/Diagnostics.h"
#include "compiler/frontend/Extents.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/bit.h"

namespace attn::language {

/// A set of axes by number, in the order in which the text first names them.
class AxisSet {
public:
  static constexpr unsigned capacity = 64;

  AxisSet() = default;
  static AxisSet of(unsigned axis) { return AxisSet(uint64_t(1) << axis); }
  bool has(unsigned axis) const { return bits >> axis & 1; }
  bool empty() const { return bits == 0; }
  unsigned size() const { return llvm::popcount(bits); }
  bool contains(AxisSet other) const { return (other.bits & ~bits) == 0; }
  AxisSet operator|(AxisSet other) const { return AxisSet(bits | other.bits); }
  AxisSet operator&(AxisSet other) const { return AxisSet(bits & other.bits); }
  AxisSet operator-(AxisSet other) const { return AxisSet(bits & ~other.bits); }
  AxisSet &operator|=(AxisSet other) { return *this = *this | other; }
  bool operator==(AxisSet other) const { return bits == other.bits; }
  bool operator!=(AxisSet other) const { return bits != other.bits; }
  llvm::SmallVector<unsigned, 8> list() const {
    llvm::SmallVector<unsigned, 8> axes;
    for (uint64_t rest = bits; rest; rest &= rest - 1)
      axes.push_back(llvm::countr_zero(rest));
    return axes;
  }

private:
  explicit AxisSet(uint64_t bits) : bits(bits) {}
  uint64_t bits = 0;
};

enum class ValueKind { Float, Int, Bool };

enum class Op {
  Poison, // what an error left behind; every use of it is silent
  Constant,
  Index,
  Extent,
  Read,
  Take,
  Rename,
  ToFloat,
  Pointwise,
  Select,
  And,
  Or,
  Where,
  Contract,
  Reduce,
  Softmax,
  LogSumExp,
  Rope
};

/// What a pointwise node computes. `IntDiv` floors, `Mod` is never negative.
enum class Function {
  Add, Sub, Mul, Div, IntDiv, Mod, Negate, Not,
  BitAnd, BitOr, BitXor, ShiftLeft, ShiftRight,
  Less, LessEqual, Greater, GreaterEqual, Equal, NotEqual,
  Exp, Log, Sqrt, Rsqrt, Tanh, Sigmoid, Sin, Cos, Abs, Floor, Round, ToInt, Min, Max, Random
};

enum class ContractRole { Dot, Project, Score, Mix };
enum class Reduction { Sum, Mean, Max, Min };

struct Node {
  Op op = Op::Poison;
  ValueKind kind = ValueKind::Float;
  AxisSet axes;
  Place place;
  /// Read: the indices. Take: the value, the indices. Where: the value, the condition.
  /// Softmax, LogSumExp: the value and perhaps the sink. Rope: the value, cosines, sines.
  llvm::SmallVector<Node *, 3> operands;

  int64_t integer = 0;                    // Constant of an int or a bool
  double real = 0;                        // Constant of a float
  unsigned axis = 0;                      // Index, Extent; Rope: the axis that is turned
  unsigned pairAxis = 0;                  // Rope
  bool interleaved = false;               // Rope
  unsigned stored = 0;                    // Read
  Function function = Function::Add;      // Pointwise
  ContractRole role = ContractRole::Dot;  // Contract
  Reduction reduction = Reduction::Sum;   // Reduce
  AxisSet over;                           // Contract, Reduce, Softmax, LogSumExp
  llvm::SmallVector<unsigned, 2> taken;   // Take: one axis per index. Rename: from
  llvm::SmallVector<unsigned, 2> renamed; // Rename: to
  /// A float that ends in an index or is an angle, computed in f64: buckets agree everywhere, and far positions turn right.
  bool wide = false;
  /// The name that a statement gave to it, for readers of the IR.
  std::string name;

  /// The number that it is, when neither arguments nor indices decide it.
  std::optional<int64_t> folded;
  /// Extents and numbers alone decide it: one number per call.
  bool onlyExtents = false;
  /// Nodes that compute the same, by structure, have the same identity.
  unsigned identity = 0;

  bool isPoison() const { return op == Op::Poison; }
  bool is(Function wanted) const { return op == Op::Pointwise && function == wanted; }
};

struct Axis {
  std::string name, index;
  llvm::SMRange firstMention;
  /// Made by the compiler (the pairs of a rotation): a program cannot name it.
  bool isInternal = false;
  AxisSet dependsOn;
  Node *raggedExtent = nullptr;
  /// How the extent is found; of ragged axes nothing.
  std::optional<Extent> extent;
  std::optional<int64_t> constant;

  bool isRagged() const { return !dependsOn.empty(); }
};

enum class Dtype { F32, F16, BF16, F8E4M3, F8E5M2, I8, U8, I32, I64, Bool };

std::optional<Dtype> parseDtype(llvm::StringRef name);
ValueKind kindOf(Dtype dtype);

enum class Mode { In, InOut, Out };

/// An argument or a result.
struct Stored {
  std::string name;
  Dtype dtype = Dtype::F32;
  Mode mode = Mode::In;
  std::vector<std::vector<Extent>> dims;
  llvm::SMRange range;

  llvm::SmallVector<Extent, 4> factors() const {
    llvm::SmallVector<Extent, 4> all;
    for (const std::vector<Extent> &dim : dims)
      all.append(dim.begin(), dim.end());
    return all;
  }
};

/// What a statement does: computes `value`, and stores it when `indices` say where.
struct Step {
  Node *value = nullptr;
  bool isWrite = false;
  unsigned stored = 0;
  llvm::SmallVector<Node *, 4> indices;
  Node *condition = nullptr;
  Place place;
};

struct Requirement {
  Node *condition;
  std::string text;
};

struct Program {
  std::string name;
  bool precise = false;
  llvm::SMRange range;
  std::vector<Axis> axes;
  /// Arguments, then results.
  std::vector<Stored> stored;
  unsigned numParams = 0;
  /// The order in which extents can be computed, ragged ones last.
  std::vector<unsigned> axisOrder;
  std::vector<AxisFact> checks;
  std::vector<Requirement> requirements;
  std::vector<Step> steps;
  /// Of each result, the value that was assigned last.
  std::vector<Node *> results;
  /// Every node, operands before users.
  std::vector<std::unique_ptr<Node>> nodes;

  std::string axisName(unsigned axis) const { return axes[axis].name; }
  /// `B S E`, or `no axes`.
  std::string describe(AxisSet set) const;
  std::string describe(const Extent &extent) const;
  /// The extent with every axis replaced by what defines it, down to dimensions and numbers.
  Extent expand(const Extent &extent) const;
  /// Both axes provably have one extent.
  bool sameExtent(unsigned a, unsigned b) const;
};

} // namespace attn::language

#endif // ATTN_COMPILER_FRONTEND_PROGRAM_H
