//===- Review.cpp - mistakes that have correct types ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Here: masks, and the marks that later stages read.
//===----------------------------------------------------------------------===//
#include "compiler/frontend/Review.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

using namespace attn::language;

void attn::language::appendConjuncts(const Node *condition, llvm::SmallVectorImpl<const Node *> &into) {
  llvm::SmallVector<const Node *> open{condition};
  while (!open.empty()) {
    const Node *node = open.pop_back_val();
    if (node->op == Op::And)
      open.append(node->operands.begin(), node->operands.end());
    else
      into.push_back(node);
  }
}

bool attn::language::isElementwise(const Node *node) {
  return node->op == Op::Pointwise || node->op == Op::ToFloat || node->op == Op::Select || node->op == Op::Where;
}

/// Operands whose elements become elements of the node: all but indices and conditions.
static llvm::ArrayRef<Node *> valueOperands(const Node *node) {
  llvm::ArrayRef<Node *> all(node->operands);
  switch (node->op) {
  case Op::Select:
    return all.drop_front();
  case Op::Where:
  case Op::Take:
  case Op::Rename:
  case Op::Rope:
    return all.take_front();
  case Op::Pointwise:
  case Op::ToFloat:
  case Op::Contract:
  case Op::Reduce:
    return all;
  default:
    return {};
  }
}

namespace {
/// A softmax from which a value comes, with the axes that it normalised as they are called now.
struct Origin {
  const Node *softmax;
  AxisSet normalised;
};
using Origins = llvm::SmallVector<Origin, 2>;

class MaskReview {
public:
  MaskReview(const Program &program, Diagnostics &diagnostics)
      : program(program), diagnostics(diagnostics), origins(program) {}

  void run() {
    for (const std::unique_ptr<Node> &node : program.nodes) {
      propagate(node.get());
      if (node->op == Op::Where)
        checkWhere(node.get());
      if (node->op == Op::Contract || node->op == Op::Reduce)
        noteContraction(node.get());
    }
    for (const std::unique_ptr<Node> &node : program.nodes)
      if (node->op == Op::Softmax)
        checkMix(node.get());
  }

private:
  void propagate(const Node *node) {
    Origins found;
    if (node->op == Op::Softmax)
      found.push_back({node, node->over});
    for (const Node *operand : valueOperands(node))
      for (Origin origin : origins[operand]) {
        origin.normalised = (renamed(node, origin.normalised) & node->axes);
        bool known = llvm::any_of(found, [&](const Origin &other) { return other.softmax == origin.softmax; });
        if (!origin.normalised.empty() && !known && found.size() < maxOrigins)
          found.push_back(origin);
      }
    origins[node] = found;
  }

  static AxisSet renamed(const Node *node, AxisSet axes) {
    if (node->op != Op::Rename)
      return axes;
    AxisSet now = axes;
    for (auto [from, to] : llvm::zip(node->taken, node->renamed))
      if (axes.has(from))
        now = (now - AxisSet::of(from)) | AxisSet::of(to);
    return now;
  }

  /// Masking weights that are already normalised leaves rows that do not sum to one.
  void checkWhere(const Node *node) {
    const Node *condition = node->operands[1];
    for (const Origin &origin : origins[node->operands[0]]) {
      AxisSet named = condition->axes & origin.normalised;
      if (named.empty() || isRepeated(condition, origin.softmax))
        continue;
      std::string axis = program.describe(named);
      diagnostics.error(
          node->place,
          "this masks the result of a softmax along " + axis +
              ", which it has already normalised: the rows no longer sum to one; mask before the softmax, "
              "`softmax(score, over: " +
              axis + ", where: ...)`",
          {{origin.softmax->place.reported(), "the softmax"}});
      return;
    }
  }

  /// Every part of the condition also masked the softmax.
  static bool isRepeated(const Node *condition, const Node *softmax) {
    llvm::SmallVector<const Node *> again, before;
    appendConjuncts(condition, again);
    const Node *score = softmax->operands[0];
    while (score->op == Op::Where || isElementwise(score)) {
      if (score->op == Op::Where)
        appendConjuncts(score->operands[1], before);
      score = score->operands[score->op == Op::Select ? 1 : 0];
    }
    return llvm::all_of(again, [&](const Node *part) {
      return llvm::any_of(before, [&](const Node *other) { return other->identity == part->identity; });
    });
  }

  void noteContraction(const Node *node) {
    for (const Node *operand : node->operands)
      for (const Origin &origin : origins[operand]) {
        contracted[origin.softmax] |= origin.normalised & node->over;
        if (node->op == Op::Contract)
          firstMix.try_emplace(origin.softmax, node);
      }
  }

  void checkMix(const Node *softmax) {
    const Node *mix = firstMix.lookup(softmax);
    if (!mix || !contracted[softmax].empty())
      return;
    diagnostics.error(mix->place,
                      "this contracts " + program.describe(mix->over) + ", but the weights were normalised over " +
                          program.describe(softmax->over) +
                          ", which nothing contracts; softmax over the axis of the keys",
                      {{softmax->place.reported(), "the softmax"}});
  }

  static constexpr size_t maxOrigins = 8;
  const Program &program;
  Diagnostics &diagnostics;
  NodeFacts<Origins> origins;
  llvm::DenseMap<const Node *, AxisSet> contracted;
  llvm::DenseMap<const Node *, const Node *> firstMix;
};
} // namespace

void attn::language::reviewMasks(const Program &program, Diagnostics &diagnostics) {
  MaskReview(program, diagnostics).run();
}

//===----------------------------------------------------------------------===//
// Marks
//===----------------------------------------------------------------------===//

/// A dot that a softmax reads through elementwise operators is a score; one whose left side
/// comes so from a softmax over what it contracts is a mix.
static void markRoles(Program &program) {
  llvm::DenseSet<const Node *> scores, weights;
  for (auto node = program.nodes.rbegin(); node != program.nodes.rend(); ++node) {
    if ((*node)->op == Op::Softmax || (*node)->op == Op::LogSumExp)
      scores.insert((*node)->operands[0]);
    if (scores.contains(node->get()) && isElementwise(node->get()))
      for (const Node *operand : valueOperands(node->get()))
        scores.insert(operand);
  }
  for (const std::unique_ptr<Node> &node : program.nodes) {
    bool fromWeights =
        llvm::any_of(valueOperands(node.get()), [&](Node *operand) { return weights.contains(operand); });
    if (node->op == Op::Softmax || (isElementwise(node.get()) && fromWeights))
      weights.insert(node.get());
    if (node->op != Op::Contract || node->role == ContractRole::Project)
      continue;
    if (fromWeights)
      node->role = ContractRole::Mix;
    else if (scores.contains(node.get()))
      node->role = ContractRole::Score;
  }
}

/// Marks what angles are computed from by arithmetic.
static void markAngles(Program &program) {
  llvm::SmallVector<Node *> open;
  for (const std::unique_ptr<Node> &node : program.nodes)
    if (node->wide)
      open.append(node->operands.begin(), node->operands.end());
  while (!open.empty()) {
    Node *node = open.pop_back_val();
    bool isArithmetic = node->is(Function::Add) || node->is(Function::Sub) || node->is(Function::Mul) ||
                        node->is(Function::Div) || node->is(Function::Negate) || node->is(Function::Round) ||
                        node->is(Function::Exp) || node->op == Op::ToFloat;
    if (node->wide || node->kind != ValueKind::Float || !isArithmetic)
      continue;
    node->wide = true;
    open.append(node->operands.begin(), node->operands.end());
  }
}

/// Marks every float that some index depends on.
static void markWide(Program &program) {
  llvm::DenseSet<Node *> seen;
  llvm::SmallVector<Node *> open;
  for (const std::unique_ptr<Node> &node : program.nodes)
    if (node->op == Op::Read || node->op == Op::Take)
      open.append(node->operands.begin() + (node->op == Op::Take), node->operands.end());
  for (const Step &step : program.steps)
    open.append(step.indices.begin(), step.indices.end());
  for (const Axis &axis : program.axes)
    if (axis.raggedExtent)
      open.push_back(axis.raggedExtent);
  while (!open.empty()) {
    Node *node = open.pop_back_val();
    if (!seen.insert(node).second)
      continue;
    node->wide = node->kind == ValueKind::Float;
    open.append(node->operands.begin(), node->operands.end());
  }
}

void attn::language::review(Program &program, Diagnostics &diagnostics) {
  reviewMasks(program, diagnostics);
  reviewCaches(program, diagnostics);
  reviewContractions(program, diagnostics);
  reviewNumbers(program, diagnostics);
  markRoles(program);
  markAngles(program);
  markWide(program);
}
