// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// cp.async: the source is read at once, the target is in flight until its group is waited for.
#include "tools/ptx/Lanes.h"

namespace attn::ptx {

namespace {
/// from: target, source, and the bytes to copy where they are given; `detail` is the source's offset.
void copy(Warp &warp, const Instruction &in, uint32_t active) {
  std::array<Address, kLanes> targets, sources;
  uint32_t reading = 0;
  eachLane(active, [&](unsigned i) {
    targets[i] = {Space::Shared, warp.address(in, i)};
    sources[i] = {Space::Global, warp.row(in.from[1])[i] + in.detail};
    uint64_t size = in.count;
    if (in.from.size() > 2)
      size = std::min<uint64_t>(size, uint32_t(warp.row(in.from[2])[i]));
    PendingCopy pending;
    pending.target = targets[i].offset;
    pending.bytes = in.count;
    pending.line = in.line;
    pending.group = warp.groups[i];
    if (size) {
      reading |= 1u << i;
      if (sources[i].offset % in.count)
        warp.fault(FaultKind::Misaligned, in, i,
                   "copies " + llvm::Twine(in.count) + " bytes from " + warp.cta.describe(sources[i]));
      else
        // A part of it has no alignment of its own.
        for (unsigned step = size == in.count ? size : 1, at = 0; at < size; at += step)
          if (const uint8_t *from = warp.access(in, i, {Space::Global, sources[i].offset + at}, step, AccessKind::Load))
            std::memcpy(pending.data.data() + at, from, step);
    }
    if (warp.access(in, i, targets[i], in.count, AccessKind::Begin))
      warp.copies[i].push_back(pending);
  });
  if (reading)
    warp.count(in, reading, sources.data(), in.count, false);
  warp.count(in, active, targets.data(), in.count, true);
}

void commit(Warp &warp, const Instruction &in, uint32_t active) {
  eachLane(active, [&](unsigned i) { warp.commitCopies(i); });
}

/// `detail`: the groups that may stay in flight.
void wait(Warp &warp, const Instruction &in, uint32_t active) {
  eachLane(active, [&](unsigned i) { warp.landCopies(in, i, in.detail); });
}

void waitAll(Warp &warp, const Instruction &in, uint32_t active) {
  eachLane(active, [&](unsigned i) {
    warp.commitCopies(i);
    warp.landCopies(in, i, 0);
  });
}

void takeCopy(Form &form) {
  Instruction &in = form.instruction;
  in.kind = Class::Copy;
  if (!form.take("async"))
    return form.fail("only cp.async is simulated");
  if (form.take("commit_group")) {
    in.run = commit;
    return;
  }
  if (form.take("wait_all")) {
    in.run = waitAll;
    return;
  }
  if (form.take("wait_group")) {
    in.detail = form.literal(0);
    form.expected = 1;
    in.run = wait;
    return;
  }
  bool cached = form.take("ca");
  if (!cached && !form.take("cg"))
    return form.fail("it needs .ca or .cg");
  Space target = form.takeSpace(), source = form.takeSpace();
  form.takeHints();
  if (target == Space::Global)
    std::swap(target, source);
  if (target != Space::Shared || source != Space::Global)
    form.fail("it copies from .global to .shared");
  form.address(0, target);
  int64_t offset = in.offset;
  bool narrow = in.narrowAddress;
  form.address(1, source);
  in.detail = in.offset;
  in.offset = offset;
  in.narrowAddress = narrow;
  in.count = form.literal(2);
  if (in.count != 16 && (!cached || (in.count != 4 && in.count != 8)))
    form.fail("it copies 4, 8 or 16 bytes, with .cg 16");
  form.expected = 3;
  if (form.size() > 3) {
    form.source(3, Type::U32);
    form.expected = 4;
  }
  in.run = copy;
}
} // namespace

void addCopyOpcodes(llvm::StringMap<Decode> &table) { table["cp"] = takeCopy; }

} // namespace attn::ptx
