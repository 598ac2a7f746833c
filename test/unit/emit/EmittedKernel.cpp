// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "EmittedKernel.h"

#include "compiler/cpu/Entry.h"
#include "compiler/emit/Lower.h"
#include "mlir/Parser/Parser.h"

using namespace attn;

// Frame: S D | x, 2 strides | f | y, 2 strides | extents of x and y | buffer | scratch, its bytes | context
static constexpr const char *text = R"(
attn.kernel @scale(in "x" %x : !attn.ref<[S, D], f32>, in "f" %f : !attn.ref<[], f32>,
                   out "y" %y : !attn.ref<[S, D], f32>) axes [<S = x.0>, <D = x.1>] facts [<S = D / 2>] {
  %b = attn.buffer : !attn.ref<[S, D], f32>
  %c = attn.constant true : !attn.value<[], i1>
  attn.require %c, "0 < f" : !attn.value<[], i1>
  attn.stage nest #attn.schedule<lanes = 8, vectors = 1, rows = 1, query_tile = 1, key_tile = 1, depth_tile = 1> {
  }
  attn.stage nest #attn.schedule<lanes = 8, vectors = 1, rows = 1, query_tile = 1, key_tile = 1, depth_tile = 1> {
  }
}

func.func private @load(%frame: !llvm.ptr, %slot: i64) -> i64 {
  %p = llvm.getelementptr %frame[%slot] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  %v = llvm.load %p : !llvm.ptr -> i64
  return %v : i64
}
func.func private @scale.require(%frame: !llvm.ptr) -> i32 {
  %slot = arith.constant 5 : i64
  %bits = call @load(%frame, %slot) : (!llvm.ptr, i64) -> i64
  %low = arith.trunci %bits : i64 to i32
  %f = arith.bitcast %low : i32 to f32
  %zero = arith.constant 0.0 : f32
  %bad = arith.cmpf ule, %f, %zero : f32
  %n = arith.extui %bad : i1 to i32
  return %n : i32
}
func.func private @scale.scratch(%frame: !llvm.ptr) -> i64 {
  %bytes = arith.constant 8 : i64
  return %bytes : i64
}
func.func private @scale.stage0.tasks(%frame: !llvm.ptr) -> i64 {
  %slot = arith.constant 0 : i64
  %p = llvm.getelementptr %frame[%slot] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  %n = llvm.load %p invariant : !llvm.ptr -> i64
  return %n : i64
}
func.func private @scale.stage1.tasks(%frame: !llvm.ptr) -> i64 {
  %n = call @scale.stage0.tasks(%frame) : (!llvm.ptr) -> i64
  return %n : i64
}

// One row: buffer = f * x, whole vectors first. The task's number goes through the worker's scratch.
func.func private @scale.stage0(%frame: !llvm.ptr, %task: i64, %worker: i32) {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c2 = arith.constant 2 : i64
  %c3 = arith.constant 3 : i64
  %c4 = arith.constant 4 : i64
  %c5 = arith.constant 5 : i64
  %c8 = arith.constant 8 : i64
  %c13 = arith.constant 13 : i64
  %c14 = arith.constant 14 : i64
  %c15 = arith.constant 15 : i64
  %scratch = call @load(%frame, %c14) : (!llvm.ptr, i64) -> i64
  %each = call @load(%frame, %c15) : (!llvm.ptr, i64) -> i64
  %w = arith.extsi %worker : i32 to i64
  %at = arith.muli %w, %each : i64
  %mine = arith.addi %scratch, %at : i64
  %place = llvm.inttoptr %mine : i64 to !llvm.ptr
  llvm.store %task, %place : i64, !llvm.ptr
  %row = llvm.load %place : !llvm.ptr -> i64

  %d = call @load(%frame, %c1) : (!llvm.ptr, i64) -> i64
  %xa = call @load(%frame, %c2) : (!llvm.ptr, i64) -> i64
  %xs = call @load(%frame, %c3) : (!llvm.ptr, i64) -> i64
  %xt = call @load(%frame, %c4) : (!llvm.ptr, i64) -> i64
  %bits = call @load(%frame, %c5) : (!llvm.ptr, i64) -> i64
  %ba = call @load(%frame, %c13) : (!llvm.ptr, i64) -> i64
  %low = arith.trunci %bits : i64 to i32
  %f = arith.bitcast %low : i32 to f32
  %x = llvm.inttoptr %xa : i64 to !llvm.ptr
  %b = llvm.inttoptr %ba : i64 to !llvm.ptr
  %xo = arith.muli %row, %xs : i64
  %bo = arith.muli %row, %d : i64
  %unit = arith.cmpi eq, %xt, %c1 : i64
  %rest = arith.remui %d, %c8 : i64
  %vectors = arith.subi %d, %rest : i64
  %whole = arith.select %unit, %vectors, %c0 : i64
  %fv = vector.broadcast %f : f32 to vector<8xf32>
  scf.for %i = %c0 to %whole step %c8 : i64 {
    %xi = arith.addi %xo, %i : i64
    %px = llvm.getelementptr %x[%xi] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    %v = llvm.load %px : !llvm.ptr -> vector<8xf32>
    %m = arith.mulf %v, %fv : vector<8xf32>
    %bi = arith.addi %bo, %i : i64
    %pb = llvm.getelementptr %b[%bi] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    llvm.store %m, %pb : vector<8xf32>, !llvm.ptr
  }
  scf.for %i = %whole to %d step %c1 : i64 {
    %it = arith.muli %i, %xt : i64
    %xi = arith.addi %xo, %it : i64
    %px = llvm.getelementptr %x[%xi] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    %v = llvm.load %px : !llvm.ptr -> f32
    %m = arith.mulf %v, %f : f32
    %bi = arith.addi %bo, %i : i64
    %pb = llvm.getelementptr %b[%bi] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    llvm.store %m, %pb : f32, !llvm.ptr
  }
  return
}
func.func private @scale.stage1(%frame: !llvm.ptr, %task: i64, %worker: i32) {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c6 = arith.constant 6 : i64
  %c7 = arith.constant 7 : i64
  %c8 = arith.constant 8 : i64
  %c13 = arith.constant 13 : i64
  %d = call @load(%frame, %c1) : (!llvm.ptr, i64) -> i64
  %ya = call @load(%frame, %c6) : (!llvm.ptr, i64) -> i64
  %ys = call @load(%frame, %c7) : (!llvm.ptr, i64) -> i64
  %yt = call @load(%frame, %c8) : (!llvm.ptr, i64) -> i64
  %ba = call @load(%frame, %c13) : (!llvm.ptr, i64) -> i64
  %y = llvm.inttoptr %ya : i64 to !llvm.ptr
  %b = llvm.inttoptr %ba : i64 to !llvm.ptr
  %yo = arith.muli %task, %ys : i64
  %bo = arith.muli %task, %d : i64
  scf.for %i = %c0 to %d step %c1 : i64 {
    %bi = arith.addi %bo, %i : i64
    %pb = llvm.getelementptr %b[%bi] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    %v = llvm.load %pb : !llvm.ptr -> f32
    %it = arith.muli %i, %yt : i64
    %yi = arith.addi %yo, %it : i64
    %py = llvm.getelementptr %y[%yi] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    llvm.store %v, %py : f32, !llvm.ptr
  }
  return
}
)";

EmittedKernel::EmittedKernel() : EmittedKernel(text) {}

EmittedKernel::EmittedKernel(llvm::StringRef text) {
  mlir::DialectRegistry registry;
  registerLowerToLLVM(registry);
  registry.insert<AttnDialect>();
  context.appendDialectRegistry(registry);
  context.loadAllAvailableDialects();
  module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  if (!module)
    llvm::report_fatal_error("the kernel of this test does not parse");
}

Signature EmittedKernel::signature() { return Signature(*module->getOps<KernelOp>().begin()); }

mlir::OwningOpRef<mlir::ModuleOp> EmittedKernel::lowered() {
  mlir::OwningOpRef<mlir::ModuleOp> copy = module->clone();
  KernelOp kernel = *copy->getOps<KernelOp>().begin();
  if (failed(buildEntry(*copy, FrameLayout(kernel))))
    return {};
  kernel.erase();
  if (failed(lowerToLLVM(*copy)))
    return {};
  return copy;
}

llvm::Expected<Code> EmittedKernel::compile(llvm::ArrayRef<Target> targets) {
  std::vector<mlir::OwningOpRef<mlir::ModuleOp>> modules;
  std::vector<Variant> variants;
  for (const Target &target : targets) {
    modules.push_back(lowered());
    if (!modules.back())
      return llvm::createStringError("the kernel could not be lowered");
    variants.push_back({*modules.back(), target});
  }
  return Code::build(variants);
}
