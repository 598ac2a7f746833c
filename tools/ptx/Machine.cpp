// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// CTAs one after another, their warps in turn. A barrier counts threads; those that have left count no more, as on
// hardware.
#include "tools/ptx/Machine.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>

namespace attn::ptx {

Cta::Cta(const Program &program, Device &device, const Launch &launch, Report &report,
         std::vector<LineCount> &lineCounts, std::array<unsigned, 3> place, std::mt19937_64 &random)
    : program(program), device(device), launch(launch), report(report), place(place), lineCounts(lineCounts),
      random(random) {
  shared.assign(launch.dynamicShared ? program.dynamicBase() + launch.dynamicShared : program.sharedWindow, 0xff);
  sharedNotes.resize(shared.size());
  auto claim = [&](uint64_t first, uint64_t bytes) {
    for (uint64_t i = first; i < first + bytes; ++i)
      sharedNotes[i].claimed = true;
  };
  for (const Placed &placed : program.shared)
    claim(placed.address, placed.variable->bytes());
  claim(program.dynamicBase(), launch.dynamicShared);
  unsigned threads = launch.block[0] * launch.block[1] * launch.block[2];
  unsigned count = llvm::divideCeil(threads, kLanes);
  local.assign(count * kLanes * program.localBytes, 0xff);
  localWritten.resize(local.size());
  warps.reserve(count);
  for (unsigned i = 0; i < count; ++i)
    warps.emplace_back(*this, i);
}

unsigned Cta::number() const { return place[0] + launch.grid[0] * (place[1] + launch.grid[1] * place[2]); }

bool Cta::run() {
  llvm::SmallVector<Warp *> order;
  for (Warp &warp : warps)
    order.push_back(&warp);
  while (!stopped) {
    if (launch.seed)
      std::shuffle(order.begin(), order.end(), random);
    bool ran = false, done = true;
    for (Warp *warp : order) {
      if (warp->state == Warp::Ready && !stopped) {
        warp->run(launch.seed ? 1 + random() % 48 : UINT64_MAX);
        ran = true;
      }
      done &= warp->state == Warp::Done;
    }
    if (done)
      return true;
    if (!ran && !stopped) {
      reportDeadlock();
      return false;
    }
  }
  return false;
}

unsigned Cta::liveThreads() const {
  unsigned threads = 0;
  for (const Warp &warp : warps)
    threads += llvm::popcount(warp.live);
  return threads;
}

void Cta::arrive(Warp &warp, const Instruction &instruction, uint32_t active) {
  unsigned lane = __builtin_ctz(active);
  unsigned number = warp.row(instruction.from[0])[lane] & 15;
  Barrier &barrier = barriers[number];
  // Where a count of threads is given, a warp counts in full.
  bool counted = instruction.count > 1;
  barrier.arrived += counted ? kLanes : llvm::popcount(active);
  barrier.expected = counted ? uint32_t(warp.row(instruction.from[1])[lane]) : 0;
  for (unsigned i = 0; i < kLanes; ++i)
    barrier.clock[i] = std::max(barrier.clock[i], warp.clock[i]);
  if (BarrierKind(instruction.detail) >= BarrierKind::CountTrue)
    eachLane(active, [&](unsigned lane) {
      barrier.held += (warp.row(instruction.from[instruction.count])[lane] & 1) != instruction.negated;
    });
  warp.passBarrier();
  if (BarrierKind(instruction.detail) != BarrierKind::Arrive) {
    warp.state = Warp::Waiting;
    warp.barrier = number;
    warp.waitsAt = &instruction;
    warp.arrivedLanes = active;
  }
  release();
}

void Cta::release() {
  for (unsigned number = 0; number < barriers.size(); ++number) {
    const Barrier &barrier = barriers[number];
    if (barrier.arrived && barrier.arrived >= (barrier.expected ? barrier.expected : liveThreads()))
      complete(number);
  }
}

void Cta::complete(unsigned number) {
  Barrier barrier = barriers[number];
  barriers[number] = Barrier();
  for (Warp &warp : warps) {
    if (warp.state != Warp::Waiting || warp.barrier != number)
      continue;
    warp.state = Warp::Ready;
    for (unsigned i = 0; i < kLanes; ++i)
      if (i != warp.index)
        warp.clock[i] = std::max(warp.clock[i], barrier.clock[i]);
    uint64_t result = barrier.held;
    BarrierKind kind = BarrierKind(warp.waitsAt->detail);
    if (kind == BarrierKind::AllTrue)
      result = barrier.held == barrier.arrived;
    else if (kind == BarrierKind::AnyTrue)
      result = barrier.held != 0;
    if (kind >= BarrierKind::CountTrue)
      eachLane(warp.arrivedLanes, [&](unsigned lane) { warp.row(warp.waitsAt->to[0])[lane] = result; });
  }
}

void Cta::reportDeadlock() {
  for (const Warp &warp : warps)
    if (warp.state == Warp::Waiting) {
      const Barrier &barrier = barriers[warp.barrier];
      unsigned expected = barrier.expected ? barrier.expected : liveThreads();
      fault(FaultKind::Deadlock, warp.waitsAt->line, warp.thread(__builtin_ctz(warp.arrivedLanes)),
            "barrier " + llvm::Twine(warp.barrier) + " is never complete: " + llvm::Twine(barrier.arrived) + " of " +
                llvm::Twine(expected) + " threads are there");
    }
}

void Cta::fault(FaultKind kind, unsigned line, std::array<unsigned, 3> thread, const llvm::Twine &text) {
  for (Fault &fault : report.faults)
    if (fault.kind == kind && fault.line == line) {
      ++fault.times;
      return;
    }
  if (report.faults.size() >= launch.faultLimit) {
    ++report.unlisted;
    return;
  }
  report.faults.push_back({kind, line, place, thread, text.str(), 1});
}

llvm::Expected<Report> launch(const Program &program, Device &device, const Launch &launch) {
  uint64_t threads = uint64_t(launch.block[0]) * launch.block[1] * launch.block[2];
  uint64_t ctas = uint64_t(launch.grid[0]) * launch.grid[1] * launch.grid[2];
  auto fail = [&](const llvm::Twine &why) {
    return llvm::createStringError("'" + program.entry->name + "' cannot be launched: " + why);
  };
  if (threads == 0 || threads > 1024)
    return fail("a block has " + llvm::Twine(threads) + " threads, 1 to 1024 are possible");
  if (ctas >= uint64_t(1) << 31)
    return fail("the grid is too large");
  if (launch.parameters.size() != program.parameterBytes)
    return fail(llvm::Twine(launch.parameters.size()) + " bytes of parameters were given, it takes " +
                llvm::Twine(program.parameterBytes));
  if (program.entry->requiredThreads[0] && program.entry->requiredThreads != launch.block)
    return fail("the block is not that of its .reqntid");
  if (program.entry->maxThreads && threads > program.entry->maxThreads)
    return fail("a block of " + llvm::Twine(threads) + " threads is above its .maxntid of " +
                llvm::Twine(program.entry->maxThreads));
  if (program.sharedBytes + launch.dynamicShared > 227 * 1024)
    return fail("it takes " + llvm::Twine(program.sharedBytes + launch.dynamicShared) +
                " bytes of shared memory, no GPU has more than 232448");
  if (llvm::Error error = device.load(program))
    return std::move(error);
  device.forgetWrites();

  Report report;
  std::vector<LineCount> counts(program.code.size());
  std::mt19937_64 random(launch.seed);
  std::vector<uint64_t> order(ctas);
  for (uint64_t i = 0; i < ctas; ++i)
    order[i] = i;
  if (launch.seed)
    std::shuffle(order.begin(), order.end(), random);
  for (uint64_t i : order) {
    std::array<unsigned, 3> place = {unsigned(i % launch.grid[0]), unsigned(i / launch.grid[0] % launch.grid[1]),
                                     unsigned(i / launch.grid[0] / launch.grid[1])};
    if (!Cta(program, device, launch, report, counts, place, random).run())
      break;
  }
  for (size_t i = 0; i < counts.size(); ++i)
    if (counts[i].executed) {
      LineCount &line = report.counters.lines[program.code[i].line];
      line.executed += counts[i].executed;
      line.conflicts += counts[i].conflicts;
    }
  return report;
}

} // namespace attn::ptx
