//===- Review.h - mistakes that have correct types --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rules that need the whole program: masks behind a softmax, unbounded caches, mixes over
// the wrong axis, projections over a batch, scales and comparisons that look wrong.
//===----------------------------------------------------------------------===//
#ifndef ATTN_COMPILER_FRONTEND_REVIEW_H
#define ATTN_COMPILER_FRONTEND_REVIEW_H

#include "compiler/frontend/Program.h"
#include "llvm/ADT/DenseMap.h"

namespace attn::language {

/// Reports errors and warnings; marks contractions as scores and mixes, and the floats that
/// end in an index.
void review(Program &program, Diagnostics &diagnostics);

// The parts of it, one file each.
void reviewMasks(const Program &program, Diagnostics &diagnostics);
void reviewCaches(const Program &program, Diagnostics &diagnostics);
void reviewContractions(const Program &program, Diagnostics &diagnostics);
void reviewNumbers(const Program &program, Diagnostics &diagnostics);

/// What each node has, in the order of the nodes; found by one pass over operands.
template <typename Fact>
class NodeFacts {
public:
  explicit NodeFacts(const Program &program) { facts.reserve(program.nodes.size()); }
  Fact &operator[](const Node *node) { return facts[node]; }

private:
  llvm::DenseMap<const Node *, Fact> facts;
};

/// The conditions that `and` joins.
void appendConjuncts(const Node *condition, llvm::SmallVectorImpl<const Node *> &into);

/// `value` reached through operators that work element by element.
bool isElementwise(const Node *node);

} // namespace attn::language

#endif // ATTN_COMPILER_FRONTEND_REVIEW_H
