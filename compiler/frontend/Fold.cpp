//===- Fold.cpp - integers that the text decides ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/frontend/Builder.h"
#include "llvm/Support/CheckedArithmetic.h"

using namespace attn::language;

/// As the language says: `/` floors, `%` is never negative, a divisor 0 counts as 1.
static int64_t floorDiv(int64_t a, int64_t b) {
  int64_t quotient = a / b;
  return quotient - (a % b != 0 && (a < 0) != (b < 0));
}

static std::optional<int64_t> foldArithmetic(Function function, int64_t a, int64_t b) {
  bool divides = function == Function::IntDiv || function == Function::Mod;
  if (divides && b == 0)
    b = 1;
  if (divides && b == std::numeric_limits<int64_t>::min())
    return std::nullopt;
  if (function == Function::IntDiv && b == -1)
    return llvm::checkedSub<int64_t>(0, a);
  switch (function) {
  case Function::Add:
    return llvm::checkedAdd(a, b);
  case Function::Sub:
    return llvm::checkedSub(a, b);
  case Function::Mul:
    return llvm::checkedMul(a, b);
  case Function::IntDiv:
    return floorDiv(a, b);
  case Function::Mod:
    return a - floorDiv(a, std::abs(b)) * std::abs(b);
  case Function::Min:
    return std::min(a, b);
  case Function::Max:
    return std::max(a, b);
  case Function::Less:
    return a < b;
  case Function::LessEqual:
    return a <= b;
  case Function::Greater:
    return a > b;
  case Function::GreaterEqual:
    return a >= b;
  case Function::Equal:
    return a == b;
  case Function::NotEqual:
    return a != b;
  default:
    return std::nullopt;
  }
}

static std::optional<int64_t> foldPointwise(const Node *node) {
  const Node *first = node->operands[0];
  if (!first->folded)
    return std::nullopt;
  if (node->is(Function::Not))
    return !*first->folded;
  if (node->is(Function::Negate))
    return llvm::checkedSub<int64_t>(0, *first->folded);
  if (node->operands.size() != 2 || !node->operands[1]->folded)
    return std::nullopt;
  return foldArithmetic(node->function, *first->folded, *node->operands[1]->folded);
}

std::optional<int64_t> Builder::fold(const Node *node) const {
  switch (node->op) {
  case Op::Constant:
    return node->kind == ValueKind::Float ? std::nullopt : std::optional<int64_t>(node->integer);
  case Op::Extent:
    return program.axes[node->axis].constant;
  case Op::Pointwise:
    return foldPointwise(node);
  case Op::And:
  case Op::Or: {
    std::optional<int64_t> left = node->operands[0]->folded, right = node->operands[1]->folded;
    bool absorbing = node->op == Op::Or;
    if (left == absorbing)
      return absorbing;
    return left && right ? right : std::nullopt;
  }
  default:
    return std::nullopt;
  }
}
