//===- SemaExtents.cpp - facts, extents, requirements -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/frontend/Sema.h"
#include "llvm/ADT/StringExtras.h"

using namespace attn::language;
using namespace attn::language::ast;

void Sema::solve() {
  Diagnostics::Watch watch(diagnostics);
  ExtentProblem problem;
  problem.axes = program->axes.size();
  problem.ragged.assign(problem.axes, false);
  collectRagged(problem);
  collectFacts(problem);
  if (watch.sawErrors())
    return;
  for (unsigned i = 0; i < program->numParams; ++i)
    problem.args.push_back(program->stored[i].dims);
  adopt(solveExtents(problem));
  checkPackedDims();
  if (watch.sawErrors())
    return;
  defineRagged();
  if (!watch.sawErrors())
    checkRequirements();
}

void Sema::collectRagged(ExtentProblem &problem) {
  for (const Fact &fact : attention.facts) {
    if (fact.kind != Fact::Kind::Ragged)
      continue;
    unsigned axis = *lookUpAxis(fact.axis.text);
    if (problem.ragged[axis])
      error(fact.range, "the extent of " + fact.axis.text + " is given twice");
    problem.ragged[axis] = true;
    for (const Word &index : fact.indices) {
      std::optional<unsigned> on = lookUpIndex(index.text);
      if (!on)
        error(index.range(), "`" + index.text + "` is no index; an extent depends on indices, as in `T[b] = len[b]`");
      else
        program->axes[axis].dependsOn |= AxisSet::of(*on);
    }
  }
  for (const Axis &axis : program->axes)
    for (unsigned on : axis.dependsOn.list())
      if (problem.ragged[on])
        error(axis.firstMention, "the extent of " + axis.name + " depends on the index of " + program->axes[on].name +
                                     ", whose own extent depends on another index; give " + program->axes[on].name +
                                     " one extent, and mask what lies behind it");
}

void Sema::collectFacts(ExtentProblem &problem) {
  for (const auto &[name, value] : fixed)
    if (std::optional<unsigned> axis = lookUpAxis(name))
      problem.facts.push_back({*axis, Extent::constant(value)});
  for (const Fact &fact : attention.facts) {
    if (fact.kind != Fact::Kind::Extent)
      continue;
    unsigned axis = *lookUpAxis(fact.axis.text);
    if (problem.ragged[axis])
      error(fact.range, "the extent of " + fact.axis.text + " is given twice");
    std::optional<Extent> extent = extentOf(fact.value, "an extent");
    if (!extent)
      continue;
    extent->visitAxes([&](unsigned other) {
      if (problem.ragged[other])
        error(fact.value->range, program->axes[other].name + " has another extent for each index, so " +
                                     fact.axis.text + " has none; write `" + fact.axis.text + "[...] = ...`");
    });
    problem.facts.push_back({axis, *extent});
  }
}

/// The fact that speaks of the axis first, else its first mention.
llvm::SMRange Sema::placeOfAxis(unsigned axis) const {
  for (const Fact &fact : attention.facts)
    if (fact.kind == Fact::Kind::Extent && lookUpAxis(fact.axis.text) == axis)
      return fact.range;
  return program->axes[axis].firstMention;
}

void Sema::adopt(const ExtentSolution &solution) {
  if (!solution.unsolved.empty()) {
    std::string missing;
    llvm::ListSeparator comma(" and ");
    for (unsigned axis : solution.unsolved)
      missing += (llvm::StringRef(comma) + program->axes[axis].name).str();
    return error(placeOfAxis(solution.unsolved.front()),
                 "nothing gives the extent of " + missing +
                     ": no dimension of an argument is that axis, and no fact solves for it; add `" +
                     program->axes[solution.unsolved.front()].name + " = ...` to the `where` clause");
  }
  auto refuseInexact = [&](unsigned axis, const Extent &extent) {
    if (llvm::Error fault = checkConstants(extent))
      error(placeOfAxis(axis),
            "the extent of " + program->axes[axis].name + " has no solution: " + llvm::toString(std::move(fault)));
  };
  for (const AxisFact &definition : solution.definitions) {
    Axis &axis = program->axes[definition.axis];
    axis.extent = definition.extent;
    program->axisOrder.push_back(definition.axis);
    Extent expanded = program->expand(definition.extent);
    refuseInexact(definition.axis, expanded);
    axis.constant = expanded.getConstant();
    if (axis.constant && *axis.constant < 0)
      error(placeOfAxis(definition.axis),
            "the extent of " + axis.name + " is negative: " + llvm::Twine(*axis.constant));
    if (axis.constant)
      axis.extent = Extent::constant(*axis.constant);
  }
  for (const AxisFact &check : solution.checks) {
    Extent expanded = program->expand(check.extent);
    refuseInexact(check.axis, expanded);
    std::optional<int64_t> wanted = expanded.getConstant(), have = program->axes[check.axis].constant;
    if (wanted && have && *wanted != *have)
      error(placeOfAxis(check.axis), program->axes[check.axis].name + " is " + llvm::Twine(*have) + " and " +
                                         llvm::Twine(*wanted) + " at once; an axis has one extent");
    else if (!wanted || !have)
      program->checks.push_back(check);
  }
}

/// A ragged axis is stored packed, `(B T)`, or alone; nothing else has a place for it.
void Sema::checkPackedDims() {
  for (const Stored &stored : program->stored)
    for (const std::vector<Extent> &factors : stored.dims)
      for (auto [position, factor] : llvm::enumerate(factors)) {
        bool alone = factor.kind() == Extent::Kind::Axis;
        unsigned ragged = ~0u;
        factor.visitAxes([&](unsigned axis) { ragged = program->axes[axis].isRagged() ? axis : ragged; });
        if (ragged == ~0u)
          continue;
        const Axis &axis = program->axes[ragged];
        bool packed = factors.size() == 2 && position == 1 && factors[0].kind() == Extent::Kind::Axis &&
                      axis.dependsOn == AxisSet::of(factors[0].axis());
        if (!alone || (factors.size() > 1 && !packed))
          error(stored.range,
                "the ragged axis " + axis.name + " is stored packed behind the axis that it depends on, `(" +
                    program->describe(axis.dependsOn) + " " + axis.name + ")`, or as a dimension of its own");
      }
}

/// A read of what the attention may write, in a value; null when there is none.
static const Node *findChangingRead(const Node *node, const Program &program) {
  if (node->op == Op::Read && program.stored[node->stored].mode != Mode::In)
    return node;
  for (const Node *operand : node->operands)
    if (const Node *read = findChangingRead(operand, program))
      return read;
  return nullptr;
}

void Sema::defineRagged() {
  for (const Fact &fact : attention.facts) {
    if (fact.kind != Fact::Kind::Ragged)
      continue;
    unsigned number = *lookUpAxis(fact.axis.text);
    Axis &axis = program->axes[number];
    Node *extent = check(fact.value);
    build.warnOfLiteralQuotients();
    if (extent->isPoison() || !build.isInteger(extent, "an extent"))
      continue;
    AxisSet tooMany = extent->axes - axis.dependsOn;
    if (!tooMany.empty()) {
      error(fact.range, "the extent of " + axis.name + " depends on the index of " + program->describe(tooMany) +
                            " too; name every such index in the brackets");
      continue;
    }
    if (const Node *read = findChangingRead(extent, *program)) {
      const std::string &name = program->stored[read->stored].name;
      error(read->place, "the extent of " + axis.name + " reads `" + name + "`, which the attention may write, and extents " +
                             "are fixed before that; declare `" + name + "` without `inout`, or pass its values once more");
      continue;
    }
    axis.raggedExtent = extent;
    program->axisOrder.push_back(number);
  }
}

void Sema::checkRequirements() {
  for (const Fact &fact : attention.facts) {
    if (fact.kind != Fact::Kind::Requirement)
      continue;
    Node *condition = check(fact.value);
    build.warnOfLiteralQuotients();
    if (condition->isPoison())
      continue;
    llvm::StringRef text = textOf(fact.range);
    if (condition->kind != ValueKind::Bool)
      error(fact.range, "a requirement is a condition, and `" + text + "` is a number; compare it, as in `U <= T`");
    else if (condition->folded == 0)
      error(fact.range, "the requirement `" + text + "` does not hold for the extents of this program");
    else if (!condition->folded)
      program->requirements.push_back({condition, text.str()});
  }
}
