//===- attn-opt.cpp - the tool for work on passes ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// mlir-opt with our dialect and passes beside all of MLIR's.
//===----------------------------------------------------------------------===//
#include "compiler/Pipelines.h"
#include "dialects/attn/Attn.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::registerAllPasses();
  attn::registerAttnPasses();
  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  registry.insert<attn::AttnDialect>();
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "attnc's pass driver\n", registry));
}
