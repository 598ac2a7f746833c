// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a launch found and counted.
#ifndef ATTN_TOOLS_PTX_REPORT_H
#define ATTN_TOOLS_PTX_REPORT_H

#include "tools/ptx/Program.h"
#include "llvm/Support/JSON.h"
#include <map>

namespace llvm {
class raw_ostream;
}

namespace attn::ptx {

/// A fault of the kernel.
enum class FaultKind : uint8_t {
  OutOfBounds,
  Misaligned,
  ReadOnly,
  Uninitialised,
  Race,
  InFlight,
  DivergentBarrier,
  Deadlock,
  Exchange,
  Trap,
  NoProgress,
};
/// As it is printed, such as `out-of-bounds`.
llvm::StringRef faultName(FaultKind kind);

/// Faults of one kind at one line are one fault, described where it happened first.
struct Fault {
  FaultKind kind;
  unsigned line = 0;
  std::array<unsigned, 3> cta = {0, 0, 0}, thread = {0, 0, 0};
  std::string text;
  uint64_t times = 1;
};

/// Accesses by warps to one memory.
struct Traffic {
  uint64_t loads = 0, stores = 0;
  uint64_t loadedBytes = 0, storedBytes = 0;
  /// Global: sectors of 32 bytes that the warps' accesses touch, each access by itself.
  /// Shared: passes over the banks.
  uint64_t units = 0;
  /// Shared: passes beyond those that the bytes need.
  uint64_t conflicts = 0;
};

/// What one line of PTX did.
struct LineCount {
  uint64_t executed = 0;
  uint64_t conflicts = 0;
};

struct Counters {
  /// Instructions that warps executed, by class.
  std::array<uint64_t, kClasses> byClass = {};
  uint64_t warpInstructions = 0;
  /// The same times active lanes.
  uint64_t laneInstructions = 0;
  uint64_t divergentBranches = 0;
  Traffic global, shared, local, constant;
  /// Multiply-adds of matrix instructions.
  uint64_t matrixProducts = 0;
  std::map<unsigned, LineCount> lines;
};

struct Report {
  std::vector<Fault> faults;
  /// Kinds and lines beyond the limit.
  uint64_t unlisted = 0;
  Counters counters;

  bool clean() const { return faults.empty(); }
  bool has(FaultKind kind) const;
  /// One line each: `12: race: …`.
  void print(llvm::raw_ostream &out) const;
  llvm::json::Value toJson() const;
};

} // namespace attn::ptx

#endif
