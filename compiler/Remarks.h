//===- Remarks.h - what became of a program, and why ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One style for what passes tell users: `WHAT: WHY; ADVICE`, at the place in the spec. A missed remark is about
// something that is slower than it could be; a done one about what was put together. `--remarks` chooses by kind.
//===----------------------------------------------------------------------===//
#ifndef ATTN_COMPILER_REMARKS_H
#define ATTN_COMPILER_REMARKS_H

#include "mlir/IR/Diagnostics.h"

namespace attn {

/// What `--remarks` shows.
enum class Remarks { None, Missed, All };

/// Remarks of what was done bear this beside their text.
inline constexpr llvm::StringLiteral doneRemark = "done";

/// `what` did not come about, `why`, and what to write instead (empty: nothing can be done in the spec).
inline void remarkMissed(mlir::Location loc, const llvm::Twine &what, const llvm::Twine &why,
                         const llvm::Twine &advice = "") {
  auto remark = mlir::emitRemark(loc) << what << ": " << why;
  if (!advice.isTriviallyEmpty())
    remark << "; " << advice;
}

inline void remarkDone(mlir::Location loc, const llvm::Twine &what) {
  auto remark = mlir::emitRemark(loc, what);
  remark.getUnderlyingDiagnostic()->getMetadata().push_back(mlir::DiagnosticArgument(llvm::StringRef(doneRemark)));
}

inline bool isShown(mlir::Diagnostic &remark, Remarks wanted) {
  return wanted == Remarks::All || (wanted == Remarks::Missed && remark.getMetadata().empty());
}

} // namespace attn

#endif // ATTN_COMPILER_REMARKS_H
