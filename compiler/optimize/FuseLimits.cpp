//===- FuseLimits.cpp - what one pass over the keys can't do ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The one place that knows which attentions `attn.flash` stages serve. Everything else stays a contraction, a
// softmax and a contraction, each a stage of its own.
//===----------------------------------------------------------------------===//
#include "compiler/optimize/FuseSupport.h"

using namespace mlir;
using namespace attn;

std::string attn::listed(ArrayRef<StringAttr> axes) {
  std::string text;
  for (StringAttr axis : axes)
    text += (text.empty() ? "" : " ") + axis.getValue().str();
  return text;
}

static bool contains(ArrayRef<StringAttr> axes, StringAttr axis) { return llvm::is_contained(axes, axis); }

namespace {
/// The axes of an attention by what they are for.
struct AttentionAxes {
  AxisList keys;
  AxisList score;                    ///< of all score terms, keys among them
  AxisList onKeySide;                ///< what keys and values share with the scores
  SmallVector<AxisList> contracted;  ///< per term
  SmallVector<AxisList> widths;      ///< per value

  AttentionAxes(ArrayRef<ScoreTerm> terms, ArrayRef<StringAttr> keyAxes, ValueRange values) : keys(keyAxes) {
    for (ScoreTerm term : terms) {
      llvm::append_range(score, term.contract.getType().getAxes());
      contracted.push_back(axisNames(term.contract.getOver()));
      for (StringAttr axis : valueType(term.key).getAxes())
        if (!contains(contracted.back(), axis))
          onKeySide.push_back(axis);
    }
    for (Value value : values) {
      AxisList width;
      for (StringAttr axis : valueType(value).getAxes())
        (contains(score, axis) ? onKeySide : width).push_back(axis);
      widths.push_back(width);
    }
  }
};
} // namespace

/// An axis of a key that neither its query nor any value has would be summed nowhere: the score is combined with
/// another score before the softmax, and its key is itself a table of scores.
static StringAttr strayAxis(ArrayRef<ScoreTerm> terms, ArrayRef<StringAttr> keyAxes, ValueRange values) {
  for (const ScoreTerm &term : terms)
    for (StringAttr axis : valueType(term.key).getAxes()) {
      bool known = valueType(term.query).hasAxis(axis) || contains(keyAxes, axis);
      if (!known && (values.empty() || !llvm::all_of(values, [&](Value value) { return valueType(value).hasAxis(axis); })))
        return axis;
    }
  return {};
}

/// A ragged axis that has no one length in a pass over the keys of one batch entry: an axis of elements, or a key axis
/// whose extent depends on another key axis, or on one that keys and values lack.
static StringAttr raggedWithin(const AttentionAxes &axes, const Signature &signature) {
  for (const SmallVector<AxisList> *elements : {&axes.contracted, &axes.widths})
    for (const AxisList &list : *elements)
      for (StringAttr axis : list)
        if (signature.findAxis(axis).isRagged())
          return axis;
  for (StringAttr key : axes.keys)
    for (StringAttr on : signature.findAxis(key).getDependsOn())
      if (contains(axes.keys, on) || !contains(axes.onKeySide, on))
        return key;
  return {};
}

Obstacle attn::findObstacle(ArrayRef<ScoreTerm> terms, ArrayRef<StringAttr> keyAxes, ValueRange values) {
  if (StringAttr stray = strayAxis(terms, keyAxes, values))
    return {"a key has axis " + stray.getValue().str() +
                ", which neither its query nor the values have: scores are combined before the softmax",
            "mix the heads of queries and keys instead, if the model allows it"};
  AttentionAxes axes(terms, keyAxes, values);
  Signature signature(Signature::around(ContractOp(terms.front().contract)->getParentOp()));
  if (StringAttr ragged = raggedWithin(axes, signature))
    return {"the ragged axis " + ragged.getValue().str() + " has no one length in a pass over the keys",
            "attend along " + ragged.getValue().str() + " alone"};
  for (const AxisList &contracted : axes.contracted)
    if (contracted.size() != 1)
      return {"a score contracts the axes " + listed(contracted) + ", and a fused pass contracts one",
              "declare them as one axis"};
  for (const AxisList &width : axes.widths)
    if (width.size() > 1)
      return {"values have the axes " + listed(width) + " of their own, and a fused pass mixes along one",
              "declare them as one axis"};
    else if (width.empty())
      return {"values have no axis of their own", "declare them with a width, of extent 1 if need be"};
  return {};
}
