//===- CpuEntry.cpp - stages on this processor ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A stage is known only as functions of these names, which the module holds already:
//   NAME.stageN(frame, task, worker)  one task of stage N, counted from 0
//   NAME.stageN.tasks(frame) -> i64   how many there are
//   NAME.stageN.finish, and its tasks  what begins when all tasks of the stage have ended; absent: nothing
//   NAME.stageN.device(frame, 0, 0) -> i32  in their place: a call that gives a status, 0 where it did all
//   NAME.scratch(frame) -> i64        bytes of scratch per worker; absent: none
//   NAME.shared(frame) -> i64         bytes of scratch that the workers share; absent: none
//   NAME.require(frame) -> i32        the number, from 1, of the first attn.require that fails, or 0; absent: none
//===----------------------------------------------------------------------===//
#include "attn/runtime.h"
#include "compiler/cpu/Entry.h"
#include "compiler/cpu/Ragged.h"
#include "compiler/cpu/Workspace.h"

using namespace mlir;
using namespace attn;

namespace {
class CpuEntry : public EntryBuilder {
public:
  using EntryBuilder::EntryBuilder;

private:
  int64_t deviceType() const override { return kDLCPU; }

  LogicalResult prepare(Tables &tables) override {
    Tables::Words texts;
    for (RequireOp op : layout.getKernel().getBody().getOps<RequireOp>()) {
      if (!find(".require"))
        return op.emitOpError("has no code");
      texts.push_back(tables.text(op.getMessage()));
    }
    requirements = tables.table(texts, "requirements");
    texts.clear();
    for (const std::string &condition : raggedConditions(layout))
      texts.push_back(tables.text(condition));
    lengths = tables.table(texts, "lengths");
    for (StageOp stage : layout.getKernel().getBody().getOps<StageOp>()) {
      std::string symbol = (".stage" + llvm::Twine(stages++)).str();
      bool isCall = bool(find(symbol + ".device"));
      hasDevice |= isCall;
      if (!isCall && (!find(symbol) || !find(symbol + ".tasks")))
        return stage.emitOpError("has no code");
    }
    if (find(".fits"))
      limits = tables.table({tables.text(hasDevice ? onDevice : onProcessor)}, "limits");
    return success();
  }

  Value workers() override {
    Value workers = call(runtime("attn_workers", {pointer}, i32), {context});
    return arith::ExtSIOp::create(b, loc, i64, workers);
  }

  /// `suffix` names the function that gives the number of a text.
  Value require(StringRef suffix, FlatSymbolRefAttr texts, llvm::function_ref<Value()> then) {
    func::FuncOp check = findDirect(suffix);
    if (!check)
      return then();
    Value failing = call(check, {frame});
    return branch(isZero(failing), then, [&] {
      Value index = arith::SubIOp::create(b, loc, arith::ExtSIOp::create(b, loc, i64, failing), number(1, i64));
      Value place = LLVM::GEPOp::create(b, loc, pointer, pointer, addressOf(texts), ArrayRef<LLVM::GEPArg>{index});
      Value text = LLVM::LoadOp::create(b, loc, pointer, place);
      return call(runtime("attn_refuse", {pointer, pointer, pointer}, i32), {addressOf(descriptor), context, text});
    });
  }

  Value checkLengths(llvm::function_ref<Value()> then) override { return require(".ragged", lengths, then); }
  Value checkRequirements(llvm::function_ref<Value()> then) override { return require(".require", requirements, then); }
  Value checkLimits(llvm::function_ref<Value()> then) override { return require(".fits", limits, then); }

  /// The stages from this one on, as far as none fails.
  Value runFrom(unsigned stage) {
    if (stage == stages)
      return number(0, i32);
    std::string symbol = (".stage" + llvm::Twine(stage)).str();
    if (func::FuncOp onDevice = find(symbol + ".device")) {
      Value status = call(onDevice, {frame, number(0, i64), number(0, i32)});
      return whenOk(status, [&] { return runFrom(stage + 1); });
    }
    runTasks(symbol);
    if (find(symbol + ".finish"))
      runTasks(symbol + ".finish");
    return runFrom(stage + 1);
  }

  void runTasks(const std::string &symbol) {
    func::FuncOp body = find(symbol), tasks = findDirect(symbol + ".tasks");
    Value address = func::ConstantOp::create(b, loc, body.getFunctionType(), FlatSymbolRefAttr::get(body));
    address = UnrealizedConversionCastOp::create(b, loc, pointer, address).getResult(0);
    Value count = call(tasks, {frame});
    call(runtime("attn_run", {pointer, i64, pointer, pointer}, {}), {context, count, address, frame});
  }

  /// A device that is not there is noticed before anything is written.
  Value runStages() override {
    if (!hasDevice)
      return reserveAndRun();
    Value status = call(runtime("attn_device_start", {pointer}, i32), {context});
    return whenOk(status, [&] { return reserveAndRun(); });
  }

  Value reserveAndRun() {
    func::FuncOp reserve = runtime("attn_reserve", {pointer, i64, i64, pointer, pointer}, i32);
    Value status = call(reserve, {context, workspaceBytes(), number(workspaceAlignment, i64), memoryPlace, ownedPlace});
    return whenOk(status, [&] {
      Value memory = LLVM::LoadOp::create(b, loc, pointer, memoryPlace);
      placeBuffers(memory);
      Value status = runFrom(0);
      Value owned = LLVM::LoadOp::create(b, loc, i32, ownedPlace);
      call(runtime("attn_release", {pointer, pointer, i32}, {}), {context, memory, owned});
      return status;
    });
  }

  FlatSymbolRefAttr requirements, lengths, limits;
  unsigned stages = 0;
  /// Some stage is a call.
  bool hasDevice = false;

  static constexpr llvm::StringLiteral onProcessor = "at most 2^27 elements along an axis, and strides and tiles within "
                                                     "2^31: Halide counts in 32 bits (--route=mlir takes any)";
  static constexpr llvm::StringLiteral onDevice = "at most 2^27 elements along an axis, and tensors, and what is kept of "
                                                  "all queries, within 2^31: Halide counts in 32 bits";
};
} // namespace

LogicalResult attn::buildEntry(ModuleOp module, const FrameLayout &layout) { return CpuEntry(module, layout).build(); }
