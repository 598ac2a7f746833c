// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Branches, exits, barriers. The warp and the CTA execute them; fences do nothing, as memory here is in order.
#include "tools/ptx/Lanes.h"

namespace attn::ptx {

namespace {
void takeBranch(Form &form) {
  form.take("uni");
  form.instruction.kind = Class::Control;
  form.instruction.flow = Flow::Branch;
  form.expected = 1;
  form.branch(0);
}

void takeExit(Form &form) {
  form.take("uni");
  form.instruction.kind = Class::Control;
  form.instruction.flow = Flow::Exit;
}

void takeTrap(Form &form) {
  form.instruction.kind = Class::Control;
  form.instruction.flow = Flow::Trap;
}

void takeBarrier(Form &form) {
  Instruction &in = form.instruction;
  in.kind = Class::Barrier;
  in.flow = Flow::Barrier;
  form.take("cta");
  form.take("aligned");
  auto finish = [&](BarrierKind kind, unsigned first, unsigned last) {
    in.detail = uint64_t(kind);
    in.count = last - first;
    for (unsigned i = first; i < last; ++i)
      form.source(i, Type::U32);
    form.expected = last;
  };
  if (form.take("warp")) {
    form.take("sync");
    finish(BarrierKind::Warp, 0, 1);
  } else if (form.take("sync")) {
    finish(BarrierKind::Sync, 0, form.size() > 1 ? 2 : 1);
  } else if (form.take("arrive")) {
    finish(BarrierKind::Arrive, 0, 2);
  } else if (form.take("red")) {
    int how = form.takeOneOf({"popc", "and", "or"});
    form.takeType();
    form.dest(0);
    unsigned last = form.size() > 3 ? 3 : 2;
    finish(BarrierKind(unsigned(BarrierKind::CountTrue) + std::max(how, 0)), 1, last);
    takePredicate(form, last);
    form.expected = last + 1;
    if (how < 0)
      form.fail("it needs .popc, .and or .or");
  } else {
    form.fail("it needs .sync, .arrive, .red or .warp.sync");
  }
}

void takeNothing(Form &form) { form.ignore(); }
} // namespace

void addControlOpcodes(llvm::StringMap<Decode> &table) {
  table["bra"] = takeBranch;
  table["ret"] = takeExit;
  table["exit"] = takeExit;
  table["trap"] = takeTrap;
  table["brkpt"] = takeTrap;
  table["bar"] = takeBarrier;
  table["barrier"] = takeBarrier;
  for (llvm::StringRef mnemonic : {"membar", "fence", "nanosleep"})
    table[mnemonic] = takeNothing;
}

} // namespace attn::ptx
