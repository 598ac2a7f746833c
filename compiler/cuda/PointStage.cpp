//===- PointStage.cpp - a thread per stored element -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes over one set of axes make a kernel; its tasks are the elements, the innermost stored axis fastest, so that
// neighbouring threads touch neighbouring elements. Points of ragged axes are counted over the largest extents; those
// that do not exist are passed over.
//===----------------------------------------------------------------------===//
#include "compiler/cpu/Contraction.h"
#include "compiler/cpu/StageLowering.h"
#include "compiler/cuda/DeviceStage.h"

using namespace mlir;
using namespace attn;

namespace {
class PointStage : public DeviceStage {
public:
  using DeviceStage::DeviceStage;

  LogicalResult prepare(const FrameLayout &layout) override;
  unsigned kernelCount() const override { return domains.size(); }
  KernelShape shape(unsigned kernel) const override { return {}; }
  Value emitTaskCount(FunctionScope &f, unsigned kernel) override { return f.extent(domains[kernel].axes); }
  LogicalResult emitTask(FunctionScope &f, unsigned kernel, Value task) override;

private:
  struct Domain {
    AxisList all;  ///< sorted
    AxisList axes; ///< the same in the stored order of the first write
    SmallVector<WriteOp> writes;
  };

  SmallVector<Domain> domains;
};
} // namespace

LogicalResult PointStage::prepare(const FrameLayout &layout) {
  for (WriteOp write : stage.getBody().getOps<WriteOp>()) {
    AxisList all = unionOfAxes(write.getIndices());
    auto known = llvm::find_if(domains, [&](const Domain &domain) { return domain.all == all; });
    if (known == domains.end())
      domains.push_back({all, inStoredOrder(all, write.getIndices()), {write}});
    else
      known->writes.push_back(write);
  }
  return domains.empty() ? LogicalResult(stage.emitError("a stage that stores nothing")) : success();
}

LogicalResult PointStage::emitTask(FunctionScope &f, unsigned kernel, Value task) {
  Domain &domain = domains[kernel];
  Expressions x(f, /*lanes=*/1);
  FunctionScope::Values counts;
  for (StringAttr axis : domain.axes)
    counts.push_back(f.extent(axis));
  FunctionScope::Values indices = splitTask(f, task, counts);
  auto bind = [&](Operation *region) {
    x.enter(region);
    for (auto [axis, index] : llvm::zip(domain.axes, indices))
      x.bind(axis, index);
  };
  bind(nullptr);
  Value exists = x.existence(domain.axes);
  x.leave();
  auto emit = [&](Operation *region) {
    bind(region);
    for (StringAttr axis : domain.axes)
      if (f.getLayout().isRagged(axis))
        x.markExisting(axis);
    for (WriteOp write : domain.writes)
      x.write(write);
    x.leave();
  };
  whereExists(f, exists, emit);
  return failure(x.failed());
}

std::unique_ptr<DeviceStage> attn::makePointStage(StageOp stage) { return std::make_unique<PointStage>(stage); }
