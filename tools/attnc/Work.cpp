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

} // namespace

llvm::Expected<double> attnc::countOperations(const Signature &signature, const Extents &extents, Density density) {
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
    double products = 1;
    for (mlir::StringAttr axis : domain)
      products *= double(extents.lookup(axis.getValue()));
    for (const Mask &mask : masks)
      if (llvm::all_of(mask.pairs, [&](mlir::StringAttr axis) { return llvm::is_contained(domain, axis); }))
        products *= densities[mask.condition.getAsOpaquePointer()];
    operations += 2 * products;
  }
  return operations;
}
