//===- KernelPlanText.h - plans as text -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A plan travels through the IR as YAML, and is printed as such. It knows no MLIR.
//===----------------------------------------------------------------------===//
#ifndef ATTN_SCHEDULES_KERNELPLANTEXT_H
#define ATTN_SCHEDULES_KERNELPLANTEXT_H

#include "schedules/KernelPlan.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace attn {

std::string printPlan(const StagePlan &plan);
/// An error says what is wrong, and where.
llvm::Expected<StagePlan> parsePlan(llvm::StringRef text);

} // namespace attn

#endif // ATTN_SCHEDULES_KERNELPLANTEXT_H
