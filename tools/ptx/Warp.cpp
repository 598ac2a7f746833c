// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A warp in lockstep. Lanes that go different ways are run one way after the other up to the branch's immediate
// post-dominator; a stack of frames says who waits where.
#include "tools/ptx/Machine.h"
#include "llvm/Support/MathExtras.h"

namespace attn::ptx {

Warp::Warp(Cta &cta, unsigned index) : cta(cta), index(index) {
  const Launch &launch = cta.launch;
  const auto &block = launch.block;
  unsigned threads = block[0] * block[1] * block[2], first = index * kLanes;
  live = threads - first >= kLanes ? kAllLanes : (1u << (threads - first)) - 1;
  clock[index] = 1;
  registers.resize(size_t(cta.program.registers) * kLanes);
  for (const HiddenRegister &hidden : cta.program.hidden)
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      std::array<unsigned, 3> at = thread(lane);
      auto value = [&]() -> uint64_t {
        unsigned kind = unsigned(hidden.special);
        if (hidden.special <= Special::TidZ)
          return at[kind];
        if (hidden.special <= Special::NtidZ)
          return block[kind - unsigned(Special::NtidX)];
        if (hidden.special <= Special::CtaidZ)
          return cta.place[kind - unsigned(Special::CtaidX)];
        if (hidden.special <= Special::NctaidZ)
          return launch.grid[kind - unsigned(Special::NctaidX)];
        uint32_t bit = 1u << lane;
        switch (hidden.special) {
        case Special::Lane:
          return lane;
        case Special::Warp:
          return index;
        case Special::Warps:
          return llvm::divideCeil(threads, kLanes);
        case Special::WarpSize:
          return kLanes;
        case Special::Lanemask:
          return bit;
        case Special::LanemaskLt:
          return bit - 1;
        case Special::LanemaskLe:
          return bit | (bit - 1);
        case Special::LanemaskGt:
          return ~(bit | (bit - 1));
        case Special::LanemaskGe:
          return ~(bit - 1);
        case Special::DynamicShared:
          return launch.dynamicShared;
        case Special::TotalShared:
          return cta.program.sharedBytes + launch.dynamicShared;
        case Special::DynamicBase:
          return cta.program.dynamicBase();
        default:
          return hidden.value;
        }
      };
      row(hidden.index)[lane] = value();
    }
  frames.push_back({0, uint32_t(cta.program.code.size()), live});
}

std::array<unsigned, 3> Warp::thread(unsigned lane) const {
  const auto &block = cta.launch.block;
  unsigned linear = index * kLanes + lane;
  return {linear % block[0], linear / block[0] % block[1], linear / block[0] / block[1]};
}

void Warp::fault(FaultKind kind, const Instruction &instruction, unsigned lane, const llvm::Twine &text) {
  cta.fault(kind, instruction.line, thread(lane), text);
}

uint32_t Warp::guardMask(const Instruction &instruction, uint32_t mask) const {
  const uint64_t *guard = row(instruction.guard);
  uint32_t taken = 0;
  for (unsigned lane = 0; lane < kLanes; ++lane)
    taken |= uint32_t(guard[lane] & 1) << lane;
  return mask & (instruction.guardNegated ? ~taken : taken);
}

void Warp::run(uint64_t budget) {
  const std::vector<Instruction> &code = cta.program.code;
  Counters &counters = cta.report.counters;
  while (budget && state == Ready && !cta.stopped) {
    if (frames.empty()) {
      state = Done;
      cta.release();
      return;
    }
    Frame &frame = frames.back();
    if (!frame.mask || (frame.pc == frame.join && frames.size() > 1) || frame.pc >= code.size()) {
      frames.pop_back();
      continue;
    }
    const Instruction &instruction = code[frame.pc];
    uint32_t active = instruction.guarded ? guardMask(instruction, frame.mask) : frame.mask;
    --budget;
    ++counters.warpInstructions;
    ++counters.byClass[unsigned(instruction.kind)];
    counters.laneInstructions += llvm::popcount(active);
    ++cta.lineCounts[frame.pc].executed;
    if (counters.warpInstructions > cta.launch.instructionLimit) {
      fault(FaultKind::NoProgress, instruction, __builtin_ctz(frame.mask),
            "given up after " + llvm::Twine(cta.launch.instructionLimit) + " instructions");
      cta.stopped = true;
      return;
    }
    switch (instruction.flow) {
    case Flow::Next:
      ++frame.pc;
      if (active)
        instruction.run(*this, instruction, active);
      break;
    case Flow::Branch:
      branch(instruction, frame.mask, active);
      break;
    case Flow::Exit:
      ++frame.pc;
      leave(active);
      break;
    case Flow::Barrier:
      ++frame.pc;
      if (active)
        reachBarrier(instruction, active);
      break;
    case Flow::Trap:
      ++frame.pc;
      if (active) {
        fault(FaultKind::Trap, instruction, __builtin_ctz(active), "the kernel traps");
        cta.stopped = true;
      }
    }
  }
}

void Warp::branch(const Instruction &instruction, uint32_t mask, uint32_t taken) {
  Frame &frame = frames.back();
  uint32_t next = frame.pc + 1;
  if (taken == mask || taken == 0) {
    frame.pc = taken ? instruction.target : next;
    return;
  }
  ++cta.report.counters.divergentBranches;
  // Lanes that are on their way out go first, and through a common `ret` at once: others may wait for all that are
  // left.
  const std::vector<Instruction> &code = cta.program.code;
  bool nextMeets = code[next].meets, targetMeets = code[instruction.target].meets;
  uint32_t join = instruction.join;
  if (nextMeets != targetMeets && join < code.size() && code[join].flow == Flow::Exit && !code[join].guarded)
    join = code.size();
  frame.pc = join;
  Frame ways[] = {{next, join, mask & ~taken}, {instruction.target, join, taken}};
  if (targetMeets && !nextMeets)
    std::swap(ways[0], ways[1]);
  // A way that begins where all meet has nothing to run.
  for (const Frame &way : ways)
    if (way.pc != join)
      frames.push_back(way);
}

void Warp::leave(uint32_t lanes) {
  live &= ~lanes;
  for (Frame &frame : frames)
    frame.mask &= ~lanes;
}

void Warp::reachBarrier(const Instruction &instruction, uint32_t active) {
  if (BarrierKind(instruction.detail) == BarrierKind::Warp) {
    uint32_t members = uint32_t(row(instruction.from[0])[__builtin_ctz(active)]) & live;
    if (members & ~active)
      fault(FaultKind::DivergentBarrier, instruction, __builtin_ctz(members & ~active),
            "bar.warp.sync waits for this lane, which goes another way");
    passBarrier();
    return;
  }
  if (active != live)
    fault(FaultKind::DivergentBarrier, instruction, __builtin_ctz(live & ~active),
          "this thread does not come to the barrier with the others of its warp");
  cta.arrive(*this, instruction, active);
}

} // namespace attn::ptx
