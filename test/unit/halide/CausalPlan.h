// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The plan of a small causal attention, for tests.
#ifndef ATTN_TEST_UNIT_HALIDE_CAUSALPLAN_H
#define ATTN_TEST_UNIT_HALIDE_CAUSALPLAN_H

#include "schedules/KernelPlan.h"

namespace attn {

/// softmax(q k / 4, over: T, where: t <= s) v
inline StagePlan causalPlan() {
  StagePlan plan;
  plan.symbol = "causal";
  plan.lanes = 8, plan.vectors = 2, plan.rows = 6, plan.queryTile = 32, plan.keyTile = 12;
  for (const char *axis : {"S", "T", "E", "F"})
    plan.scalars.push_back({PlanNumber::Extent, axis, {}, 0, PlanElement::I64});
  plan.queries = {{"S", 0}}, plan.key = {"T", 1};
  for (const char *name : {"q", "k", "v", "o"}) {
    PlanRef ref{false, int64_t(plan.tensors.size())};
    plan.tensors.push_back({name, ref, PlanElement::F32, {}, {0, 1}});
    for (int64_t factor : {0, 1})
      plan.scalars.push_back({PlanNumber::Factor, "", ref, factor, PlanElement::I64});
  }
  auto add = [&](PlanNode node) {
    plan.nodes.push_back(node);
    return int64_t(plan.nodes.size()) - 1;
  };
  auto index = [&](const char *axis) { return add({"index", PlanKind::I64, axis, 0, 0, 0, {}}); };
  auto read = [&](int64_t tensor, int64_t a, int64_t b) {
    return add({"read", PlanKind::F32, "", tensor, 0, 0, {a, b, -1, -1}});
  };
  int64_t s = index("S"), t = index("T"), e = index("E"), f = index("F");
  plan.terms.push_back({read(0, s, e), read(1, t, e), "E", 2});
  plan.mixes.push_back({read(2, t, f), "F", 3});
  plan.score = add({"term", PlanKind::F32, "", 0, 0, 0, {}});
  plan.queryFactor = add({"constant", PlanKind::F32, "", 0, 0, 0.25, {}});
  int64_t one = add({"constant", PlanKind::I64, "", 0, 1, 0, {}});
  plan.ranges.push_back({-1, add({"addi", PlanKind::I64, "", 0, 0, 0, {s, one}})});
  plan.stores.push_back({3, add({"mix", PlanKind::F32, "", 0, 0, 0, {}}), -1, {"S", "F"}, {}});
  return plan;
}

/// y[s, f] = x w + b, of which a task has at most 12 rows.
inline StagePlan productPlan() {
  StagePlan plan;
  plan.symbol = "product";
  plan.part = PlanPart::Product;
  plan.lanes = 8, plan.vectors = 2, plan.rows = 6, plan.queryTile = 12, plan.keyTile = 20;
  for (const char *axis : {"S", "F", "D"})
    plan.scalars.push_back({PlanNumber::Extent, axis, {}, 0, PlanElement::I64});
  plan.queries = {{"S", 0}}, plan.columns = {{"F", 1}}, plan.depth = {{"D", 2}};
  auto add = [&](PlanNode node) {
    plan.nodes.push_back(node);
    return int64_t(plan.nodes.size()) - 1;
  };
  auto index = [&](const char *axis) { return add({"index", PlanKind::I64, axis, 0, 0, 0, {}}); };
  int64_t s = index("S"), f = index("F"), d = index("D");
  auto read = [&](const char *name, std::vector<int64_t> inputs) {
    PlanTensor tensor{name, {false, int64_t(plan.tensors.size())}, PlanElement::F32, {}, {}};
    for (size_t i = 0; i < inputs.size(); ++i)
      tensor.factors.push_back(int64_t(i));
    plan.tensors.push_back(tensor);
    inputs.resize(2 * inputs.size(), -1);
    return add({"read", PlanKind::F32, "", int64_t(plan.tensors.size()) - 1, 0, 0, inputs});
  };
  plan.terms.push_back({read("x", {s, d}), read("w", {f, d}), "D", 2});
  int64_t bias = read("b", {f}), sum = add({"product", PlanKind::F32, "", 0, 0, 0, {}});
  PlanStore store{3, add({"addf", PlanKind::F32, "", 0, 0, 0, {sum, bias}}), -1, {}, {s, f, -1, -1}};
  plan.tensors.push_back({"y", {false, 3}, PlanElement::F32, {}, {0, 1}});
  plan.stores.push_back(store);
  return plan;
}

} // namespace attn

#endif // ATTN_TEST_UNIT_HALIDE_CAUSALPLAN_H
