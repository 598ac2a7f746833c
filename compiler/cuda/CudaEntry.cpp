//===- CudaEntry.cpp - stages as launches -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "compiler/cuda/CudaEntry.h"

#include "attn/cuda.h"
#include "compiler/cpu/Entry.h"
#include "compiler/cpu/Workspace.h"
#include "compiler/emit/Device.h"

using namespace mlir;
using namespace attn;

namespace {
/// Words of an attn_cuda_launch.
enum LaunchWord { Module, Kernel, Blocks, Threads, SharedBytes, Frame, FrameBytes, LaunchWords };
static_assert(sizeof(attn_cuda_launch) == LaunchWords * sizeof(int64_t));

class CudaEntry : public EntryBuilder {
public:
  CudaEntry(ModuleOp module, const FrameLayout &layout, ArrayRef<KernelLaunch> launches,
            ArrayRef<std::string> conditions)
      : EntryBuilder(module, layout), launches(launches), conditions(conditions) {}

private:
  int64_t deviceType() const override { return kDLCUDA; }
  void allocatePlaces() override { launchPlace = allocate(i64, LaunchWords); }

  LogicalResult prepare(Tables &tables) override {
    for (const KernelLaunch &launch : launches)
      names.push_back(tables.text(launch.kernel));
    std::string all;
    for (const std::string &condition : conditions)
      all += condition + '\0';
    if (!all.empty())
      texts = tables.text(all);
    if (!module.lookupSymbol(deviceGlobalName))
      LLVM::GlobalOp::create(b, loc, LLVM::LLVMArrayType::get(b.getI8Type(), 0), /*isConstant=*/true,
                             LLVM::Linkage::External, deviceGlobalName, Attribute());
    deviceModule = FlatSymbolRefAttr::get(b.getContext(), deviceGlobalName);
    return success();
  }

  /// One, whose scratch is the word of fault.
  Value workers() override { return number(1, i64); }
  /// What data decides, the device checks; here ragged axes get extents that are large enough.
  Value checkLengths(llvm::function_ref<Value()> then) override {
    if (func::FuncOp bounds = findDirect(".bounds"))
      call(bounds, {frame});
    return then();
  }
  Value checkRequirements(llvm::function_ref<Value()> then) override { return then(); }

  void placeFaults() {
    if (!texts)
      return;
    Value address = LLVM::PtrToIntOp::create(b, loc, i64, addressOf(texts));
    LLVM::StoreOp::create(b, loc, address, slot(faultTextsSlot(layout)));
    Value place = element(context, b.getI8Type(), offsetof(attn_context, fault));
    LLVM::StoreOp::create(b, loc, LLVM::LoadOp::create(b, loc, i64, place), slot(callerFaultSlot(layout)));
  }

  void setWord(LaunchWord word, Value value) { LLVM::StoreOp::create(b, loc, value, element(launchPlace, i64, word)); }

  Value runKernel(const KernelLaunch &launch, FlatSymbolRefAttr kernel) {
    Value tasks = call(findDirect(launch.tasks), {frame});
    setWord(Kernel, addressOf(kernel));
    setWord(Threads, number(launch.shape.threads, i64));
    setWord(SharedBytes, number(launch.shape.sharedBytes, i64));
    Value perBlock = number(launch.shape.threads / launch.shape.threadsPerTask, i64);
    func::FuncOp run = runtime("attn_cuda_run", {pointer, i64, i64, pointer}, i32);
    return call(run, {context, tasks, perBlock, launchPlace});
  }

  Value runStages() override {
    func::FuncOp reserve = runtime("attn_cuda_reserve", {pointer, i64, i64, pointer, pointer}, i32);
    Value status = call(reserve, {context, workspaceBytes(), number(workspaceAlignment, i64), memoryPlace, ownedPlace});
    return whenOk(status, [&] {
      Value memory = LLVM::LoadOp::create(b, loc, pointer, memoryPlace);
      placeBuffers(memory);
      placeFaults();
      setWord(Module, addressOf(deviceModule));
      setWord(Frame, frame);
      setWord(FrameBytes, number(layout.size() * sizeof(int64_t), i64));
      Value status = number(ATTN_OK, i32);
      for (auto [launch, kernel] : llvm::zip(launches, names))
        status = whenOk(status, [&] { return runKernel(launch, kernel); });
      Value owned = LLVM::LoadOp::create(b, loc, i32, ownedPlace);
      Value freed = call(runtime("attn_cuda_release", {pointer, pointer, i32}, i32), {context, memory, owned});
      return arith::SelectOp::create(b, loc, isZero(status), freed, status).getResult();
    });
  }

  ArrayRef<KernelLaunch> launches;
  ArrayRef<std::string> conditions;
  SmallVector<FlatSymbolRefAttr> names;
  FlatSymbolRefAttr deviceModule, texts;
  Value launchPlace;
};
} // namespace

LogicalResult attn::buildCudaEntry(ModuleOp module, const FrameLayout &layout, ArrayRef<KernelLaunch> launches,
                                   ArrayRef<std::string> conditions) {
  return CudaEntry(module, layout, launches, conditions).build();
}
