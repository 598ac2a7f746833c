//===- LowerToCuda.cpp - attn.kernel to device code -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "compiler/cpu/Ragged.h"
#include "compiler/cuda/CudaEntry.h"
#include "compiler/cuda/DataChecks.h"
#include "compiler/cuda/DeviceStage.h"
#include "compiler/cuda/NarrowBuffers.h"
#include "compiler/cuda/Passes.h"
#include "compiler/cuda/WarpOps.h"
#include "compiler/emit/Device.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace attn {
#define GEN_PASS_DEF_LOWERTOCUDA
#include "compiler/cuda/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

/// What every device and driver takes as parameters of a kernel.
static constexpr unsigned mostFrameBytes = 4096;

namespace {
/// Lowers one kernel into functions beside it and in the device module.
class KernelLowering {
public:
  KernelLowering(KernelOp kernel, ModuleOp device) : kernel(kernel), device(device), layout(kernel), builder(kernel) {}

  LogicalResult run() {
    if (failed(checkFrame()) || failed(verifyRagged(layout)) || failed(lowerChecks()))
      return failure();
    SmallVector<StageOp> ops(kernel.getBody().getOps<StageOp>());
    for (auto [i, op] : llvm::enumerate(ops)) {
      stages.push_back(makeStage(op));
      if (failed(stages.back()->prepare(layout)))
        return failure();
      for (unsigned k = 0; k < stages.back()->kernelCount(); ++k)
        if (failed(lowerKernel(i, k, *stages.back())))
          return failure();
    }
    if (failed(makeCount(".shared", [&](FunctionScope &f) { return scratchBytes(f); })))
      return failure();
    return buildCudaEntry(kernel->getParentOfType<ModuleOp>(), layout, launches, conditions);
  }

private:
  static std::unique_ptr<DeviceStage> makeStage(StageOp stage) {
    switch (stage.getKind()) {
    case StageKind::Flash: {
      std::unique_ptr<DeviceStage> flash = makeFlashStage(stage);
      return flash ? std::move(flash) : makeRowStage(stage);
    }
    case StageKind::Contract:
      return makeProductStage(stage);
    case StageKind::Nest:
      return makePointStage(stage);
    }
    llvm_unreachable("every kind has a lowering");
  }

  LogicalResult checkFrame() {
    if (layout.size() * sizeof(int64_t) > mostFrameBytes)
      return kernel.emitError("a kernel's extents, addresses and strides take ")
             << layout.size() * sizeof(int64_t) << " bytes, a CUDA device takes " << mostFrameBytes
             << ": pass fewer tensors";
    return success();
  }

  /// A function of the frame, on the processor that launches, that gives one i64. It knows nothing of what is data.
  LogicalResult makeCount(Twine suffix, llvm::function_ref<Value(FunctionScope &)> emit) {
    Type pointer = LLVM::LLVMPointerType::get(builder.getContext());
    OpBuilder::InsertionGuard guard(builder);
    auto function = func::FuncOp::create(builder, kernel.getLoc(), (kernel.getSymName() + suffix).str(),
                                         builder.getFunctionType({pointer}, {builder.getI64Type()}));
    function.setPrivate();
    function.addEntryBlock();
    FunctionScope f(function, layout);
    func::ReturnOp::create(f.builder(), kernel.getLoc(), emit(f));
    for (StringAttr axis : unbounded)
      if (readsSlot(function, layout.axis(axis)))
        return layout.ragged(axis).emitError("work for a CUDA device is laid out before it looks at data, and no argument "
                                             "is stored along ")
               << axis.getValue() << " that would bound it";
    return success();
  }

  static bool readsSlot(func::FuncOp function, unsigned slot) {
    return function
        .walk([&](LLVM::GEPOp address) {
          bool isSlot = address.getBase() == function.getArgument(0) && address.getDynamicIndices().size() == 1 &&
                        FunctionScope::constantOf(address.getDynamicIndices()[0]) == slot;
          bool isRead = isSlot && llvm::any_of(address->getUsers(), [](Operation *user) { return isa<LLVM::LoadOp>(user); });
          return isRead ? WalkResult::interrupt() : WalkResult::advance();
        })
        .wasInterrupted();
  }

  /// The kernel that looks at data before the others, and on this side extents that are large enough.
  LogicalResult lowerChecks() {
    if (!kernel.getBody().getOps<RaggedOp>().empty() && failed(makeCount(".bounds", [&](FunctionScope &f) {
          unbounded = emitRaggedBounds(f);
          return f.i64(0);
        })))
      return failure();
    conditions = dataConditions(layout);
    if (conditions.empty())
      return success();
    if (failed(makeCount(".scratch", [](FunctionScope &f) { return f.i64(sizeof(int64_t)); })))
      return failure();
    return addKernel("check", {/*threads=*/warpLanes}, [](FunctionScope &f) { return f.i64(1); },
                     [](FunctionScope &f, Value task) { return emitDataChecks(f); }, /*isGuarded=*/false);
  }

  /// The largest need of any stage; stages run one after the other.
  Value scratchBytes(FunctionScope &f) {
    Value bytes = f.i64(0);
    for (auto &stage : stages)
      if (Value needed = stage->emitScratchBytes(f))
        bytes = f.max(bytes, needed);
    return f.mul(f.ceilDiv(bytes, f.i64(64)), f.i64(64));
  }

  /// A kernel whose parameter is the frame: a copy in constant memory, which nobody may change.
  func::FuncOp makeKernel(StringRef name, const KernelShape &shape) {
    OpBuilder b = OpBuilder::atBlockEnd(device.getBody());
    Type pointer = LLVM::LLVMPointerType::get(b.getContext());
    auto function = func::FuncOp::create(b, kernel.getLoc(), name, b.getFunctionType({pointer}, {}));
    Type frame = LLVM::LLVMArrayType::get(b.getI64Type(), layout.size());
    function.setArgAttr(0, LLVM::LLVMDialect::getByValAttrName(), TypeAttr::get(frame));
    function.setArgAttr(0, LLVM::LLVMDialect::getAlignAttrName(), b.getI64IntegerAttr(8));
    function->setAttr(kernelThreadsName, b.getI64IntegerAttr(shape.threads));
    function.addEntryBlock();
    return function;
  }

  LogicalResult lowerKernel(size_t stage, unsigned number, DeviceStage &lowering) {
    std::string suffix = ("stage" + Twine(stage) + (lowering.kernelCount() > 1 ? "_" + Twine(number) : Twine())).str();
    return addKernel(
        suffix, lowering.shape(number), [&](FunctionScope &f) { return lowering.emitTaskCount(f, number); },
        [&](FunctionScope &f, Value task) { return lowering.emitTask(f, number, task); }, !conditions.empty());
  }

  /// `count` is built for both sides. A guarded kernel does nothing once a condition on data has failed.
  LogicalResult addKernel(StringRef suffix, const KernelShape &shape, llvm::function_ref<Value(FunctionScope &)> count,
                          llvm::function_ref<LogicalResult(FunctionScope &, Value)> emitTask, bool isGuarded) {
    KernelLaunch launch{(kernel.getSymName() + "_" + suffix).str(), ("." + suffix + ".tasks").str(), shape};
    if (failed(makeCount(launch.tasks, count)))
      return failure();
    func::FuncOp function = makeKernel(launch.kernel, shape);
    FunctionScope f(function, layout);
    Value tasks = count(f);
    if (isGuarded)
      tasks = arith::SelectOp::create(f.builder(), f.loc(), isFaultless(f), tasks, f.i64(0));
    LogicalResult result = success();
    auto [first, step] = tasksOf(f, shape);
    if (shape.threadsPerTask == shape.threads) // A grid has as many blocks: without a loop, fewer values stay in registers.
      f.when(f.less(first, tasks), [&] { result = emitTask(f, first); });
    else
      f.loop(first, tasks, step, [&](Value task) { result = emitTask(f, task); });
    func::ReturnOp::create(f.builder(), kernel.getLoc());
    launches.push_back(std::move(launch));
    return result;
  }

  /// The first task of this thread, warp or block, and the step to the next: a whole grid further.
  static std::pair<Value, Value> tasksOf(FunctionScope &f, const KernelShape &shape) {
    OpBuilder &b = f.builder();
    auto wide = [&](Value special) -> Value { return arith::ExtUIOp::create(b, f.loc(), b.getI64Type(), special); };
    Value first = wide(NVVM::BlockIdXOp::create(b, f.loc(), b.getI32Type()));
    Value step = wide(NVVM::GridDimXOp::create(b, f.loc(), b.getI32Type()));
    int64_t tasks = shape.threads / shape.threadsPerTask;
    if (tasks == 1)
      return {first, step};
    first = f.add(f.mul(first, f.i64(tasks)), f.div(wide(threadIndex(f)), f.i64(shape.threadsPerTask)));
    return {first, f.mul(step, f.i64(tasks))};
  }

  KernelOp kernel;
  ModuleOp device;
  FrameLayout layout;
  OpBuilder builder;
  SmallVector<std::unique_ptr<DeviceStage>> stages;
  SmallVector<KernelLaunch> launches;
  std::vector<std::string> conditions;
  AxisList unbounded; ///< ragged axes whose extents only the device knows
};

struct LowerToCuda : attn::impl::LowerToCudaBase<LowerToCuda> {
  void runOnOperation() override {
    auto kernels = llvm::to_vector(getOperation().getOps<KernelOp>());
    if (kernels.empty())
      return;
    OpBuilder b = OpBuilder::atBlockEnd(getOperation().getBody());
    ModuleOp device = ModuleOp::create(b, getOperation().getLoc(), deviceModuleName);
    for (KernelOp kernel : kernels) {
      narrowBuffers(kernel);
      if (failed(KernelLowering(kernel, device).run()))
        return signalPassFailure();
      kernel.erase();
    }
    // Logarithms, sines and the like: MLIR's polynomials, on the device as on the processor.
    RewritePatternSet patterns(&getContext());
    populateMathPolynomialApproximationPatterns(patterns);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      return signalPassFailure();
  }
};
} // namespace
