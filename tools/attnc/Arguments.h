//===- Arguments.h - values for a program's arguments -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Inputs from files, from the command line, or made up; results back into files.
//===----------------------------------------------------------------------===//
#ifndef ATTN_TOOLS_ATTNC_ARGUMENTS_H
#define ATTN_TOOLS_ATTNC_ARGUMENTS_H

#include "dialects/reference/Result.h"
#include "tools/attnc/Shapes.h"

namespace attnc {

/// Whether --in was given.
bool hasGivenInputs();
/// What --set says.
llvm::Expected<std::vector<std::pair<std::string, int64_t>>> chosenExtents();
uint64_t chosenSeed();

/// What --in gives.
llvm::Expected<attn::reference::Buffers> givenInputs(const attn::Signature &signature);
/// Inputs from --in, the rest from --set, --random and --seed.
llvm::Expected<attn::reference::Buffers> gatherInputs(const attn::Signature &signature);

/// Halvings after which all integers are small enough for any requirement that small ones meet.
constexpr unsigned lastShrink = 12;

/// Made-up inputs for all arguments but results. Integers stay below 1/2^shrink of what their use allows, so that a
/// caller whose program requires more than the use tells can try again with smaller ones.
/// They are `least` or more, where that is allowed.
llvm::Expected<attn::reference::Buffers> makeInputs(const attn::Signature &signature, const Extents &extents,
                                                    const attn::reference::InputCase &inputCase, uint64_t seed,
                                                    unsigned shrink = 0, int64_t least = 0);

struct AcceptedInputs {
  attn::reference::Buffers inputs;
  attn::reference::Results expected;
};
/// Made-up inputs that the interpreter accepts, and what it makes of them; or why it accepts none.
llvm::Expected<AcceptedInputs> makeAcceptedInputs(const attn::Signature &signature, const Extents &extents,
                                                  const attn::reference::InputCase &inputCase, uint64_t seed);

/// Writes each as NAME.npy into --out, and says so.
llvm::Error writeResults(const attn::reference::Buffers &results);

/// The programs (or kernels) of a module, in order.
llvm::SmallVector<attn::Signature> programsOf(mlir::ModuleOp module);
/// The only program of a module, or the one that --kernel names.
llvm::Expected<attn::Signature> onlyProgram(mlir::ModuleOp module);

/// `-D W=4096 --set ...` as a user would write them again.
std::string extentsText(const attn::Signature &signature, const Extents &extents);

} // namespace attnc

#endif // ATTN_TOOLS_ATTNC_ARGUMENTS_H
