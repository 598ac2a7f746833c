// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Elements and the walk over them.
#include "dialects/reference/Tensor.h"

namespace attn::reference {

void Tensor::copy(int64_t i, const Tensor &other, int64_t from) {
  switch (kind) {
  case Kind::Number:
    value[i] = other.value[from];
    radius[i] = other.radius[from];
    return;
  case Kind::Integer:
    integer[i] = other.integer[from];
    return;
  case Kind::Condition:
    condition[i] = other.condition[from];
    return;
  }
}

int64_t Tensor::find(mlir::StringAttr axis) const {
  auto found = llvm::find(axes, axis);
  return found == axes.end() ? -1 : found - axes.begin();
}

Kind kindOf(mlir::Type element) {
  if (mlir::isa<mlir::FloatType>(element))
    return Kind::Number;
  return element.isInteger(1) ? Kind::Condition : Kind::Integer;
}

int64_t product(llvm::ArrayRef<int64_t> shape) {
  int64_t count = 1;
  for (int64_t extent : shape)
    count *= extent;
  return count;
}

unsigned Cursor::follow(llvm::ArrayRef<mlir::StringAttr> tensorAxes,
                        llvm::ArrayRef<int64_t> tensorShape) {
  Shape tensorSteps(tensorAxes.size(), 1), own(axes.size(), 0);
  for (size_t d = tensorAxes.size(); d-- > 1;)
    tensorSteps[d - 1] = tensorSteps[d] * tensorShape[d];
  for (size_t d = 0; d < axes.size(); ++d)
    if (auto found = llvm::find(tensorAxes, axes[d]); found != tensorAxes.end())
      own[d] = tensorSteps[found - tensorAxes.begin()];
  steps.push_back(own);
  offsets.push_back(0);
  return steps.size() - 1;
}

} // namespace attn::reference
