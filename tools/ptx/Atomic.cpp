// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// atom and red, lane after lane.
#include "tools/ptx/Lanes.h"

namespace attn::ptx {

namespace {
enum class Update : uint64_t { Add, Minimum, Maximum, And, Or, Xor, Exchange, CompareExchange, Increment, Decrement };
constexpr llvm::StringRef kUpdates[] = {"add", "min", "max", "and", "or", "xor", "exch", "cas", "inc", "dec"};

template <typename T>
T update(Update how, T old, T b, T c) {
  switch (how) {
  case Update::Add:
    return T(uint64_t(old) + uint64_t(b));
  case Update::Minimum:
    return std::min(old, b);
  case Update::Maximum:
    return std::max(old, b);
  case Update::And:
    return old & b;
  case Update::Or:
    return old | b;
  case Update::Xor:
    return old ^ b;
  case Update::Exchange:
    return b;
  case Update::CompareExchange:
    return old == b ? c : old;
  case Update::Increment:
    return old >= b ? T(0) : T(old + 1);
  case Update::Decrement:
    return old == 0 || old > b ? b : T(old - 1);
  }
  return old;
}

uint64_t addFloats(Type type, uint64_t a, uint64_t b) {
  if (isPacked(type)) {
    Type half = type == Type::F16x2 ? Type::F16 : Type::BF16;
    return addFloats(half, a & 0xffff, b & 0xffff) | addFloats(half, a >> 16 & 0xffff, b >> 16 & 0xffff) << 16;
  }
  double x = decodeFloat(type, a), y = decodeFloat(type, b);
  return encodeFloat(type, type == Type::F64 ? x + y : addToOdd(x, y));
}

template <typename T>
void atomic(Warp &warp, const Instruction &in, uint32_t active) {
  std::array<Address, kLanes> addresses;
  eachLane(active, [&](unsigned i) {
    addresses[i] = Warp::resolve(in.space, warp.address(in, i));
    uint8_t *place = warp.access(in, i, addresses[i], sizeof(T), AccessKind::Atomic);
    T old = 0;
    if (place)
      std::memcpy(&old, place, sizeof(T));
    T b = T(warp.row(in.from[1])[i]), c = in.from.size() > 2 ? T(warp.row(in.from[2])[i]) : T(0);
    T next = isFloat(in.type) && Update(in.detail) == Update::Add ? T(addFloats(in.type, toBits(old), toBits(b)))
                                                                  : update(Update(in.detail), old, b, c);
    if (place)
      std::memcpy(place, &next, sizeof(T));
    if (!in.to.empty())
      warp.row(in.to[0])[i] = toBits(old);
  });
  warp.count(in, active, addresses.data(), sizeof(T), true);
}

void take(Form &form, bool result) {
  Instruction &in = form.instruction;
  form.takeHints();
  in.space = form.takeSpace();
  in.kind = Class::Atomic;
  int how = form.takeOneOf(kUpdates);
  in.type = form.takeType();
  if (how < 0)
    return form.fail("it has no operation that is known");
  in.detail = how;
  if (isFloat(in.type) && Update(how) != Update::Add)
    form.fail("floats are only added");
  if (result)
    form.dest(0);
  form.address(result, in.space);
  form.source(result + 1, in.type);
  form.expected = result + 2;
  if (Update(how) == Update::CompareExchange)
    form.source(form.expected++, in.type);
  Type integer = !isFloat(in.type)         ? in.type
                 : typeBytes(in.type) == 2 ? Type::B16
                 : typeBytes(in.type) == 4 ? Type::B32
                                           : Type::B64;
  setHandler(form, byInteger(integer, [](auto zero) -> Handler { return atomic<decltype(zero)>; }));
}

void takeAtom(Form &form) { take(form, true); }
void takeRed(Form &form) {
  // `red.async` and the like are others.
  take(form, false);
}
} // namespace

void addAtomicOpcodes(llvm::StringMap<Decode> &table) {
  table["atom"] = takeAtom;
  table["red"] = takeRed;
}

} // namespace attn::ptx
