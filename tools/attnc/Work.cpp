//===- Work.cpp - what a program has to do at least -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/attnc/Work.h"

using namespace attn;
using namespace attnc;

namespace {

/// A mask in front of a normaliser: pairs over these axes are needed where the condition holds.
struct Mask {
  AxisList pairs;
  mlir::Value condition;
};

/// The conditions that a normaliser's operand is limited by, through any number of `where`.
void collectMasks(mlir::Value normalized, llvm::SmallVectorImpl<Mask> &masks) {
  AxisList pairs(valueType(normalized).getAxes());
  while (auto where = normalized.getDefiningOp<WhereOp>()) {
    masks.push_back({pairs, where.getCondition()});
    normalized = where.getValue();
  }
}

/// How many points a domain has: each point of what ragged axes depend on has its own number.
double countPoints(const AxisList &domain, const Extents &extents, const Lengths &lengths) {
  AxisList outer, ragged;
  double rest = 1;
  for (mlir::StringAttr axis : domain)
    if (auto found = lengths.find(axis.getValue()); found != lengths.end()) {
      ragged.push_back(axis);
      for (mlir::StringAttr on : found->second.dependsOn)
        if (!llvm::is_contained(outer, on))
          outer.push_back(on);
    }
  for (mlir::StringAttr axis : domain)
    if (!llvm::is_contained(outer, axis) && !llvm::is_contained(ragged, axis))
      rest *= double(extents.lookup(axis.getValue()));
  int64_t outerPoints = 1;
  for (mlir::StringAttr axis : outer)
    outerPoints *= extents.lookup(axis.getValue());
  double points = 0;
  for (int64_t point = 0; point < outerPoints; ++point) {
    llvm::StringMap<int64_t> index;
    int64_t left = point;
    for (mlir::StringAttr axis : llvm::reverse(outer)) {
      index[axis.getValue()] = left % extents.lookup(axis.getValue());
      left /= extents.lookup(axis.getValue());
    }
    double here = 1;
    for (mlir::StringAttr axis : ragged) {
      const AxisLengths &own = lengths.find(axis.getValue())->second;
      int64_t place = 0;
      for (mlir::StringAttr on : own.dependsOn)
        place = place * extents.lookup(on.getValue()) + index.lookup(on.getValue());
      here *= own.extents[place];
    }
    points += here;
  }
  return points * rest;
}

} // namespace

llvm::Expected<double> attnc::countOperations(const Signature &signature, const Extents &extents, Density density,
                                              const Lengths &lengths) {
  llvm::SmallVector<Mask> masks;
  llvm::SmallVector<ContractOp> contractions;
  signature.body->walk([&](mlir::Operation *op) {
    if (auto softmax = mlir::dyn_cast<SoftmaxOp>(op))
      collectMasks(softmax.getValue(), masks);
    else if (auto contract = mlir::dyn_cast<ContractOp>(op))
      contractions.push_back(contract);
  });

  // One mask of several attentions over the same axes stands for all of them; several of one are multiplied, as if
  // they were independent.
  std::map<void *, double> densities;
  for (const Mask &mask : masks) {
    if (densities.count(mask.condition.getAsOpaquePointer()))
      continue;
    auto part = density(mask.condition);
    if (!part)
      return part.takeError();
    densities[mask.condition.getAsOpaquePointer()] = *part;
  }

  double operations = 0;
  for (ContractOp contract : contractions) {
    AxisList domain = unionOfAxes(contract->getOperands());
    double products = countPoints(domain, extents, lengths);
    for (const Mask &mask : masks)
      if (llvm::all_of(mask.pairs, [&](mlir::StringAttr axis) { return llvm::is_contained(domain, axis); }))
        products *= densities[mask.condition.getAsOpaquePointer()];
    operations += 2 * products;
  }
  return operations;
}
