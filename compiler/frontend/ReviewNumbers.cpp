//===- ReviewNumbers.cpp - contractions and numbers that look wrong -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/frontend/Review.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

using namespace attn::language;

/// Every node from which `root` is computed, `root` included.
static void collect(const Node *root, llvm::DenseSet<const Node *> &into) {
  llvm::SmallVector<const Node *> open{root};
  while (!open.empty()) {
    const Node *node = open.pop_back_val();
    if (into.insert(node).second)
      open.append(node->operands.begin(), node->operands.end());
  }
}

//===----------------------------------------------------------------------===//
// Projections over a batch
//===----------------------------------------------------------------------===//

/// The axes of one stored dimension count as one: `(H E)` is a width, not a batch and a width.
static unsigned dimensionsIn(const Program &program, const Node *weight, AxisSet over) {
  while (weight->op == Op::ToFloat || weight->op == Op::Where)
    weight = weight->operands[0];
  if (weight->op != Op::Read)
    return over.size();
  unsigned count = 0;
  for (const std::vector<Extent> &factors : program.stored[weight->stored].dims)
    count += llvm::any_of(
        factors, [&](const Extent &factor) { return factor.kind() == Extent::Kind::Axis && over.has(factor.axis()); });
  return count;
}

void attn::language::reviewContractions(const Program &program, Diagnostics &diagnostics) {
  for (auto [i, value] : llvm::enumerate(program.results)) {
    const Stored &result = program.stored[program.numParams + i];
    if (result.dims.empty() || result.dims[0][0].kind() != Extent::Kind::Axis)
      continue;
    unsigned batch = result.dims[0][0].axis();
    llvm::DenseSet<const Node *> sources;
    collect(value, sources);
    for (const std::unique_ptr<Node> &node : program.nodes) {
      bool overBatch = node->op == Op::Contract && node->role == ContractRole::Project && node->over.has(batch);
      if (!overBatch || !sources.contains(node.get()) || dimensionsIn(program, node->operands[1], node->over) < 2)
        continue;
      AxisSet rest = node->over - AxisSet::of(batch);
      std::string axes = program.describe(rest);
      diagnostics.error(node->place,
                        "`project` contracts every axis that both sides have, here " + program.describe(node->over) +
                            ", and sums over " + program.axes[batch].name + ", which the result `" + result.name +
                            "` keeps; write `dot(..., over: " + (rest.size() > 1 ? "(" + axes + ")" : axes) + ")`",
                        {{result.range, "declared here"}});
      return;
    }
  }
}

//===----------------------------------------------------------------------===//
// Scales
//===----------------------------------------------------------------------===//

/// The axis A when the node is `rsqrt(A)`, or `sqrt(A)`, of one bare axis.
static std::optional<unsigned> rootOfAxis(const Node *node, Function root) {
  if (!node->is(root))
    return std::nullopt;
  const Node *inner = node->operands[0];
  if (inner->op == Op::ToFloat)
    inner = inner->operands[0];
  return inner->op == Op::Extent ? std::optional<unsigned>(inner->axis) : std::nullopt;
}

/// The axes that the nearest dots below contract; looks through sums, products and renames.
static AxisSet contractedBelow(const Node *root) {
  AxisSet over;
  llvm::SmallVector<const Node *> open{root};
  llvm::DenseSet<const Node *> seen;
  while (!open.empty()) {
    const Node *node = open.pop_back_val();
    if (!seen.insert(node).second)
      continue;
    bool isDot = node->op == Op::Contract && node->role != ContractRole::Project;
    if (isDot)
      over |= node->over;
    else if (isElementwise(node) || node->op == Op::Rename || node->op == Op::Take)
      open.append(node->operands.begin(), node->operands.end());
  }
  return over;
}

static void checkScale(const Program &program, Diagnostics &diagnostics, const Node *node) {
  bool product = node->is(Function::Mul), quotient = node->is(Function::Div);
  if (!product && !quotient)
    return;
  for (unsigned side = quotient ? 1 : 0; side < 2; ++side) {
    const Node *scale = node->operands[side];
    std::optional<unsigned> axis = rootOfAxis(scale, product ? Function::Rsqrt : Function::Sqrt);
    if (!axis)
      continue;
    AxisSet over = contractedBelow(node->operands[1 - side]);
    if (!over.empty() && !over.has(*axis))
      diagnostics.warning(scale->place, "the dot contracts " + program.describe(over) + " and is scaled by " +
                                            program.axes[*axis].name + "; `rsqrt(" + program.describe(over) +
                                            ")` is usual");
  }
}

//===----------------------------------------------------------------------===//
// Comparisons inside masks
//===----------------------------------------------------------------------===//

/// Floats that no rounding touches: stored ones, numbers, whole numbers, and choices among them.
static bool isExactFloat(const Node *root) {
  llvm::SmallVector<const Node *> open{root};
  while (!open.empty()) {
    const Node *node = open.pop_back_val();
    bool leaf =
        node->op == Op::Read || node->op == Op::Constant || node->op == Op::ToFloat || node->is(Function::Random);
    bool choice = node->op == Op::Select || node->op == Op::Take || node->op == Op::Rename || node->op == Op::Where ||
                  node->is(Function::Negate) || node->is(Function::Abs) || node->is(Function::Min) ||
                  node->is(Function::Max) || node->is(Function::Floor) || node->is(Function::Round);
    if (!leaf && !choice)
      return false;
    if (choice)
      for (const Node *operand : node->operands)
        if (operand->kind == ValueKind::Float)
          open.push_back(operand);
  }
  return true;
}

static bool isFloatComparison(const Node *node) {
  return node->op == Op::Pointwise && node->kind == ValueKind::Bool && node->operands[0]->kind == ValueKind::Float;
}

void attn::language::reviewNumbers(const Program &program, Diagnostics &diagnostics) {
  llvm::DenseSet<const Node *> inMasks;
  for (const std::unique_ptr<Node> &node : program.nodes)
    if (node->op == Op::Where)
      collect(node->operands[1], inMasks);
  for (const std::unique_ptr<Node> &node : program.nodes) {
    checkScale(program, diagnostics, node.get());
    if (!inMasks.contains(node.get()) || !isFloatComparison(node.get()))
      continue;
    if (!llvm::all_of(node->operands, isExactFloat))
      diagnostics.warning(node->place,
                          "this mask compares computed floats, whose last bits differ between machines and "
                          "kernels; compare integers, or values that are stored");
  }
}
