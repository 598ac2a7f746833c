// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Programs from arguments to results, and the walk over operations.
#include "dialects/reference/Interpreter.h"
#include "dialects/reference/Machine.h"

namespace attn::reference {

using llvm::Error;
using llvm::Expected;

static std::string placeText(mlir::Location location) {
  std::string text;
  llvm::raw_string_ostream out(text);
  location->walk([&](mlir::Location inner) {
    auto place = mlir::dyn_cast<mlir::FileLineColLoc>(inner);
    if (!place)
      return mlir::WalkResult::advance();
    out << place.getFilename().getValue() << ':' << place.getLine() << ':'
        << place.getColumn() << ": ";
    return mlir::WalkResult::interrupt();
  });
  return text;
}

Error errorAt(mlir::Operation *op, const llvm::Twine &what) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                 placeText(op->getLoc()) + what);
}

Error errorAt(mlir::Operation *op, Error error) {
  return errorAt(op, llvm::Twine(llvm::toString(std::move(error))));
}

std::string pointText(const Tensor &tensor, int64_t i) {
  llvm::SmallVector<std::string> parts;
  for (size_t d = tensor.shape.size(); d-- > 0;) {
    parts.push_back(tensor.axes[d].getValue().lower() + "=" +
                    std::to_string(i % tensor.shape[d]));
    i /= tensor.shape[d];
  }
  std::string text;
  for (const std::string &part : llvm::reverse(parts))
    text += (text.empty() ? "" : " ") + part;
  return text;
}

static const EvaluatorTable &evaluators() {
  static const EvaluatorTable table = [] {
    EvaluatorTable table;
    addValueEvaluators(table);
    addMapEvaluator(table);
    addMemoryEvaluators(table);
    addReductionEvaluators(table);
    addSoftmaxEvaluators(table);
    addRopeEvaluator(table);
    addFusedEvaluators(table);
    return table;
  }();
  return table;
}

Error Machine::run(mlir::Block &block) {
  for (mlir::Operation &op : block) {
    auto found = evaluators().find(op.getName().getStringRef());
    if (found == evaluators().end())
      return errorAt(&op, "the interpreter does not know '" +
                              op.getName().getStringRef() + "'");
    if (Error error = found->second(*this, &op))
      return error;
    if (op.hasTrait<mlir::OpTrait::IsTerminator>())
      break; // Whoever ran the block takes what it yields.
    // Values are large: those that no later operation of their block uses go.
    op.walk([&](mlir::Operation *inner) {
      for (mlir::Value operand : inner->getOperands()) {
        if (operand.getParentBlock() != &block)
          continue;
        bool last =
            llvm::all_of(operand.getUsers(), [&](mlir::Operation *user) {
              mlir::Operation *ancestor = block.findAncestorOpInBlock(*user);
              return ancestor == &op || ancestor->isBeforeInBlock(&op);
            });
        if (last)
          values.erase(operand);
      }
    });
  }
  return Error::success();
}

/// Names that no argument bears are typing errors, and worth saying.
static Error checkNames(const Signature &signature,
                        const Arguments &arguments) {
  for (const auto &[name, buffer] : arguments)
    if (llvm::none_of(signature.args, [&, &name = name](ArgAttr arg) {
          return arg.getName().getValue() == name;
        }))
      return llvm::createStringError(
          "%s has no argument %s", signature.name.str().c_str(), name.c_str());
  return Error::success();
}

Expected<Results> interpret(mlir::Operation *program,
                            const Arguments &arguments) {
  if (!mlir::isa<ProgramOp, KernelOp>(program))
    return llvm::createStringError(
        "only attn.program and attn.kernel can be interpreted");
  Signature signature(program);
  if (Error error = checkNames(signature, arguments))
    return std::move(error);
  Expected<Space> space = Space::solve(signature, arguments);
  if (!space)
    return space.takeError();
  Machine machine(std::move(*space), signature.precise);
  for (auto [i, arg] : llvm::enumerate(signature.args)) {
    auto given = arguments.find(arg.getName().getValue().str());
    bool isOut = arg.getMode() == Mode::Out;
    machine.addMemory(
        signature.body->getArgument(i),
        Memory(arg.getName().getValue().str(), signature.argType(i),
               isOut || given == arguments.end() ? nullptr : &given->second));
  }
  if (Error error = machine.run(*signature.body))
    return std::move(error);
  Results results;
  for (auto [i, arg] : llvm::enumerate(signature.args)) {
    // Everything is looked at once, so that no argument with a wrong extent
    // passes.
    Memory &memory = machine.memory(signature.body->getArgument(i));
    if (Error error = memory.prepare(machine.space))
      return std::move(error);
    if (arg.getMode() != Mode::In)
      results[arg.getName().getValue().str()] = memory.result();
  }
  return results;
}

} // namespace attn::reference
