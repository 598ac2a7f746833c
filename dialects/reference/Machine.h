// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The interpreter's state, and the table of functions that evaluate operations.
// Private to this room.
#ifndef ATTN_DIALECTS_REFERENCE_MACHINE_H
#define ATTN_DIALECTS_REFERENCE_MACHINE_H

#include "dialects/reference/Memory.h"

namespace attn::reference {

class Machine;

/// Evaluates one kind of operation.
using Evaluator = llvm::Error (*)(Machine &, mlir::Operation *);
using EvaluatorTable = llvm::StringMap<Evaluator>;

/// Registers `evaluate(Machine &, Op)` for operations of type Op.
template <typename Op, llvm::Error (*evaluate)(Machine &, Op)>
void addEvaluator(EvaluatorTable &table) {
  table[Op::getOperationName()] = [](Machine &machine, mlir::Operation *op) {
    return evaluate(machine, mlir::cast<Op>(op));
  };
}

// Each file of operations adds its own.
void addValueEvaluators(EvaluatorTable &table);
void addMapEvaluator(EvaluatorTable &table);
void addMemoryEvaluators(EvaluatorTable &table);
void addReductionEvaluators(EvaluatorTable &table);
void addSoftmaxEvaluators(EvaluatorTable &table);
void addRopeEvaluator(EvaluatorTable &table);
void addFusedEvaluators(EvaluatorTable &table);

class Machine {
public:
  Machine(Space space, bool precise)
      : space(std::move(space)), precise(precise) {}

  Space space;
  /// No operand of a contraction may be rounded to 16 bits.
  bool precise;

  const Tensor &get(mlir::Value value) const {
    return values.find(value)->second;
  }
  void set(mlir::Value value, Tensor tensor) {
    values[value] = std::move(tensor);
  }
  /// Gives up a value that nobody reads any more.
  Tensor take(mlir::Value value) {
    Tensor tensor = std::move(values[value]);
    values.erase(value);
    return tensor;
  }

  Memory &memory(mlir::Value ref) { return memories.find(ref)->second; }
  void addMemory(mlir::Value ref, Memory memory) {
    memories[ref] = std::move(memory);
  }

  /// All elements of the value's type, present and 0.
  llvm::Expected<Tensor> blank(mlir::Value value) const {
    ValueType type = valueType(value);
    return space.blank(type.getAxes(), type.getElementType());
  }

  /// Runs the operations in order and drops each value after its last use.
  llvm::Error run(mlir::Block &block);

private:
  llvm::DenseMap<mlir::Value, Tensor> values;
  llvm::DenseMap<mlir::Value, Memory> memories;
};

/// An error with the operation's place in the source.
llvm::Error errorAt(mlir::Operation *op, const llvm::Twine &what);
/// The same for an error that arose below.
llvm::Error errorAt(mlir::Operation *op, llvm::Error error);

/// `b=0 h=1`: where the cursor-less point `i` of a tensor is.
std::string pointText(const Tensor &tensor, int64_t i);

} // namespace attn::reference

#endif
