// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reading and writing stored tensors, ragged extents and requirements.
#include "dialects/reference/Machine.h"

namespace attn::reference {

using llvm::Error;
using llvm::Expected;
using mlir::StringAttr;

namespace {
/// The indices of one access at a point, with what is known about them.
class Indices {
public:
  Indices(Machine &machine, mlir::ValueRange values, Cursor &at) : at(at) {
    for (mlir::Value value : values) {
      tensors.push_back(&machine.get(value));
      places.push_back(at.follow(*tensors.back()));
    }
    here.resize(tensors.size());
  }

  /// Reads the indices at the cursor; false where a bad or unsure one is among
  /// them.
  uint8_t load() {
    uint8_t flags = Present;
    for (size_t k = 0; k < tensors.size(); ++k) {
      here[k] = tensors[k]->integer[at[places[k]]];
      uint8_t own = tensors[k]->flags[at[places[k]]];
      flags = joined(flags, own);
    }
    return flags;
  }
  llvm::ArrayRef<int64_t> get() const { return here; }

private:
  Cursor &at;
  llvm::SmallVector<const Tensor *, 6> tensors;
  llvm::SmallVector<unsigned, 6> places;
  llvm::SmallVector<int64_t, 6> here;
};
} // namespace

static Error evaluateRead(Machine &machine, ReadOp op) {
  Memory &memory = machine.memory(op.getRef());
  Expected<Tensor> result = machine.blank(op.getResult());
  if (!result)
    return errorAt(op, result.takeError());
  if (Error error = memory.prepare(machine.space))
    return error;
  result->narrow = memory.narrow();
  Cursor at(result->axes, result->shape);
  Indices indices(machine, op.getIndices(), at);
  for (int64_t i = 0, n = result->size(); i < n; ++i, at.next()) {
    uint8_t flags = indices.load();
    std::optional<int64_t> from = memory.locate(indices.get());
    if (!from) {
      result->flags[i] = flags | Bad;
      continue;
    }
    memory.read(*from, *result, i);
    uint8_t own = result->flags[i];
    result->flags[i] = joined(flags, own);
  }
  machine.space.cutRagged(*result);
  machine.set(op.getResult(), std::move(*result));
  return Error::success();
}

namespace {
/// One `attn.write`, point by point.
class Writer {
public:
  Writer(Machine &machine, WriteOp op)
      : machine(machine), op(op), memory(machine.memory(op.getRef())),
        isWorkspace(op.getRef().getDefiningOp() != nullptr) {}

  Error run();

private:
  Error writePoint(const Tensor &domain, int64_t i, uint8_t flags,
                   llvm::ArrayRef<int64_t> place, const Tensor &value,
                   int64_t from);

  Machine &machine;
  WriteOp op;
  Memory &memory;
  bool isWorkspace;
  std::vector<bool> written;
};
} // namespace

Error Writer::run() {
  if (Error error = memory.prepare(machine.space))
    return error;
  // The domain is that of the place; it only lends its axes, shape and flags.
  AxisList axes = unionOfAxes(op.getIndices());
  Expected<Tensor> domain =
      machine.space.blank(axes, mlir::IntegerType::get(op.getContext(), 1));
  if (!domain)
    return errorAt(op, domain.takeError());
  machine.space.cutRagged(*domain);
  written.assign(memory.size(), false);
  const Tensor &value = machine.get(op.getValue());
  const Tensor *condition =
      op.getCondition() ? &machine.get(op.getCondition()) : nullptr;
  Cursor at(domain->axes, domain->shape);
  unsigned v = at.follow(value), c = condition ? at.follow(*condition) : 0;
  Indices indices(machine, op.getIndices(), at);
  for (int64_t i = 0, n = domain->size(); i < n; ++i, at.next()) {
    uint8_t flags = indices.load();
    if (!(domain->flags[i] & flags & Present))
      continue;
    bool unsure = flags & Unsure;
    if (condition) {
      uint8_t own = condition->flags[at[c]];
      unsure |= own & Unsure;
      bool holds = condition->condition[at[c]] && (own & Present);
      if (!holds && !(own & Unsure))
        continue;
      flags |= own & Bad;
    }
    if (flags & Unsure) { // Rounding may move where this goes.
      memory.forget();
      continue;
    }
    if (Error error =
            writePoint(*domain, i, flags, indices.get(), value, at[v]))
      return error;
    if (unsure)
      if (std::optional<int64_t> to = memory.locate(indices.get()))
        memory.forget(*to);
  }
  return Error::success();
}

Error Writer::writePoint(const Tensor &domain, int64_t i, uint8_t flags,
                         llvm::ArrayRef<int64_t> place, const Tensor &value,
                         int64_t from) {
  std::string name = memory.getName().str();
  uint8_t own = value.flags[from];
  bool bad = own & Bad;
  if (!(own & Present) && !(own & Unsure))
    return Error::success(); // Absent: an inout keeps what it has, a result its
                             // 0.
  std::optional<int64_t> to = memory.locate(place);
  if (!to || (flags & Bad))
    return errorAt(op, name + ": position past capacity at " +
                           pointText(domain, i));
  if (written[*to])
    return errorAt(op, name + ": one element is written twice, at " +
                           pointText(domain, i));
  written[*to] = true;
  if (!bad) {
    memory.write(*to, value, from);
    return Error::success();
  }
  // Workspace may hold what nobody asks for; a result or a cache may not.
  if (!isWorkspace)
    return errorAt(op, name +
                           ": an index is out of range in what is stored at " +
                           pointText(domain, i));
  memory.poison(*to, Bad);
  return Error::success();
}

static Error evaluateWrite(Machine &machine, WriteOp op) {
  return Writer(machine, op).run();
}

static Error evaluateRagged(Machine &machine, RaggedOp op) {
  StringAttr axis = op.getAxisAttr();
  llvm::ArrayRef<StringAttr> on = machine.space.dependsOn(axis);
  if (on.empty())
    return errorAt(op, "axis " + axis.getValue() + " is not ragged");
  AxisList sorted(on.begin(), on.end());
  llvm::sort(sorted, [](StringAttr a, StringAttr b) {
    return a.getValue() < b.getValue();
  });
  Expected<Tensor> extents =
      machine.space.blank(sorted, op.getExtent().getType().getElementType());
  if (!extents)
    return errorAt(op, extents.takeError());
  const Tensor &given = machine.get(op.getExtent());
  Cursor at(extents->axes, extents->shape);
  unsigned g = at.follow(given);
  for (int64_t i = 0, n = extents->size(); i < n; ++i, at.next()) {
    int64_t extent = given.integer[at[g]];
    if (given.flags[at[g]] & (Bad | Unsure) || extent < 0)
      return errorAt(op, "the extent of " + axis.getValue() + " at " +
                             pointText(*extents, i) +
                             (extent < 0 ? " is " + llvm::Twine(extent)
                                         : " is read out of range"));
    extents->integer[i] = extent;
  }
  machine.space.setRagged(axis, std::move(*extents));
  return Error::success();
}

static Error evaluateRequire(Machine &machine, RequireOp op) {
  const Tensor &condition = machine.get(op.getCondition());
  for (int64_t i = 0, n = condition.size(); i < n; ++i) {
    if (!condition.present(i))
      continue;
    std::string point =
        condition.axes.empty() ? "" : " at " + pointText(condition, i);
    if (condition.flags[i] & Bad)
      return errorAt(op, "requirement " + op.getMessage() +
                             ": an index is out of range" + point);
    if (!condition.condition[i])
      return errorAt(op, "requirement not met: " + op.getMessage() + point);
  }
  return Error::success();
}

void addMemoryEvaluators(EvaluatorTable &table) {
  addEvaluator<ReadOp, evaluateRead>(table);
  addEvaluator<WriteOp, evaluateWrite>(table);
  addEvaluator<RaggedOp, evaluateRagged>(table);
  addEvaluator<RequireOp, evaluateRequire>(table);
}

} // namespace attn::reference
