// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Global memory: allocations far apart, each byte with a note whether it was ever written.
#ifndef ATTN_TOOLS_PTX_DEVICE_H
#define ATTN_TOOLS_PTX_DEVICE_H

#include "tools/ptx/Report.h"
#include "llvm/ADT/ArrayRef.h"

namespace attn::ptx {

/// Who touched a byte of memory last, and when: `clock` counts what orders the accesses of a warp; 0 is nobody.
struct Mark {
  uint32_t clock = 0;
  uint32_t line : 21, atomic : 1, warp : 5, lane : 5;
  Mark() : line(0), atomic(0), warp(0), lane(0) {}
};

struct Allocation {
  std::string name;
  uint64_t address = 0;
  bool readOnly = false;
  std::vector<uint8_t> bytes;
  /// 1 for a byte that was written.
  std::vector<uint8_t> written;

  /// The last write of each byte in this launch, and its CTA; empty before the first.
  struct Write {
    Mark mark;
    uint32_t cta = 0;
  };
  std::vector<Write> writes;
};

class Device {
public:
  /// Memory that is not initialised, aligned to 256. Its bytes are 0xff, so that floats in it are NaN.
  uint64_t allocate(llvm::StringRef name, uint64_t bytes, bool readOnly = false);
  uint64_t allocate(llvm::StringRef name, llvm::ArrayRef<uint8_t> contents, bool readOnly = false);
  /// Takes memory back; touching it is out of bounds then.
  void release(uint64_t address);
  /// What `allocate` gave an address to.
  llvm::ArrayRef<uint8_t> read(uint64_t address) const;

  /// The allocation that has `address`, or the last one before it; null when there is none.
  Allocation *find(uint64_t address);
  /// Puts the module's variables where the program expects them, unless they are there from an earlier launch.
  llvm::Error load(const Program &program);
  /// Forgets who wrote what.
  void forgetWrites();

private:
  std::map<uint64_t, Allocation> allocations;
  Allocation *latest = nullptr;
  uint64_t top = kGlobalBase;

  Allocation &add(llvm::StringRef name, uint64_t address, uint64_t bytes);
};

/// How a kernel is started.
struct Launch {
  std::array<unsigned, 3> grid = {1, 1, 1}, block = {1, 1, 1};
  uint64_t dynamicShared = 0;
  /// The kernel's parameters, laid out as C would: at their alignment. `setParameter` fills them in.
  std::vector<uint8_t> parameters;
  /// 0 runs the warps in turn, each as far as it comes; another number gives another order, finely interleaved.
  uint64_t seed = 0;
  /// Kinds and lines of faults that are described.
  unsigned faultLimit = 20;
  /// Instructions of warps before the launch is given up.
  uint64_t instructionLimit = 4'000'000'000;

  /// Sets parameter `index`; false when it isn't there or has another size.
  bool setParameter(const Program &program, unsigned index, llvm::ArrayRef<uint8_t> value);
};

/// Runs a kernel. An error is a launch that cannot begin; what the kernel does wrong is in the report.
llvm::Expected<Report> launch(const Program &program, Device &device, const Launch &launch);

} // namespace attn::ptx

#endif
