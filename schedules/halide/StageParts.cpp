//===- StageParts.cpp - what all parts of stages share --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "schedules/halide/StageParts.h"

#include <algorithm>

using namespace attn;
using namespace Halide;

bool StageParts::isStored(size_t tensor) const {
  return std::any_of(plan.stores.begin(), plan.stores.end(),
                     [&](const PlanStore &store) { return store.tensor == int64_t(tensor); });
}

std::vector<Argument> StageParts::inputArguments() const {
  std::vector<Argument> all;
  for (size_t i = 0; i < inputs.tensors.size(); ++i)
    if (!isStored(i))
      all.push_back(inputs.tensors[i]);
  for (const Param<int64_t> &scalar : inputs.scalars)
    all.push_back(scalar);
  return all;
}

Expr StageParts::countOf(const std::vector<PlanAxis> &axes) const {
  Expr count = 1;
  for (const PlanAxis &axis : axes)
    count = count * inputs.extent(axis.extent);
  return count;
}

void StageParts::bindParts(Points &points, const std::vector<PlanAxis> &axes, const Expr &whole) const {
  Expr number = whole;
  for (size_t i = axes.size(); i-- > 0;) {
    Expr extent = inputs.extent(axes[i].extent);
    points.bind(axes[i].name, i == 0 ? number : number % extent);
    number = i == 0 ? number : number / extent;
  }
}

Expr StageParts::liesSideBySide(int64_t number, const std::string &axis) const {
  const PlanNode &node = plan.nodes[number];
  Expr all;
  auto add = [&](const Expr &more) {
    if (more.defined())
      all = all.defined() ? all && more : more;
  };
  size_t rank = node.op == "read" ? plan.tensors[node.number].factors.size() : 0;
  if (rank > 0) {
    const PlanNode &last = plan.nodes[node.inputs[rank - 1]];
    if (last.op == "index" && last.axis == axis && node.inputs[2 * rank - 1] < 0)
      add(inputs.tensors[node.number].dim(0).stride() == 1);
  }
  for (int64_t input : node.inputs)
    if (input >= 0)
      add(liesSideBySide(input, axis));
  return all;
}
