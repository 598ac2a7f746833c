//===- Numpy.h - a program as plain NumPy -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prints a typed program as a Python function that computes it in f64, statement by statement:
// for people, and as a witness that shares nothing with the interpreter or the compiled code.
//===----------------------------------------------------------------------===//
#ifndef ATTN_COMPILER_FRONTEND_NUMPY_H
#define ATTN_COMPILER_FRONTEND_NUMPY_H

#include "compiler/frontend/Program.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringSet.h"

namespace attn::language {

/// A module with the functions that the programs need and one function for each program.
std::string printNumpy(llvm::ArrayRef<const Program *> programs);

/// The functions that printed code calls, `_softmax` and so on, those that stand in `used`.
std::string numpyHelpers(const llvm::StringSet<> &used);

/// Pieces of Python.
namespace numpy {
/// Both conditions, and no part of them twice.
std::string joined(llvm::StringRef a, llvm::StringRef b);
/// A condition as an operand of `&`, and as an argument.
inline std::string bracketed(llvm::StringRef condition) { return ("(" + condition + ")").str(); }
std::string unbracketed(llvm::StringRef condition);
std::string tupleOf(llvm::ArrayRef<std::string> items);
} // namespace numpy

/// Prints one function. Arrays have one dimension per axis of the program, of extent 1 where the
/// value lacks it, so that everything broadcasts by itself.
class NumpyFunction {
public:
  NumpyFunction(const Program &program, llvm::StringSet<> &helpers) : program(program), helpers(helpers) {}
  std::string print();

private:
  /// An expression and a condition under which it is present, empty when it always is.
  struct Value {
    std::string text, seen;
    /// Binds as strongly as a name or a call.
    bool isAtom = true;
    std::string atom() const { return isAtom ? text : "(" + text + ")"; }
  };

  void printExtents();
  void printRagged();
  void printStep(const Step &step);
  Value valueOf(const Node *node);
  Value compute(const Node *node);
  Value read(const Node *node);
  Value take(const Node *node);
  Value pointwise(const Node *node);
  Value select(const Node *node);
  Value connective(const Node *node);
  Value contract(const Node *node);
  Value reduce(const Node *node);
  Value normalise(const Node *node);
  Value rope(const Node *node);

  /// One index per dimension, and in `seen` what keeps them inside; `isInside` says that nothing need.
  std::vector<std::string> places(unsigned stored, llvm::ArrayRef<Value> indices, llvm::ArrayRef<Node *> nodes,
                                  std::string &seen, bool &isInside);
  std::string sizeOf(const std::vector<Extent> &dim);
  std::string extentText(const Extent &extent);
  std::string axisList(AxisSet axes) const;
  bool isPacked(unsigned axis) const;
  std::string raggedSeen(AxisSet axes) const;
  std::string nameFor(llvm::StringRef wanted);
  std::string helper(llvm::StringRef name);
  Value named(llvm::StringRef wanted, Value value);
  std::string indexText(unsigned axis);
  void line(const llvm::Twine &text) { body += ("    " + text + "\n").str(); }

  const Program &program;
  llvm::StringSet<> &helpers;
  llvm::StringSet<> taken;
  std::vector<std::string> storedNames, indexNames;
  AxisSet indices;
  unsigned parts = 0;
  llvm::DenseMap<unsigned, Value> values;
  std::string body;
};

} // namespace attn::language

#endif // ATTN_COMPILER_FRONTEND_NUMPY_H
