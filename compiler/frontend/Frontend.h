//===- Frontend.h - from the text of a spec to programs ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The public entry of the frontend. Diagnostics are printed through the SourceMgr.
//===----------------------------------------------------------------------===//
#ifndef ATTN_COMPILER_FRONTEND_FRONTEND_H
#define ATTN_COMPILER_FRONTEND_FRONTEND_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/SourceMgr.h"
#include <map>
#include <optional>
#include <string>

namespace attn {

struct FrontendOptions {
  /// Extents that are fixed when compiling: `-D W=4096`.
  std::map<std::string, int64_t> fixedExtents;
  /// The only attention wanted; empty: all of the file. Every one is checked all the same.
  std::string kernel;
  /// Where an import is looked for when it is not beside the file that imports it, in order.
  std::vector<std::string> importFolders;
};

/// Reads the main buffer of `sources`, adds a buffer for each file that is imported, and gives one `attn.program` per attention. Null after
/// errors, which have been printed; warnings are printed and do not stop it.
mlir::OwningOpRef<mlir::ModuleOp> parseSpec(llvm::SourceMgr &sources, mlir::MLIRContext *context,
                                            const FrontendOptions &options = {});

/// The same programs as a NumPy module, as `Numpy.h` describes it. Nothing after errors.
std::optional<std::string> printSpecAsNumpy(llvm::SourceMgr &sources, const FrontendOptions &options = {});

} // namespace attn

#endif // ATTN_COMPILER_FRONTEND_FRONTEND_H
