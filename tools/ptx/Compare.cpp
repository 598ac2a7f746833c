// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// setp, set, selp, slct and testp.
#include "tools/ptx/Lanes.h"

namespace attn::ptx {

namespace {
/// On NaN only those hold that say so.
template <typename T>
bool holds(Compare compare, T a, T b) {
  bool unordered = a != a || b != b;
  switch (compare) {
  case Compare::Eq:
    return a == b;
  case Compare::Ne:
    return !unordered && a != b;
  case Compare::Lt:
  case Compare::Lo:
    return a < b;
  case Compare::Le:
  case Compare::Ls:
    return a <= b;
  case Compare::Gt:
  case Compare::Hi:
    return a > b;
  case Compare::Ge:
  case Compare::Hs:
    return a >= b;
  case Compare::Equ:
    return unordered || a == b;
  case Compare::Neu:
    return a != b;
  case Compare::Ltu:
    return !(a >= b);
  case Compare::Leu:
    return !(a > b);
  case Compare::Gtu:
    return !(a <= b);
  case Compare::Geu:
    return !(a < b);
  case Compare::Num:
    return !unordered;
  case Compare::Nan:
    return unordered;
  }
  return false;
}

double operand(const Instruction &in, uint64_t bits, unsigned half) {
  Type type = in.source == Type::F16x2 ? Type::F16 : in.source == Type::BF16x2 ? Type::BF16 : in.source;
  double value = decodeFloat(type, bits >> (16 * half));
  return in.flush && type == Type::F32 && std::fabs(value) < 0x1p-126 ? 0 : value;
}

bool combine(Combine how, bool result, bool with) {
  return how == Combine::And   ? result && with
         : how == Combine::Or  ? result || with
         : how == Combine::Xor ? result != with
                               : result;
}

/// Both compared values are given as bits; `first` compares the low or only halves.
template <typename T>
bool compareLane(const Instruction &in, uint64_t a, uint64_t b, unsigned half) {
  if constexpr (std::is_floating_point_v<T>)
    return holds(in.compare, operand(in, a, half), operand(in, b, half));
  else
    return holds(in.compare, fromBits<T>(a), fromBits<T>(b));
}

template <typename T>
void setPredicate(Warp &warp, const Instruction &in, uint32_t active) {
  eachLane(active, [&](unsigned i) {
    uint64_t a = warp.row(in.from[0])[i], b = warp.row(in.from[1])[i];
    bool with = in.combine != Combine::None && (warp.row(in.from[2])[i] & 1) != in.negated;
    bool first = compareLane<T>(in, a, b, 0);
    // Of two predicates the second is the opposite, or of packed floats that of the upper halves.
    bool second = isPacked(in.source) ? compareLane<T>(in, a, b, 1) : !first;
    warp.row(in.to[0])[i] = combine(in.combine, first, with);
    if (in.to.size() > 1)
      warp.row(in.to[1])[i] = combine(in.combine, second, with);
  });
}

template <typename T>
void setValue(Warp &warp, const Instruction &in, uint32_t active) {
  eachLane(active, [&](unsigned i) {
    uint64_t a = warp.row(in.from[0])[i], b = warp.row(in.from[1])[i];
    bool with = in.combine != Combine::None && (warp.row(in.from[2])[i] & 1) != in.negated;
    auto value = [&](unsigned half) -> uint64_t {
      bool result = combine(in.combine, compareLane<T>(in, a, b, half), with);
      switch (in.type) {
      case Type::F32:
        return result ? 0x3f800000 : 0;
      case Type::F16:
      case Type::F16x2:
        return result ? 0x3c00 : 0;
      case Type::BF16:
      case Type::BF16x2:
        return result ? 0x3f80 : 0;
      default:
        return result ? isPacked(in.source) ? 0xffff : 0xffffffff : 0;
      }
    };
    warp.row(in.to[0])[i] = isPacked(in.source) ? value(0) | value(1) << 16 : value(0);
  });
}

Handler handlerOf(Type type, bool predicate) {
  if (isFloat(type))
    return predicate ? setPredicate<double> : setValue<double>;
  return predicate ? byInteger(type, [](auto zero) -> Handler { return setPredicate<decltype(zero)>; })
                   : byInteger(type, [](auto zero) -> Handler { return setValue<decltype(zero)>; });
}

void takeCompare(Form &form) {
  int found = form.takeOneOf({"eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs", "equ", "neu", "ltu", "leu",
                              "gtu", "geu", "num", "nan"});
  if (found < 0)
    form.fail("it has no comparison");
  form.instruction.compare = Compare(found);
  form.instruction.combine = Combine(form.takeOneOf({"and", "or", "xor"}) + 1);
  form.instruction.flush = form.take("ftz");
}

void takeCompared(Form &form, bool predicate) {
  Instruction &in = form.instruction;
  in.kind = isFloat(in.source) ? Class::Float : Class::Integer;
  form.source(1, in.source);
  form.source(2, in.source);
  form.expected = 3;
  if (in.combine != Combine::None) {
    takePredicate(form, 3);
    form.expected = 4;
  }
  setHandler(form, handlerOf(in.source, predicate));
}

void takeSetp(Form &form) {
  takeCompare(form);
  form.instruction.source = form.takeType();
  form.dest(0);
  if (form.operand(0).pair)
    form.dest(form.operand(0).elements.front());
  takeCompared(form, true);
}

void takeSet(Form &form) {
  takeCompare(form);
  form.instruction.type = form.takeType();
  form.instruction.source = form.takeType();
  form.dest(0);
  takeCompared(form, false);
}

void select(Warp &warp, const Instruction &in, uint32_t active) {
  uint64_t *d = warp.row(in.to[0]);
  const uint64_t *a = warp.row(in.from[0]), *b = warp.row(in.from[1]), *c = warp.row(in.from[2]);
  eachLane(active, [&](unsigned i) { d[i] = c[i] & 1 ? a[i] : b[i]; });
}

void takeSelp(Form &form) {
  Type type = form.takeType();
  form.instruction.type = type;
  form.instruction.kind = Class::Move;
  form.expected = 4;
  form.dest(0);
  form.source(1, type);
  form.source(2, type);
  form.source(3, Type::Pred);
  form.instruction.run = select;
}

/// a where c >= 0, which -0 is and NaN is not.
void selectBySign(Warp &warp, const Instruction &in, uint32_t active) {
  eachLane(active, [&](unsigned i) {
    uint64_t c = warp.row(in.from[2])[i];
    bool first = in.source == Type::F32 ? fromBits<float>(c) >= 0 : fromBits<int32_t>(c) >= 0;
    warp.row(in.to[0])[i] = warp.row(in.from[first ? 0 : 1])[i];
  });
}

void takeSlct(Form &form) {
  form.take("ftz");
  takeOperands(form, form.takeType(), 2);
  form.instruction.source = form.takeType();
  form.instruction.kind = Class::Move;
  form.source(3, form.instruction.source);
  form.expected = 4;
  form.instruction.run = selectBySign;
}

/// `detail` is the place in the table.
void test(Warp &warp, const Instruction &in, uint32_t active) {
  eachLane(active, [&](unsigned i) {
    uint64_t bits = warp.row(in.from[0])[i];
    int kind = in.type == Type::F64 ? std::fpclassify(fromBits<double>(bits)) : std::fpclassify(fromBits<float>(bits));
    bool is[] = {kind != FP_NAN && kind != FP_INFINITE,
                 kind == FP_INFINITE,
                 kind != FP_NAN,
                 kind == FP_NAN,
                 kind == FP_NORMAL,
                 kind == FP_SUBNORMAL};
    warp.row(in.to[0])[i] = is[in.detail];
  });
}

void takeTestp(Form &form) {
  form.instruction.detail =
      std::max(0, form.takeOneOf({"finite", "infinite", "number", "notanumber", "normal", "subnormal"}));
  takeOperands(form, form.takeType(), 1);
  form.instruction.kind = Class::Float;
  form.instruction.run = test;
}
} // namespace

void addCompareOpcodes(llvm::StringMap<Decode> &table) {
  table["setp"] = takeSetp;
  table["set"] = takeSet;
  table["selp"] = takeSelp;
  table["slct"] = takeSlct;
  table["testp"] = takeTestp;
}

} // namespace attn::ptx
