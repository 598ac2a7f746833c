//===- ReviewCaches.cpp - caches that are read past what was written -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A cache that is written at positions holds nothing behind them: attending to all of it
// needs a mask.
//===----------------------------------------------------------------------===//
#include "compiler/frontend/Review.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

using namespace attn::language;

namespace {
/// A dimension of a cache that some statement writes at computed positions.
struct WrittenDim {
  unsigned stored, factor;
  bool dependsOnArguments;
  Place place;
};

/// An axis along which a value holds a cache from end to end.
struct WholeRead {
  unsigned axis;
  const WrittenDim *written;
};

class CacheReview {
public:
  CacheReview(const Program &program, Diagnostics &diagnostics)
      : program(program), diagnostics(diagnostics), reads(program), masks(program), fromArgument(program) {}

  void run() {
    for (const std::unique_ptr<Node> &node : program.nodes)
      propagate(node.get());
    collectWrites();
    for (const std::unique_ptr<Node> &node : program.nodes) {
      propagateReads(node.get());
      checkUse(node.get());
    }
  }

private:
  void propagate(const Node *node) {
    bool depends = node->op == Op::Read || (node->op == Op::Index && program.axes[node->axis].isRagged());
    for (const Node *operand : node->operands)
      depends |= fromArgument[operand];
    fromArgument[node] = depends;
  }

  void collectWrites() {
    for (const Step &step : program.steps)
      for (auto [factor, index] : llvm::enumerate(step.indices))
        if (index->op != Op::Index)
          writtenDims.push_back({step.stored, static_cast<unsigned>(factor), fromArgument[index], step.place});
  }

  void propagateReads(const Node *node) {
    llvm::SmallVector<WholeRead, 2> found;
    llvm::SmallVector<const Node *, 4> conditions;
    for (const Node *operand : node->operands) {
      for (const WholeRead &read : reads[operand])
        if (node->axes.has(read.axis) && found.size() < maxReads)
          found.push_back(read);
      llvm::append_range(conditions, masks[operand]);
    }
    if (node->op == Op::Read)
      addWholeReads(node, found);
    if (node->op == Op::Where)
      appendConjuncts(node->operands[1], conditions);
    if (node->op == Op::Select && isAbsent(node->operands[2]))
      appendConjuncts(node->operands[0], conditions);
    // What a reduction gives is always present.
    if (node->op == Op::Contract || node->op == Op::Reduce || node->op == Op::LogSumExp)
      conditions.clear();
    reads[node] = found;
    masks[node] = conditions;
  }

  /// A score of -inf is absent.
  static bool isAbsent(const Node *node) {
    return node->op == Op::Constant && node->kind == ValueKind::Float &&
           node->real == -std::numeric_limits<double>::infinity();
  }

  void addWholeReads(const Node *node, llvm::SmallVectorImpl<WholeRead> &found) {
    for (const WrittenDim &written : writtenDims) {
      if (written.stored != node->stored)
        continue;
      const Node *index = node->operands[written.factor];
      if (index->op == Op::Index && !program.axes[index->axis].isRagged())
        found.push_back({index->axis, &written});
    }
  }

  void checkUse(const Node *node) {
    bool attends = node->op == Op::Softmax || node->op == Op::LogSumExp || node->op == Op::Contract;
    if (!attends)
      return;
    llvm::SmallVector<const Node *, 4> conditions;
    for (const Node *operand : node->operands)
      llvm::append_range(conditions, masks[operand]);
    for (const Node *operand : node->operands)
      for (const WholeRead &read : reads[operand])
        if (node->over.has(read.axis) && !isBounded(conditions, read) && reported.insert(read.axis).second)
          report(node, read);
  }

  /// Some condition speaks of the axis, and of the arguments when the positions do.
  bool isBounded(llvm::ArrayRef<const Node *> conditions, const WholeRead &read) {
    return llvm::any_of(conditions, [&](const Node *condition) {
      return condition->axes.has(read.axis) && (!read.written->dependsOnArguments || fromArgument[condition]);
    });
  }

  void report(const Node *node, const WholeRead &read) {
    const Axis &axis = program.axes[read.axis];
    const std::string &cache = program.stored[read.written->stored].name;
    diagnostics.error(node->place,
                      "this attends to the whole of `" + cache + "` along " + axis.name +
                          ", also to what was never written; bound it by the positions written, as in `where: " +
                          axis.index + " <= pos`",
                      {{read.written->place.reported(), "written here"}});
  }

  static constexpr size_t maxReads = 8;
  const Program &program;
  Diagnostics &diagnostics;
  NodeFacts<llvm::SmallVector<WholeRead, 2>> reads;
  NodeFacts<llvm::SmallVector<const Node *, 4>> masks;
  NodeFacts<bool> fromArgument;
  std::vector<WrittenDim> writtenDims;
  llvm::DenseSet<unsigned> reported;
};
} // namespace

void attn::language::reviewCaches(const Program &program, Diagnostics &diagnostics) {
  CacheReview(program, diagnostics).run();
}
