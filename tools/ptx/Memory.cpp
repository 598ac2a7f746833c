// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// ld and st, of one element or of a vector.
#include "tools/ptx/Lanes.h"

namespace attn::ptx {

namespace {
template <typename T>
void load(Warp &warp, const Instruction &in, uint32_t active) {
  std::array<Address, kLanes> addresses;
  unsigned bytes = sizeof(T) * in.count;
  eachLane(active, [&](unsigned i) {
    addresses[i] = Warp::resolve(in.space, warp.address(in, i));
    const uint8_t *place = warp.access(in, i, addresses[i], bytes, AccessKind::Load);
    for (unsigned element = 0; element < in.count; ++element) {
      T value = 0;
      if (place)
        std::memcpy(&value, place + element * sizeof(T), sizeof(T));
      // Registers may be wider than what is loaded: a signed type fills them with its sign.
      warp.row(in.to[element])[i] = uint64_t(std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>(value));
    }
  });
  warp.count(in, active, addresses.data(), bytes, false);
}

template <typename T>
void store(Warp &warp, const Instruction &in, uint32_t active) {
  std::array<Address, kLanes> addresses;
  unsigned bytes = sizeof(T) * in.count;
  eachLane(active, [&](unsigned i) {
    addresses[i] = Warp::resolve(in.space, warp.address(in, i));
    uint8_t *place = warp.access(in, i, addresses[i], bytes, AccessKind::Store);
    for (unsigned element = 0; place && element < in.count; ++element) {
      T value = T(warp.row(in.from[1 + element])[i]);
      std::memcpy(place + element * sizeof(T), &value, sizeof(T));
    }
  });
  warp.count(in, active, addresses.data(), bytes, true);
}

/// Floats are moved as bits.
Type movedAs(Type type) {
  switch (isFloat(type) ? typeBytes(type) : 0) {
  case 2:
    return Type::B16;
  case 4:
    return Type::B32;
  case 8:
    return Type::B64;
  default:
    return type;
  }
}

void takeShape(Form &form) {
  Instruction &in = form.instruction;
  in.nonCoherent = form.take("nc");
  form.takeHints();
  in.space = form.takeSpace();
  in.count = form.take("v2") ? 2 : form.take("v4") ? 4 : form.take("v8") ? 8 : 1;
  in.type = form.takeType();
  form.expected = 2;
}

void takeLoad(Form &form) {
  Instruction &in = form.instruction;
  takeShape(form);
  in.kind = Class::Load;
  form.dests(0, in.count);
  form.address(1, in.space);
  setHandler(form, byInteger(movedAs(in.type), [](auto zero) -> Handler { return load<decltype(zero)>; }));
}

void takeStore(Form &form) {
  Instruction &in = form.instruction;
  takeShape(form);
  in.kind = Class::Store;
  form.address(0, in.space);
  form.sources(1, in.type, in.count);
  if (in.space == Space::Const || in.space == Space::Param)
    form.fail(spaceName(in.space) + " memory cannot be written");
  setHandler(form, byInteger(movedAs(in.type), [](auto zero) -> Handler { return store<decltype(zero)>; }));
}

void takeNothing(Form &form) { form.ignore(); }
} // namespace

void addMemoryOpcodes(llvm::StringMap<Decode> &table) {
  table["ld"] = takeLoad;
  table["ldu"] = takeLoad;
  table["st"] = takeStore;
  for (llvm::StringRef mnemonic : {"prefetch", "prefetchu", "applypriority"})
    table[mnemonic] = takeNothing;
}

} // namespace attn::ptx
