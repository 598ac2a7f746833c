//===- LowerToCpu.cpp - attn.kernel to vector code --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "compiler/cpu/Entry.h"
#include "compiler/cpu/HalideDevice.h"
#include "compiler/cpu/HalideStage.h"
#include "compiler/cpu/Passes.h"
#include "compiler/cpu/Ragged.h"
#include "compiler/cpu/Requirements.h"
#include "compiler/cpu/ShareStages.h"
#include "compiler/cpu/StageLowering.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace attn {
#define GEN_PASS_DEF_LOWERTOCPU
#include "compiler/cpu/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

namespace {
/// Lowers one kernel into functions beside it.
class KernelLowering {
public:
  explicit KernelLowering(KernelOp kernel) : kernel(kernel), layout(kernel), builder(kernel) {}

  LogicalResult run() {
    if (failed(verifyRagged(layout)))
      return failure();
    SmallVector<StageOp> stages(kernel.getBody().getOps<StageOp>());
    for (auto [i, stage] : llvm::enumerate(stages)) {
      if (std::optional<HalideDevice> device = HalideDevice::of(stage)) {
        lowerCall(i, *device);
        devices.push_back(std::move(*device));
        continue;
      }
      lowerings.push_back(makeLowering(stage));
      if (failed(lowerings.back()->prepare(layout)) || failed(lowerStage(i, *lowerings.back())))
        return failure();
    }
    makeBytes(".scratch", [&](FunctionScope &f) {
      FunctionScope::Values all;
      for (auto &lowering : lowerings)
        all.push_back(lowering->emitScratchBytes(f));
      for (const HalideDevice &device : devices)
        all.push_back(device.emitScratchBytes(f));
      return all;
    });
    if (llvm::any_of(lowerings, [](auto &lowering) { return lowering->hasFinish(); }))
      makeBytes(".shared", [&](FunctionScope &f) {
        return FunctionScope::Values(llvm::map_range(lowerings, [&](auto &lowering) { return lowering->emitSharedBytes(f); }));
      });
    if (failed(lowerRagged()) || failed(lowerRequirements()) || failed(lowerFits()))
      return failure();
    shareStages(tasks);
    return buildEntry(kernel->getParentOfType<ModuleOp>(), layout);
  }

private:
  static std::unique_ptr<StageLowering> makeLowering(StageOp stage) {
    if (stage->hasAttr("plans"))
      return stage.getKind() == StageKind::Contract ? makeHalideProductLowering(stage) : makeHalideLowering(stage);
    switch (stage.getKind()) {
    case StageKind::Flash:
      return makeFlashLowering(stage);
    case StageKind::Contract:
      return makeContractLowering(stage);
    case StageKind::Nest:
      return makeNestLowering(stage);
    }
    llvm_unreachable("every kind has a lowering");
  }

  func::FuncOp makeFunction(Twine suffix, TypeRange inputs, TypeRange results, Location loc) {
    OpBuilder::InsertionGuard guard(builder);
    auto function = func::FuncOp::create(builder, loc, (kernel.getSymName() + suffix).str(),
                                         builder.getFunctionType(inputs, results));
    function.setPrivate();
    function.addEntryBlock();
    return function;
  }

  /// A function of the frame that gives one i64.
  void makeCount(Twine suffix, Location loc, llvm::function_ref<Value(FunctionScope &)> emit) {
    Type pointer = LLVM::LLVMPointerType::get(builder.getContext());
    func::FuncOp function = makeFunction(suffix, {pointer}, {builder.getI64Type()}, loc);
    FunctionScope f(function, layout);
    func::ReturnOp::create(f.builder(), loc, emit(f));
  }

  LogicalResult lowerStage(size_t i, StageLowering &lowering) {
    Location loc = kernel.getLoc();
    std::string name = (".stage" + Twine(i)).str();
    makeCount(name + ".tasks", loc, [&](FunctionScope &f) { return lowering.emitTaskCount(f); });
    if (failed(makeTask(name, [&](FunctionScope &f, Value task) { return lowering.emitTask(f, task); })))
      return failure();
    if (!lowering.hasFinish())
      return success();
    makeCount(name + ".finish.tasks", loc, [&](FunctionScope &f) { return lowering.emitFinishCount(f); });
    return makeTask(name + ".finish", [&](FunctionScope &f, Value task) { return lowering.emitFinish(f, task); });
  }

  void lowerCall(size_t i, const HalideDevice &device) {
    Type pointer = LLVM::LLVMPointerType::get(builder.getContext()), i32 = builder.getI32Type();
    std::string name = (".stage" + Twine(i) + ".device").str();
    func::FuncOp function = makeFunction(name, {pointer, builder.getI64Type(), i32}, {i32}, kernel.getLoc());
    FunctionScope f(function, layout);
    func::ReturnOp::create(f.builder(), kernel.getLoc(), device.emitCall(f));
  }

  LogicalResult makeTask(Twine suffix, llvm::function_ref<LogicalResult(FunctionScope &, Value)> emit) {
    Type pointer = LLVM::LLVMPointerType::get(builder.getContext());
    Location loc = kernel.getLoc();
    func::FuncOp function = makeFunction(suffix, {pointer, builder.getI64Type(), builder.getI32Type()}, {}, loc);
    FunctionScope f(function, layout);
    if (failed(emit(f, function.getArgument(1))))
      return failure();
    func::ReturnOp::create(f.builder(), loc);
    tasks.push_back(function);
    return success();
  }

  /// A function of the frame that gives 0, or the number of the first condition that does not hold.
  LogicalResult makeCheck(StringRef suffix, llvm::function_ref<FailureOr<Value>(FunctionScope &)> emit) {
    Type pointer = LLVM::LLVMPointerType::get(builder.getContext());
    func::FuncOp function = makeFunction(suffix, {pointer}, {builder.getI32Type()}, kernel.getLoc());
    FunctionScope f(function, layout);
    FailureOr<Value> failing = emit(f);
    if (failed(failing))
      return failure();
    func::ReturnOp::create(f.builder(), kernel.getLoc(), *failing);
    return success();
  }

  LogicalResult lowerRagged() {
    if (kernel.getBody().getOps<RaggedOp>().empty())
      return success();
    return makeCheck(".ragged", [](FunctionScope &f) { return emitRaggedChecks(f, /*fillsFrame=*/true); });
  }

  LogicalResult lowerRequirements() {
    SmallVector<RequireOp> requirements(kernel.getBody().getOps<RequireOp>());
    if (requirements.empty())
      return success();
    return makeCheck(".require", [&](FunctionScope &f) { return emitRequirements(f, requirements); });
  }

  LogicalResult lowerFits() {
    SmallVector<StageOp> planned;
    for (StageOp stage : kernel.getBody().getOps<StageOp>())
      if (stage->hasAttr("plans"))
        planned.push_back(stage);
    if (planned.empty())
      return success();
    return makeCheck(".fits", [&](FunctionScope &f) -> FailureOr<Value> {
      auto number = [&](int32_t value) -> Value {
        return arith::ConstantOp::create(f.builder(), f.loc(), f.builder().getI32IntegerAttr(value));
      };
      return arith::SelectOp::create(f.builder(), f.loc(), emitFits(f, planned), number(0), number(1)).getResult();
    });
  }

  /// The largest need of any stage, null being none; stages run one after the other.
  void makeBytes(Twine suffix, llvm::function_ref<FunctionScope::Values(FunctionScope &)> emit) {
    makeCount(suffix, kernel.getLoc(), [&](FunctionScope &f) {
      Value bytes = f.i64(0);
      for (Value needed : emit(f))
        if (needed)
          bytes = f.max(bytes, needed);
      return f.mul(f.ceilDiv(bytes, f.i64(64)), f.i64(64));
    });
  }

  KernelOp kernel;
  FrameLayout layout;
  OpBuilder builder;
  SmallVector<std::unique_ptr<StageLowering>> lowerings;
  std::vector<HalideDevice> devices;
  SmallVector<func::FuncOp> tasks;
};

struct LowerToCpu : attn::impl::LowerToCpuBase<LowerToCpu> {
  void runOnOperation() override {
    for (KernelOp kernel : llvm::make_early_inc_range(getOperation().getOps<KernelOp>())) {
      if (failed(KernelLowering(kernel).run()))
        return signalPassFailure();
      kernel.erase();
    }
    // Logarithms, sines and the like in lanes: MLIR's polynomials.
    RewritePatternSet patterns(&getContext());
    populateMathPolynomialApproximationPatterns(patterns);
    // Blocks are as the emitters made them: nothing to merge or to remove.
    GreedyRewriteConfig config;
    config.setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns), config)))
      return signalPassFailure();
  }
};
} // namespace
