//===- ProductStage.cpp - matrix products -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// On tensor cores where a side is stored in 16 bits, with a kernel for few rows beside that for many; exactly in f32
// elsewhere; point by point what is no such product.
//===----------------------------------------------------------------------===//
#include "compiler/Remarks.h"
#include "compiler/cuda/DeviceStage.h"
#include "compiler/cuda/ExactProduct.h"
#include "compiler/cuda/TensorProduct.h"

using namespace mlir;
using namespace attn;

namespace {
class ProductStage : public DeviceStage {
public:
  using DeviceStage::DeviceStage;

  LogicalResult prepare(const FrameLayout &layout) override;
  unsigned kernelCount() const override { return points ? points->kernelCount() : sides ? forms.size() : 1; }
  KernelShape shape(unsigned kernel) const override;
  Value emitTaskCount(FunctionScope &f, unsigned kernel) override;
  LogicalResult emitTask(FunctionScope &f, unsigned kernel, Value task) override;

private:
  TensorTiling tiling(unsigned kernel) const { return TensorTiling::of(plan, forms[kernel] == Form::Few); }

  enum class Form { Few, Many };

  ProductPlan plan;
  std::optional<TensorSides> sides; ///< none: exactly
  SmallVector<Form> forms;          ///< of kernels on tensor cores
  /// Lowers what is no such product.
  std::unique_ptr<DeviceStage> points;
};
} // namespace

LogicalResult ProductStage::prepare(const FrameLayout &layout) {
  std::string why;
  std::optional<ProductPlan> found = ProductPlan::find(stage, layout, why);
  if (!found) {
    remarkMissed(stage.getLoc(), "this contraction is computed point by point", why);
    points = makePointStage(stage);
    return points->prepare(layout);
  }
  plan = *found;
  sides = TensorSides::find(plan, layout.getSignature(), why);
  if (!sides) {
    remarkMissed(stage.getLoc(), "a product does not use tensor cores", why);
    return success();
  }
  int64_t rows = 1;
  bool isKnown = true;
  for (StringAttr axis : plan.rows) {
    std::optional<int64_t> extent = constantExtent(layout.getSignature(), axis);
    isKnown &= extent.has_value();
    rows *= extent.value_or(1);
  }
  if (!isKnown || rows <= TensorTiling::fewRows)
    forms.push_back(Form::Few);
  if (!isKnown || rows > TensorTiling::fewRows)
    forms.push_back(Form::Many);
  return success();
}

KernelShape ProductStage::shape(unsigned kernel) const {
  if (points)
    return points->shape(kernel);
  if (sides) {
    TensorTiling tiling = this->tiling(kernel);
    return {tiling.threads(), tiling.threads(), ProductShared(plan, tiling.sums, tiling.workBytes()).size};
  }
  SumTile sums = ExactProduct::tileFor(plan);
  return {ExactProduct::threads, ExactProduct::threads, ProductShared(plan, sums, ExactProduct::workBytes(sums)).size};
}

Value ProductStage::emitTaskCount(FunctionScope &f, unsigned kernel) {
  if (points)
    return points->emitTaskCount(f, kernel);
  if (!sides)
    return ProductTile::count(f, plan, ExactProduct::tileFor(plan));
  Value count = ProductTile::count(f, plan, tiling(kernel).sums);
  if (forms.size() == 1)
    return count;
  Value isMany = f.less(f.i64(TensorTiling::fewRows), plan.rowCount(f)), none = f.i64(0);
  bool isForMany = forms[kernel] == Form::Many;
  return arith::SelectOp::create(f.builder(), f.loc(), isMany, isForMany ? count : none, isForMany ? none : count);
}

LogicalResult ProductStage::emitTask(FunctionScope &f, unsigned kernel, Value task) {
  if (points)
    return points->emitTask(f, kernel, task);
  if (sides)
    return TensorProduct(f, stage, plan, *sides, tiling(kernel)).emit(task);
  return ExactProduct(f, stage, plan, ExactProduct::tileFor(plan)).emit(task);
}

std::unique_ptr<DeviceStage> attn::makeProductStage(StageOp stage) { return std::make_unique<ProductStage>(stage); }
