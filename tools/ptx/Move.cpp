// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mov with its packing and unpacking, addresses of one space as those of another.
#include "tools/ptx/Lanes.h"

namespace attn::ptx {

namespace {
void move(Warp &warp, const Instruction &in, uint32_t active) {
  uint64_t *d = warp.row(in.to[0]);
  const uint64_t *a = warp.row(in.from[0]);
  eachLane(active, [&](unsigned i) { d[i] = a[i]; });
}

/// `count` bits an element, the first lowest.
void pack(Warp &warp, const Instruction &in, uint32_t active) {
  uint64_t mask = ~0ull >> (64 - in.count);
  eachLane(active, [&](unsigned i) {
    uint64_t value = 0;
    for (unsigned element = 0; element < in.from.size(); ++element)
      value |= (warp.row(in.from[element])[i] & mask) << (in.count * element);
    warp.row(in.to[0])[i] = value;
  });
}

void unpack(Warp &warp, const Instruction &in, uint32_t active) {
  uint64_t mask = ~0ull >> (64 - in.count);
  eachLane(active, [&](unsigned i) {
    uint64_t value = warp.row(in.from[0])[i];
    for (unsigned element = 0; element < in.to.size(); ++element)
      warp.row(in.to[element])[i] = value >> (in.count * element) & mask;
  });
}

void takeMove(Form &form) {
  Instruction &in = form.instruction;
  in.type = form.takeType();
  in.kind = Class::Move;
  form.expected = 2;
  bool packs = form.isVector(1), unpacks = form.isVector(0);
  if (!packs && !unpacks) {
    form.dest(0);
    form.source(1, in.type);
    in.run = move;
    return;
  }
  unsigned elements = form.operand(packs ? 1 : 0).elements.size(), bits = 8 * typeBytes(in.type);
  if (elements < 2 || bits % elements || (packs && unpacks))
    return form.fail("a vector of another size expected");
  in.count = bits / elements;
  form.dests(0, unpacks ? elements : 1);
  form.sources(1, packs ? Type::B64 : in.type, packs ? elements : 1);
  in.run = packs ? pack : unpack;
}

/// `detail` is added: the window's begin, or what takes it away.
void shiftWindow(Warp &warp, const Instruction &in, uint32_t active) {
  uint64_t *d = warp.row(in.to[0]);
  const uint64_t *a = warp.row(in.from[0]);
  eachLane(active, [&](unsigned i) { d[i] = a[i] + in.detail; });
}

uint64_t windowOf(Space space) {
  return space == Space::Shared  ? kSharedWindow
         : space == Space::Local ? kLocalWindow
         : space == Space::Param ? kParamWindow
                                 : 0;
}

void takeAddressConversion(Form &form) {
  bool to = form.take("to");
  uint64_t window = windowOf(form.takeSpace());
  takeOperands(form, form.takeType(), 1);
  form.instruction.detail = to ? -window : window;
  form.instruction.run = shiftWindow;
}

void isSpace(Warp &warp, const Instruction &in, uint32_t active) {
  eachLane(active, [&](unsigned i) {
    warp.row(in.to[0])[i] = Warp::resolve(Space::Generic, warp.row(in.from[0])[i]).space == in.space;
  });
}

void takeIsSpace(Form &form) {
  form.instruction.space = form.takeSpace();
  form.expected = 2;
  form.dest(0);
  form.source(1, Type::U64);
  form.instruction.run = isSpace;
}
} // namespace

void addMoveOpcodes(llvm::StringMap<Decode> &table) {
  table["mov"] = takeMove;
  table["cvta"] = takeAddressConversion;
  table["isspacep"] = takeIsSpace;
}

} // namespace attn::ptx
