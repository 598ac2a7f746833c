// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What lanes of a warp tell each other: shfl, vote, match, redux, activemask.
#include "tools/ptx/Lanes.h"

namespace attn::ptx {

namespace {
/// Every lane that the mask names and that has not left must be here, and be named itself.
bool agree(Warp &warp, const Instruction &in, uint32_t active) {
  const uint64_t *masks = warp.row(in.from.back());
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if (!(active >> lane & 1))
      continue;
    uint32_t mask = uint32_t(masks[lane]);
    if (!(mask >> lane & 1)) {
      warp.fault(FaultKind::Exchange, in, lane, "the mask does not name this lane itself");
      return false;
    }
    if (uint32_t missing = mask & warp.live & ~active) {
      warp.fault(FaultKind::Exchange, in, __builtin_ctz(missing), "the mask names this lane, which goes another way");
      return false;
    }
  }
  return true;
}

enum class Shuffle : uint64_t { Up, Down, Butterfly, Index };

/// from: value, lane, clamp and segment, mask.
void shuffle(Warp &warp, const Instruction &in, uint32_t active) {
  agree(warp, in, active);
  std::array<uint64_t, kLanes> values;
  std::copy_n(warp.row(in.from[0]), kLanes, values.begin());
  std::array<uint64_t, kLanes> results;
  std::array<bool, kLanes> inRange;
  eachLane(active, [&](unsigned i) {
    int lane = i, b = warp.row(in.from[1])[i] & 31, c = int(warp.row(in.from[2])[i]);
    int clamp = c & 31, segment = c >> 8 & 31;
    int greatest = (lane & segment) | (clamp & ~segment), from = lane;
    switch (Shuffle(in.detail)) {
    case Shuffle::Up:
      from = lane - b;
      break;
    case Shuffle::Down:
      from = lane + b;
      break;
    case Shuffle::Butterfly:
      from = lane ^ b;
      break;
    case Shuffle::Index:
      from = (lane & segment) | (b & ~segment);
      break;
    }
    inRange[i] = Shuffle(in.detail) == Shuffle::Up ? from >= greatest : from <= greatest;
    if (!inRange[i])
      from = lane;
    if (!(active >> from & 1))
      warp.fault(FaultKind::Exchange, in, i, "reads lane " + llvm::Twine(from) + ", which does not take part");
    results[i] = uint32_t(values[from]);
  });
  eachLane(active, [&](unsigned i) {
    warp.row(in.to[0])[i] = results[i];
    if (in.to.size() > 1)
      warp.row(in.to[1])[i] = inRange[i];
  });
}

void takeShuffle(Form &form) {
  Instruction &in = form.instruction;
  in.kind = Class::Exchange;
  if (!form.take("sync"))
    return form.fail("only with .sync");
  int how = form.takeOneOf({"up", "down", "bfly", "idx"});
  if (how < 0 || form.takeType() != Type::B32)
    return form.fail("it needs .up, .down, .bfly or .idx, and .b32");
  in.detail = how;
  form.expected = 5;
  form.dest(0);
  if (form.operand(0).pair)
    form.dest(form.operand(0).elements.front());
  for (unsigned i = 1; i < 5; ++i)
    form.source(i, Type::B32);
  in.run = shuffle;
}

enum class Vote : uint64_t { All, Any, Uniform, Ballot };

void vote(Warp &warp, const Instruction &in, uint32_t active) {
  agree(warp, in, active);
  std::array<uint64_t, kLanes> results = {};
  eachLane(active, [&](unsigned i) {
    uint32_t among = uint32_t(warp.row(in.from[1])[i]) & active, held = 0;
    eachLane(among, [&](unsigned lane) { held |= uint32_t((warp.row(in.from[0])[lane] & 1) != in.negated) << lane; });
    switch (Vote(in.detail)) {
    case Vote::All:
      results[i] = held == among;
      break;
    case Vote::Any:
      results[i] = held != 0;
      break;
    case Vote::Uniform:
      results[i] = held == among || held == 0;
      break;
    case Vote::Ballot:
      results[i] = held;
      break;
    }
  });
  eachLane(active, [&](unsigned i) { warp.row(in.to[0])[i] = results[i]; });
}

void takeVote(Form &form) {
  Instruction &in = form.instruction;
  in.kind = Class::Exchange;
  int how = form.takeOneOf({"all", "any", "uni", "ballot"});
  if (!form.take("sync") || how < 0)
    return form.fail("only with .sync, and .all, .any, .uni or .ballot");
  in.detail = how;
  form.takeType();
  form.expected = 3;
  form.dest(0);
  takePredicate(form, 1);
  form.source(2, Type::B32);
  in.run = vote;
}

enum class Reduce : uint64_t { Add, Minimum, Maximum, And, Or, Xor };

template <typename T>
void reduce(Warp &warp, const Instruction &in, uint32_t active) {
  agree(warp, in, active);
  std::array<uint64_t, kLanes> results = {};
  eachLane(active, [&](unsigned i) {
    uint32_t among = uint32_t(warp.row(in.from[1])[i]) & active;
    T result = T(warp.row(in.from[0])[i]);
    eachLane(among & ~(1u << i), [&](unsigned lane) {
      T value = T(warp.row(in.from[0])[lane]);
      switch (Reduce(in.detail)) {
      case Reduce::Add:
        result = T(uint32_t(result) + uint32_t(value));
        break;
      case Reduce::Minimum:
        result = std::min(result, value);
        break;
      case Reduce::Maximum:
        result = std::max(result, value);
        break;
      case Reduce::And:
        result &= value;
        break;
      case Reduce::Or:
        result |= value;
        break;
      case Reduce::Xor:
        result ^= value;
        break;
      }
    });
    results[i] = toBits(result);
  });
  eachLane(active, [&](unsigned i) { warp.row(in.to[0])[i] = results[i]; });
}

void takeReduce(Form &form) {
  Instruction &in = form.instruction;
  in.kind = Class::Exchange;
  int how = form.takeOneOf({"add", "min", "max", "and", "or", "xor"});
  if (!form.take("sync") || how < 0)
    return form.fail("it has no operation that is known");
  in.detail = how;
  takeOperands(form, form.takeType(), 1);
  form.source(2, Type::B32);
  form.expected = 3;
  in.run = in.type == Type::S32 ? reduce<int32_t> : reduce<uint32_t>;
  if (typeBytes(in.type) != 4 || isFloat(in.type))
    form.fail("only for whole numbers of 32 bits");
}

/// The lanes that have the same value.
void match(Warp &warp, const Instruction &in, uint32_t active) {
  agree(warp, in, active);
  std::array<uint32_t, kLanes> results = {};
  uint64_t keep = typeBytes(in.type) == 8 ? ~0ull : 0xffffffff;
  const uint64_t *values = warp.row(in.from[0]);
  eachLane(active, [&](unsigned i) {
    eachLane(uint32_t(warp.row(in.from[1])[i]) & active,
             [&](unsigned lane) { results[i] |= uint32_t(((values[lane] ^ values[i]) & keep) == 0) << lane; });
  });
  eachLane(active, [&](unsigned i) { warp.row(in.to[0])[i] = results[i]; });
}

void takeMatch(Form &form) {
  form.instruction.kind = Class::Exchange;
  if (!form.take("any") || !form.take("sync"))
    return form.fail("only match.any.sync is simulated");
  takeOperands(form, form.takeType(), 1);
  form.source(2, Type::B32);
  form.expected = 3;
  form.instruction.run = match;
}

void activeMask(Warp &warp, const Instruction &in, uint32_t active) {
  eachLane(active, [&](unsigned i) { warp.row(in.to[0])[i] = active; });
}

void takeActiveMask(Form &form) {
  form.instruction.kind = Class::Exchange;
  takeOperands(form, form.takeType(), 0);
  form.instruction.run = activeMask;
}
} // namespace

void addExchangeOpcodes(llvm::StringMap<Decode> &table) {
  table["shfl"] = takeShuffle;
  table["vote"] = takeVote;
  table["redux"] = takeReduce;
  table["match"] = takeMatch;
  table["activemask"] = takeActiveMask;
}

} // namespace attn::ptx
