//===- Builder.h - typed nodes from operands --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Makes nodes of a program: kinds, axes, conversions of integers to floats, folding. Reports
// what no operator takes; any poison among the operands gives poison in silence.
//===----------------------------------------------------------------------===//
#ifndef ATTN_COMPILER_FRONTEND_BUILDER_H
#define ATTN_COMPILER_FRONTEND_BUILDER_H

#include "compiler/frontend/Program.h"
#include "llvm/ADT/DenseSet.h"
#include <map>

namespace attn::language {

class Builder {
public:
  Builder(Program &program, Diagnostics &diagnostics) : program(program), diagnostics(diagnostics) {}

  Node *poison();
  Node *integer(int64_t value, const Place &place);
  Node *real(double value, const Place &place);
  Node *truth(bool value, const Place &place);
  Node *index(unsigned axis, const Place &place);
  Node *extent(unsigned axis, const Place &place);
  Node *read(unsigned stored, llvm::ArrayRef<Node *> indices, const Place &place);
  Node *take(Node *value, llvm::ArrayRef<unsigned> axes, llvm::ArrayRef<Node *> indices, const Place &place);
  Node *rename(Node *value, llvm::ArrayRef<unsigned> from, llvm::ArrayRef<unsigned> to, const Place &place);
  Node *where(Node *value, Node *condition, const Place &place);
  Node *select(Node *condition, Node *onTrue, Node *onFalse, const Place &place);
  Node *lazy(Op op, Node *left, Node *right, const Place &place);
  /// Kinds are joined: an integer beside a float becomes one.
  Node *pointwise(Function function, llvm::ArrayRef<Node *> operands, const Place &place);
  Node *contract(Node *left, Node *right, AxisSet over, ContractRole role, const Place &place);
  Node *reduce(Reduction reduction, Node *value, AxisSet over, const Place &place);
  Node *normalise(Op op, Node *value, Node *sink, AxisSet over, const Place &place);
  Node *rope(Node *value, Node *cosine, Node *sine, unsigned axis, unsigned pairAxis, bool interleaved,
             const Place &place);

  /// A float, whatever number it was; refuses conditions and inexact integer quotients.
  Node *toFloat(Node *value, const Place &place);
  /// The same for an integer whose quotients are meant to floor, such as a position.
  Node *intToFloat(Node *value);
  /// False, after a message, when the value is not of that sort.
  bool isNumber(Node *value);
  bool isCondition(Node *value, llvm::StringRef what);
  bool isInteger(Node *value, llvm::StringRef what);
  /// Refuses a quotient of integers that is not exact, in front of a float.
  bool isExact(Node *value);
  /// Warns of literal quotients that were not refused since the last call.
  void warnOfLiteralQuotients();
  /// From now on a read of a stored tensor may give something else.
  void noteWrite() { ++epoch; }
  bool isFull() const { return program.nodes.size() > maxNodes; }

private:
  /// Programs of people are thousands of times smaller; only nested defs grow so.
  static constexpr size_t maxNodes = 100000;

  Node *make(Op op, ValueKind kind, AxisSet axes, llvm::ArrayRef<Node *> operands, const Place &place);
  Node *finish(Node *node);
  std::optional<int64_t> fold(const Node *node) const;
  Node *comparison(Function function, Node *left, Node *right, const Place &place);
  Node *divide(Node *left, Node *right, const Place &place);
  bool joinKinds(llvm::SmallVectorImpl<Node *> &operands, const Place &place);
  bool isExactQuotient(Node *quotient);

  Program &program;
  Diagnostics &diagnostics;
  std::map<std::vector<int64_t>, unsigned> identities;
  std::vector<Node *> literalQuotients;
  llvm::DenseSet<Node *> exactlyRequired;
  int64_t epoch = 0;
};

} // namespace attn::language

#endif // ATTN_COMPILER_FRONTEND_BUILDER_H
