// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every access is checked here: bounds, alignment, whether the bytes were written, whether another thread may touch
// them at the same time. Two accesses are ordered when they are one thread's, or when barriers lie between them.
//
// A byte remembers its last write and two readers. That finds each race between two barriers of the whole CTA; where
// named barriers order only some warps, a read may be forgotten. Of global memory only writes are remembered.
#include "tools/ptx/Machine.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

namespace attn::ptx {

Address Warp::resolve(Space space, uint64_t address) {
  if (space != Space::Generic)
    return {space, address};
  for (auto [window, inside] : {std::pair(kSharedWindow, Space::Shared), std::pair(kLocalWindow, Space::Local),
                                std::pair(kParamWindow, Space::Param)})
    if (address >= window && address - window < kWindowBytes)
      return {inside, address - window};
  return {Space::Global, address};
}

bool Warp::isBefore(const Mark &mark, unsigned lane) const {
  if (mark.clock == 0)
    return true;
  if (mark.warp == index)
    return mark.lane == lane || mark.clock < clock[index];
  return mark.clock <= clock[mark.warp];
}

void Warp::setMark(Mark &mark, const Instruction &instruction, unsigned lane, bool atomic) const {
  mark.clock = clock[index];
  mark.line = instruction.line;
  mark.atomic = atomic;
  mark.warp = index;
  mark.lane = lane;
}

namespace {
std::string threadText(std::array<unsigned, 3> thread) {
  return llvm::formatv("({0}, {1}, {2})", thread[0], thread[1], thread[2]);
}
} // namespace

std::string Cta::describe(Address address) const {
  auto within = [&](const std::vector<Placed> &variables) -> std::string {
    // Behind an end it is still the variable that it was meant for.
    for (const Placed &placed : variables)
      if (address.offset >= placed.address &&
          address.offset - placed.address < placed.variable->bytes() + kSharedGap / 2)
        return llvm::formatv("{0}+{1}", placed.variable->name, address.offset - placed.address);
    return llvm::formatv("{0:x}", address.offset);
  };
  switch (address.space) {
  case Space::Shared:
    if (launch.dynamicShared && address.offset >= program.dynamicBase() && address.offset < shared.size())
      return llvm::formatv("shared dynamic+{0}", address.offset - program.dynamicBase());
    return "shared " + within(program.shared);
  case Space::Local:
    return "local " + within(program.local);
  case Space::Param:
    return "param " + within(program.parameters);
  default:
    if (const Allocation *memory = device.find(address.offset))
      return llvm::formatv("global {0}+{1}", memory->name, address.offset - memory->address);
    return llvm::formatv("global {0:x}", address.offset);
  }
}

void Warp::checkShared(const Instruction &instruction, unsigned lane, uint64_t offset, unsigned bytes,
                       AccessKind kind) {
  bool writes = kind != AccessKind::Load, atomic = kind == AccessKind::Atomic;
  // A copy that lands was checked when it began; from here on it is a write of its thread.
  bool landing = kind == AccessKind::Land;
  auto race = [&](const Mark &other, llvm::StringRef did, uint64_t at) {
    fault(FaultKind::Race, instruction, lane,
          (writes ? "writes " : "reads ") + cta.describe({Space::Shared, at}) + ", which thread " +
              threadText(cta.warps[other.warp].thread(other.lane)) + " " + did + " at line " +
              llvm::Twine(unsigned(other.line)) + " with no barrier between");
  };
  for (uint64_t at = offset; at < offset + bytes; ++at) {
    SharedByte &note = cta.sharedNotes[at];
    if (landing) {
      --note.inFlight;
    } else if (note.inFlight) {
      fault(FaultKind::InFlight, instruction, lane,
            (writes ? "writes " : "reads ") + cta.describe({Space::Shared, at}) +
                ", to which an asynchronous copy is on its way");
    } else if (!isBefore(note.write, lane) && !(atomic && note.write.atomic)) {
      race(note.write, "wrote", at);
    }
    if (!landing && (kind == AccessKind::Load || atomic) && !note.written && !note.inFlight)
      fault(FaultKind::Uninitialised, instruction, lane,
            "reads " + cta.describe({Space::Shared, at}) + ", which nothing has written");
    if (!writes) {
      // Two different readers are kept; one that is ordered before this read gives way.
      Mark &first = note.reads[0];
      bool own = first.clock == 0 || (first.warp == index && first.lane == lane);
      setMark(own || isBefore(first, lane) ? first : note.reads[1], instruction, lane, false);
      continue;
    }
    if (!landing)
      for (const Mark &read : note.reads)
        if (!isBefore(read, lane))
          race(read, "read", at);
    if (kind == AccessKind::Begin) {
      ++note.inFlight;
    } else {
      note.written = true;
      setMark(note.write, instruction, lane, atomic);
    }
  }
}

void Warp::checkGlobal(const Instruction &instruction, unsigned lane, Allocation &memory, uint64_t offset,
                       unsigned bytes, AccessKind kind) {
  bool writes = kind == AccessKind::Store || kind == AccessKind::Atomic, atomic = kind == AccessKind::Atomic;
  if (writes && memory.readOnly)
    fault(FaultKind::ReadOnly, instruction, lane, "writes " + cta.describe({Space::Global, memory.address + offset}));
  if (writes && memory.writes.empty())
    memory.writes.resize(memory.bytes.size());
  for (uint64_t at = offset; at < offset + bytes; ++at) {
    if (kind != AccessKind::Store && !memory.written[at])
      fault(FaultKind::Uninitialised, instruction, lane,
            "reads " + cta.describe({Space::Global, memory.address + at}) + ", which nothing has written");
    if (memory.writes.empty())
      continue;
    Allocation::Write &write = memory.writes[at];
    if (instruction.nonCoherent && write.mark.clock)
      fault(FaultKind::ReadOnly, instruction, lane,
            "reads " + cta.describe({Space::Global, memory.address + at}) + " through .nc, which line " +
                llvm::Twine(unsigned(write.mark.line)) + " wrote");
    bool sameCta = write.cta == cta.number();
    if (write.mark.clock && !(atomic && write.mark.atomic) && !(sameCta && isBefore(write.mark, lane)))
      fault(FaultKind::Race, instruction, lane,
            (writes ? "writes " : "reads ") + cta.describe({Space::Global, memory.address + at}) + ", which " +
                (sameCta ? "thread " + threadText(cta.warps[write.mark.warp].thread(write.mark.lane))
                         : "CTA " + std::to_string(write.cta)) +
                " wrote at line " + llvm::Twine(unsigned(write.mark.line)) + " with no barrier between");
    if (writes) {
      memory.written[at] = 1;
      write.cta = cta.number();
      setMark(write.mark, instruction, lane, atomic);
    }
  }
}

uint8_t *Warp::access(const Instruction &instruction, unsigned lane, Address address, unsigned bytes, AccessKind kind) {
  bool writes = kind != AccessKind::Load;
  auto outside = [&](const llvm::Twine &why) -> uint8_t * {
    fault(FaultKind::OutOfBounds, instruction, lane,
          (writes ? "writes " : "reads ") + llvm::Twine(bytes) + " bytes at " + cta.describe(address) + why);
    return nullptr;
  };
  auto isAligned = [&](uint64_t offset) {
    if (offset % bytes == 0)
      return true;
    fault(FaultKind::Misaligned, instruction, lane,
          llvm::Twine(writes ? "writes " : "reads ") + llvm::Twine(bytes) + " bytes at " + cta.describe(address));
    return false;
  };
  uint64_t offset = address.offset;
  switch (address.space) {
  case Space::Shared:
    if (offset >= cta.shared.size() || bytes > cta.shared.size() - offset || !cta.sharedNotes[offset].claimed ||
        !cta.sharedNotes[offset + bytes - 1].claimed)
      return outside(", where no variable lies");
    if (!isAligned(offset))
      return nullptr;
    checkShared(instruction, lane, offset, bytes, kind);
    return cta.shared.data() + offset;
  case Space::Param:
    if (writes || offset > cta.launch.parameters.size() || bytes > cta.launch.parameters.size() - offset)
      return outside(writes ? "; parameters cannot be written" : "; the kernel has fewer");
    return isAligned(offset) ? const_cast<uint8_t *>(cta.launch.parameters.data()) + offset : nullptr;
  case Space::Local: {
    uint64_t size = cta.program.localBytes;
    if (offset > size || bytes > size - offset)
      return outside("; a thread has " + llvm::Twine(size));
    if (!isAligned(offset))
      return nullptr;
    uint64_t place = (index * kLanes + lane) * size + offset;
    uint8_t *written = cta.localWritten.data() + place;
    if (writes)
      std::fill_n(written, bytes, 1);
    else if (std::find(written, written + bytes, 0) != written + bytes)
      fault(FaultKind::Uninitialised, instruction, lane,
            "reads " + cta.describe(address) + ", which nothing has written");
    return cta.local.data() + place;
  }
  default: {
    Allocation *memory = cta.device.find(offset);
    if (!memory)
      return outside("; no memory was given");
    uint64_t inside = offset - memory->address;
    if (inside > memory->bytes.size() || bytes > memory->bytes.size() - inside)
      return outside("; '" + memory->name + "' has " + llvm::Twine(memory->bytes.size()));
    if (!isAligned(offset))
      return nullptr;
    checkGlobal(instruction, lane, *memory, inside, bytes, kind);
    return memory->bytes.data() + inside;
  }
  }
}

void Warp::landCopies(const Instruction &instruction, unsigned lane, uint64_t keep) {
  std::vector<PendingCopy> &pending = copies[lane];
  auto lands = [&](const PendingCopy &copy) { return copy.group + keep < groups[lane]; };
  for (const PendingCopy &copy : pending) {
    if (!lands(copy))
      continue;
    checkShared(instruction, lane, copy.target, copy.bytes, AccessKind::Land);
    std::memcpy(cta.shared.data() + copy.target, copy.data.data(), copy.bytes);
  }
  llvm::erase_if(pending, lands);
}

void Warp::count(const Instruction &instruction, uint32_t active, const Address *addresses, unsigned bytes,
                 bool store) {
  Counters &counters = cta.report.counters;
  Space space = addresses[__builtin_ctz(active)].space;
  Traffic &traffic = space == Space::Shared   ? counters.shared
                     : space == Space::Local  ? counters.local
                     : space == Space::Global ? counters.global
                                              : counters.constant;
  uint64_t total = uint64_t(bytes) * llvm::popcount(active);
  ++(store ? traffic.stores : traffic.loads);
  (store ? traffic.storedBytes : traffic.loadedBytes) += total;
  if (space == Space::Global) {
    llvm::SmallVector<uint64_t, 64> sectors;
    eachLane(active, [&](unsigned lane) {
      sectors.push_back(addresses[lane].offset / 32);
      sectors.push_back((addresses[lane].offset + bytes - 1) / 32);
    });
    llvm::sort(sectors);
    traffic.units += std::unique(sectors.begin(), sectors.end()) - sectors.begin();
  }
  if (space != Space::Shared)
    return;
  // 32 banks of 4 bytes. Lanes of 8 bytes go in halves of the warp, of 16 in quarters; lanes that want the same word
  // share it.
  unsigned together = kLanes * 4 / std::max(bytes, 4u);
  uint64_t passes = 0, needed = 0;
  for (unsigned first = 0; first < kLanes; first += together) {
    std::array<llvm::SmallVector<uint64_t, 4>, 32> banks;
    size_t worst = 0;
    for (unsigned lane = first; lane < first + together; ++lane)
      if (active >> lane & 1)
        for (unsigned word = 0; word < std::max(bytes / 4, 1u); ++word) {
          uint64_t at = addresses[lane].offset / 4 + word;
          auto &bank = banks[at % 32];
          if (!llvm::is_contained(bank, at))
            bank.push_back(at);
          worst = std::max(worst, bank.size());
        }
    passes += worst;
    needed += worst != 0;
  }
  traffic.units += passes;
  traffic.conflicts += passes - needed;
  cta.lineCounts[&instruction - cta.program.code.data()].conflicts += passes - needed;
}

} // namespace attn::ptx
