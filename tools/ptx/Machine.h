// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A CTA while it runs: its warps, its shared memory, its barriers. What handlers of instructions work on.
#ifndef ATTN_TOOLS_PTX_MACHINE_H
#define ATTN_TOOLS_PTX_MACHINE_H

#include "tools/ptx/Device.h"
#include <random>

namespace attn::ptx {

class Cta;

/// How an access is checked. Begin and Land are the two ends of a `cp.async`.
enum class AccessKind : uint8_t { Load, Store, Atomic, Begin, Land };

/// A place in memory, its space known.
struct Address {
  Space space;
  /// An offset into the window of the space; in global and const an address.
  uint64_t offset;
};

/// A `cp.async` that was issued and not waited for.
struct PendingCopy {
  uint64_t target = 0;
  unsigned bytes = 0, line = 0;
  uint64_t group = 0;
  std::array<uint8_t, 16> data = {};
};

class Warp {
public:
  Warp(Cta &cta, unsigned index);

  /// The lanes of a register.
  uint64_t *row(uint32_t index) { return registers.data() + size_t(index) * kLanes; }
  const uint64_t *row(uint32_t index) const { return registers.data() + size_t(index) * kLanes; }

  /// The address in `instruction`'s first read register, plus its offset.
  uint64_t address(const Instruction &instruction, unsigned lane) const {
    uint64_t base = row(instruction.from[0])[lane];
    return (instruction.narrowAddress ? uint32_t(base) : base) + instruction.offset;
  }

  /// Checks an access by `lane`, keeps book, and gives the bytes; null, after reporting it, where there are none.
  uint8_t *access(const Instruction &instruction, unsigned lane, Address address, unsigned bytes, AccessKind kind);
  /// A generic address as one of a space.
  static Address resolve(Space space, uint64_t address);
  /// Counts what one instruction does in memory; `offsets` are those of the active lanes.
  void count(const Instruction &instruction, uint32_t active, const Address *addresses, unsigned bytes, bool store);

  void commitCopies(unsigned lane) { ++groups[lane]; }
  /// Lands the copies of `lane` but for those of its latest `keep` groups.
  void landCopies(const Instruction &instruction, unsigned lane, uint64_t keep);

  void fault(FaultKind kind, const Instruction &instruction, unsigned lane, const llvm::Twine &text);
  /// Orders what the warp did before what it will do, lane against lane.
  void passBarrier() { ++clock[index]; }

  /// Runs up to `budget` instructions; stops at a barrier or at the end.
  void run(uint64_t budget);
  std::array<unsigned, 3> thread(unsigned lane) const;

  Cta &cta;
  const unsigned index;
  /// Lanes that exist and have not left.
  uint32_t live = 0;
  /// Of add.cc and its like, by lane.
  uint32_t carry = 0;
  /// What of each warp is known to lie before this warp's next access.
  std::array<uint32_t, kLanes> clock = {};
  std::array<std::vector<PendingCopy>, kLanes> copies;
  std::array<uint64_t, kLanes> groups = {};

  enum State { Ready, Waiting, Done } state = Ready;
  /// While waiting: the barrier, the instruction, and its lanes.
  unsigned barrier = 0;
  const Instruction *waitsAt = nullptr;
  uint32_t arrivedLanes = 0;

private:
  struct Frame {
    uint32_t pc, join, mask;
  };
  std::vector<uint64_t> registers;
  llvm::SmallVector<Frame, 8> frames;

  uint32_t guardMask(const Instruction &instruction, uint32_t mask) const;
  void branch(const Instruction &instruction, uint32_t mask, uint32_t taken);
  void leave(uint32_t lanes);
  void reachBarrier(const Instruction &instruction, uint32_t active);
  void checkShared(const Instruction &instruction, unsigned lane, uint64_t offset, unsigned bytes, AccessKind kind);
  void checkGlobal(const Instruction &instruction, unsigned lane, Allocation &memory, uint64_t offset, unsigned bytes,
                   AccessKind kind);
  bool isBefore(const Mark &mark, unsigned lane) const;
  void setMark(Mark &mark, const Instruction &instruction, unsigned lane, bool atomic) const;

  friend class Cta;
};

/// A byte of shared memory.
struct SharedByte {
  Mark write;
  std::array<Mark, 2> reads;
  bool written = false;
  /// It belongs to a variable.
  bool claimed = false;
  /// Copies on their way to it.
  uint8_t inFlight = 0;
};

class Cta {
public:
  Cta(const Program &program, Device &device, const Launch &launch, Report &report, std::vector<LineCount> &lineCounts,
      std::array<unsigned, 3> place, std::mt19937_64 &random);

  /// False when the launch cannot go on.
  bool run();
  /// `warp` arrives at the barrier that `instruction` names, and waits there unless it only arrives.
  void arrive(Warp &warp, const Instruction &instruction, uint32_t active);
  /// Lets those go on whose barrier is complete.
  void release();
  void fault(FaultKind kind, unsigned line, std::array<unsigned, 3> thread, const llvm::Twine &text);
  /// `shared offset 12 in 'tile'`, for messages.
  std::string describe(Address address) const;
  unsigned number() const;

  const Program &program;
  Device &device;
  const Launch &launch;
  Report &report;
  const std::array<unsigned, 3> place;
  std::vector<uint8_t> shared;
  std::vector<SharedByte> sharedNotes;
  /// By warp, lane and offset.
  std::vector<uint8_t> local, localWritten;
  std::vector<Warp> warps;
  /// By instruction, for the whole launch.
  std::vector<LineCount> &lineCounts;
  bool stopped = false;

private:
  struct Barrier {
    unsigned arrived = 0;
    /// Threads it waits for; 0 for all.
    unsigned expected = 0;
    /// What lies before the barrier, of all who came.
    std::array<uint32_t, kLanes> clock = {};
    /// Threads whose predicate held, for bar.red.
    unsigned held = 0;
  };
  std::array<Barrier, 16> barriers;

  unsigned liveThreads() const;
  void complete(unsigned number);
  void reportDeadlock();
  std::mt19937_64 &random;

  friend class Warp;
};

/// Calls `f` with each lane of `active`.
template <typename F>
inline void eachLane(uint32_t active, F f) {
  if (active == kAllLanes) {
    for (unsigned lane = 0; lane < kLanes; ++lane)
      f(lane);
    return;
  }
  for (; active; active &= active - 1)
    f(unsigned(__builtin_ctz(active)));
}

} // namespace attn::ptx

#endif
